"""CTranslate2 over a model of `ctranslate2_writer`, without PyTorch: its import takes two seconds of processor."""

from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from model.config import BOS_ID, EOS_ID, UNK_ID

FACTOR = "\N{HALFWIDTH FORMS LIGHT VERTICAL}"
"""Separates a word and its position."""


def token(index: int) -> str:
    """The word of an id: CTranslate2 requires words."""
    return {UNK_ID: "<unk>", BOS_ID: "<s>", EOS_ID: "</s>"}.get(index, f"w{index}")


def source_words(source: Sequence[int], folder: Path) -> list[str]:
    """The words of ids for the model in `folder`, with their positions if the model has a factor for them."""
    words = [token(index) for index in source]
    if not (folder / "source_2_vocabulary.json").exists():
        return words
    return [f"{word}{FACTOR}{place}" for place, word in enumerate(words)]


class CTranslate2Engine:
    """A Translator over a converted model."""

    def __init__(self, folder: Path, precision: str, workers: int, intra_threads: int, vmap: bool = False) -> None:
        compute_type = {"int8": "int8", "fp32": "float32"}[precision]
        self.workers, self.vmap, self.folder = workers, vmap, folder
        self.translator = ctranslate2.Translator(
            str(folder), device="cpu", compute_type=compute_type, inter_threads=workers, intra_threads=intra_threads
        )

    def translate(self, sources: list[tuple[int, ...]], beam: int, target_length: int) -> list[list[str]]:
        """Translate all sources at once, an equal share on every worker; exactly `target_length` tokens each."""
        words = [source_words(source, self.folder) for source in sources]
        share = -(-len(words) // self.workers)
        results = self.translator.translate_batch(
            words,
            beam_size=beam,
            max_batch_size=share,
            min_decoding_length=target_length,
            max_decoding_length=target_length,
            max_input_length=0,
            use_vmap=self.vmap,
        )
        return [result.hypotheses[0] for result in results]
