"""Runs of `ringmt distil` with a tiny teacher and a tiny student."""

import argparse
from pathlib import Path

from export.distil.command import distil_command

RECIPE = """
name: student
model: {d_model: 32, num_heads: 2, ffn_dim: 64, encoder_layers: 1, decoder_layers: 1, ngram: 3, max_length: 128}
data: {source: en, target: de, corpora: {theirs: 1}, dev: {theirs: 1}, vocab_size: 330}
training: {steps: 6, batch_tokens: 512, warmup_steps: 2, evaluate_every: 3, precision: fp32}
"""


def write_recipe(folder: Path, text: str = RECIPE, name: str = "student") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def distil(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    distil_command.add_arguments(parser)
    return distil_command.run(parser.parse_args([str(argument) for argument in arguments]))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
