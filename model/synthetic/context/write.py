"""Made documents on disk: a corpus for each kind, and a contrastive set for dev."""

import dataclasses
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

from model.synthetic.context.make import Document
from model.synthetic.tables import Text


def write_documents(documents: Sequence[Sequence[Text]], folder: Path, name: str, languages: tuple[str, str]) -> None:
    """An empty line ends a document. The same documents give the same bytes."""
    for side, language in enumerate(languages):
        text = "".join("\n".join(text[side] for text in document) + "\n\n" for document in documents)
        _write(folder / f"{name}.{language}.gz", text.removesuffix("\n"))


def write_items(documents: dict[str, list[Document]], path: Path, seed: int) -> None:
    """One item for each document, in random order; the template is its kind."""
    lines = [
        json.dumps(
            {
                "template": kind,
                "gender": document.answer,
                "src_context": [text[0] for text in document.context],
                "ref_context": [text[1] for text in document.context],
                "src": document.ambiguous.source,
                "ref": document.ambiguous.targets[document.answer],
                "contrastive": wrong_answers(document),
            }
            | ({"antecedent": dataclasses.asdict(document.antecedent)} if document.antecedent else {}),
            ensure_ascii=False,
        )
        for kind, made in documents.items()
        for document in made
        if wrong_answers(document)
    ]
    random.Random(seed).shuffle(lines)
    _write(path, "".join(f"{line}\n" for line in lines))


def wrong_answers(document: Document) -> list[str]:
    right = document.ambiguous.targets[document.answer]
    return sorted({target for target in document.ambiguous.targets.values() if target != right})


def _write(path: Path, text: str) -> None:
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
        zipped.write(text.encode())
