"""A folder of M2M-100 or NLLB-200: which id each word and each language token has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.importers import ImportRefused
from export.importers.json_files import read_object
from export.importers.language_codes import named
from export.importers.marian_vocabulary import read_spm
from export.importers.transformers_folder import CONFIG, TOKENIZER, TransformersFolder

MODEL_TYPE = "m2m_100"
VOCABULARY, SPM, FAST = "vocab.json", "sentencepiece.bpe.model", "tokenizer.json"
SPECIAL, ADDED = "special_tokens_map.json", "added_tokens.json"
UNKNOWN = "<unk>"
FAIRSEQ = {"<s>": 0, "<pad>": 1, "</s>": 2, UNKNOWN: 3}
"""The first ids of NLLB; those of the SentencePiece model's other pieces are one higher than there."""
M2M_CODES, USUAL_CODES = "language_codes", "m2m100"
"""The key of a tokenizer that names its languages, and its default."""
LANGUAGES = {
    USUAL_CODES: (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha "
        "he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my "
        "ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi "
        "wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}
"""The languages of M2M-100, in the order of their ids (Fan et al. 2020, table 1; fairseq's examples/m2m_100), and of
the models for WMT 2021 (Tran et al. 2021)."""
ADDITIONAL = "additional_special_tokens"
"""Transformers 5 calls them otherwise, and gives them other ids, which its tokenizer.json states."""


@dataclass(frozen=True)
class M2M100Folder(TransformersFolder):
    """A folder of M2M-100 (with vocab.json) or NLLB-200 (without)."""

    @classmethod
    def open(cls, path: Path) -> "M2M100Folder":
        """Raises ImportRefused for a folder that holds no such checkpoint."""
        folder = cls.read(path, MODEL_TYPE)
        if folder.tokenizer.get("legacy_behaviour"):
            raise ImportRefused(
                f"{path / TOKENIZER}: with legacy_behaviour the source's language token stands at its end, as in the "
                "first NLLB tokenizers and in no training: set it to false if the model was trained as NLLB was"
            )
        return folder

    @property
    def spm(self) -> Path:
        """Raises ImportRefused where it is missing."""
        path = self.path / SPM
        if not path.is_file():
            raise ImportRefused(f"{path} is missing: copy it from the checkpoint that this one was made of")
        return path

    def words(self) -> dict[str, int]:
        """Every word's id, language tokens left out. Raises ImportRefused."""
        if (self.path / VOCABULARY).is_file():
            return {word: int(index) for word, index in read_object(self.path / VOCABULARY).items()}
        fast = self._fast().get("model", {}).get("vocab")
        if isinstance(fast, Mapping):
            return {str(word): int(index) for word, index in fast.items() if named(str(word)) is None}
        pieces = read_spm(self.spm).pieces
        return {
            **{piece.piece: index + 1 for index, piece in enumerate(pieces) if index >= len(FAIRSEQ) - 1},
            **FAIRSEQ,
        }

    def language_tokens(self, words: Mapping[str, int]) -> dict[str, int]:
        """Names of languages, such as `en` or `eng_Latn`, and the ids of their tokens: of M2M-100 those behind all
        words, in its own order; of NLLB those that the folder states, or else behind all words, in the order of the
        special tokens. Raises ImportRefused."""
        if (self.path / VOCABULARY).is_file():
            codes = LANGUAGES.get(self.tokenizer.get(M2M_CODES, USUAL_CODES))
            if codes is None:
                raise ImportRefused(
                    f"{self.path / TOKENIZER}: {M2M_CODES} is none of {', '.join(LANGUAGES)}, whose order is known"
                )
            return self._checked({code: len(words) + place for place, code in enumerate(codes.split())})
        stated = {text: index for text, index in self._stated() if named(text) is not None}
        if not stated:
            listed = [text for text in self._additional() if named(text) is not None]
            stated = {text: 1 + max(words.values()) + place for place, text in enumerate(dict.fromkeys(listed))}
        names = {name: index for text, index in stated.items() if (name := named(text)) is not None}
        if len(names) < 2:
            raise ImportRefused(
                f"{self.path} does not say its languages: {SPECIAL}, {TOKENIZER} or {FAST} of the checkpoint is missing"
            )
        return self._checked(names)

    def _checked(self, names: dict[str, int]) -> dict[str, int]:
        """The names, in the order of their ids. Raises ImportRefused for an id that the model does not have."""
        size = self.number("vocab_size")
        beyond = [name for name, index in names.items() if not 0 <= index < size]
        if beyond:
            raise ImportRefused(
                f"{self.path}: the language token of {beyond[0]} has the id {names[beyond[0]]}, the model only {size} "
                f"words ({CONFIG}): these files do not belong together"
            )
        return dict(sorted(names.items(), key=lambda item: item[1]))

    def _fast(self) -> dict[str, Any]:
        return read_object(self.path / FAST) if (self.path / FAST).is_file() else {}

    def _stated(self) -> Iterator[tuple[str, int]]:
        """Tokens and ids, of whichever files say them."""
        for token in self._fast().get("added_tokens", []):
            yield str(token["content"]), int(token["id"])
        for index, token in self.tokenizer.get("added_tokens_decoder", {}).items():
            yield str(token["content"]), int(index)
        if (self.path / ADDED).is_file():
            yield from ((text, int(index)) for text, index in read_object(self.path / ADDED).items())

    def _additional(self) -> Iterator[str]:
        """The special tokens beyond those of every model, in their order."""
        special = read_object(self.path / SPECIAL) if (self.path / SPECIAL).is_file() else {}
        for values in (special, self.tokenizer):
            for token in values.get(ADDITIONAL) or []:
                yield str(token["content"] if isinstance(token, Mapping) else token)
