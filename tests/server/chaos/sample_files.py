"""Files of several formats with the same sentences."""

import io
import json
from collections.abc import Sequence

import docx


def word_file(sentences: Sequence[str]) -> bytes:
    document, packed = docx.Document(), io.BytesIO()
    for sentence in sentences:
        document.add_paragraph(sentence)
    document.save(packed)
    return packed.getvalue()


def files_of(sentences: Sequence[str]) -> dict[str, bytes]:
    """By name."""
    cues = (f"{n}\n00:00:{n % 60:02},000 --> 00:00:{n % 60:02},900\n{text}\n" for n, text in enumerate(sentences, 1))
    return {
        "a.txt": "\n".join(sentences).encode(),
        "a.html": "".join(f"<p>{text}</p>" for text in sentences).encode(),
        "a.md": "".join(f"- {text}\n" for text in sentences).encode(),
        "a.srt": "\n".join(cues).encode(),
        "a.csv": "".join(f'"{text}"\n' for text in sentences).encode(),
        "a.json": json.dumps(list(sentences)).encode(),
        "a.docx": word_file(sentences),
    }
