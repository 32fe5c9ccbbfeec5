"""`ringmt distil`."""

import argparse
import contextlib
import itertools
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from tqdm import tqdm

from export.distil.inputs import Inputs, check_inputs
from export.distil.pairs import read_counts, write_pairs
from export.distil.student import student_recipe, train_student
from export.distil.teacher import Teacher, open_text
from server.corpus.output import Output, RunIdentity

BEAM = 4
TRANSLATED, PAIRS, STUDENT = "translated.jsonl", "pairs", "student"
"""Below --out: a row for each line of the text; the corpora that are made of it; the checkpoint."""


class DistilCommand:
    """Text and artifact to checkpoint."""

    help = (
        "let an artifact translate text of its source language, and train a student on the translations, by a recipe "
        "such as small/n8 (Kim and Rush 2016); an interrupted run continues where it stopped"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("artifact", type=Path, help="the teacher: artifact folder, imported or exported")
        parser.add_argument(
            "--text",
            type=Path,
            required=True,
            help="text of the source language, a sentence or more on every line, also packed (.gz); an empty line ends "
            "a document",
        )
        parser.add_argument(
            "--recipe",
            required=True,
            help="a YAML file, a bundled recipe or its row (small/n8); the translations take the place of its text",
        )
        parser.add_argument(
            "--out", type=Path, required=True, help="folder for translations and student; what it holds is continued"
        )
        parser.add_argument("--beam", type=int, default=BEAM, help=f"beam size of the teacher (default {BEAM})")
        parser.add_argument("--source", help="for a teacher of many languages: that of the text")
        parser.add_argument("--target", help="for a teacher of many languages: that of the student")
        parser.add_argument("--threads", type=int, help="CPU threads (default: up to 4 to translate, torch's to train)")
        parser.add_argument("--steps", type=int, help="train this many steps instead of the recipe's number")
        parser.add_argument("--seed", type=int, help="random seed instead of the recipe's")

    def run(self, args: argparse.Namespace) -> int:
        for name in ("beam", "threads", "steps"):
            value = getattr(args, name)
            if value is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, not {value}")
        teacher = Teacher(args.artifact, args.source, args.target, args.beam, args.threads)
        recipe = student_recipe(args.recipe, teacher.languages, args.steps, args.seed)
        text = RunIdentity.of(args.text, {})
        inputs = Inputs(
            text.input_sha256, teacher.name, teacher.fingerprint, teacher.precision, *teacher.languages, args.beam
        )
        check_inputs(args.out, inputs)
        pairs, student = args.out / PAIRS, args.out / STUDENT
        if not pairs.is_dir():
            translate(teacher, args.text, args.out / TRANSLATED, text)
            write_pairs(args.out / TRANSLATED, pairs, teacher.languages)
        print(f"{pairs}: {read_counts(pairs)}")
        if args.threads is not None:
            torch.set_num_threads(args.threads)
        train_student(recipe, pairs, student, {**asdict(inputs), "licence": teacher.licence})
        source, target = teacher.languages
        print(
            f"{student}: a checkpoint; serve it after `ringmt export {student} ARTIFACT --name {source}-{target} "
            f"--source {source} --target {target}`"
        )
        return 0


def translate(teacher: Teacher, text: Path, translated: Path, identity: RunIdentity) -> None:
    """Write a row for each line of the text, behind those that are there. Raises OutputError, ArtifactError, OSError,
    and what the engine raises."""
    state = translated.with_name(f"{translated.name}.state")
    if translated.exists() and not state.exists():
        return
    output = Output(translated, identity)
    try:
        if not output.is_finished:
            _translate(teacher, text, output)
        output.finish()
    except KeyboardInterrupt:
        print(
            f"ringmt: {output.num_lines:,} lines are translated; run the same command again to continue",
            file=sys.stderr,
        )
        raise
    finally:
        output.close()


def _translate(teacher: Teacher, text: Path, output: Output) -> None:
    with open_text(text) as lines:
        total = sum(1 for _ in lines)
    with (
        open_text(text) as lines,
        teacher.loaded() as translator,
        tqdm(total=total, initial=output.num_lines, unit=" lines", desc=teacher.name, mininterval=1) as progress,
        contextlib.closing(teacher.rows(translator, itertools.islice(lines, output.num_lines, None))) as rows,
    ):
        for row in rows:
            output.append([row.to_json()])
            output.num_lines += 1
            progress.update()


distil_command = DistilCommand()
