"""The peer of the HTTP benches: CTranslate2 behind FastAPI, with the same weights and the same pieces.

The bench starts it with a converted model. Every request goes to the queue of the translator, which batches the
sentences of one request and has one worker per core.
"""

import asyncio
import os
import sys
from pathlib import Path

import ctranslate2
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from loadtest.bench.ctranslate2_peer import source_words
from model.config import EOS_ID
from model.data.vocabulary import Vocabulary

MAX_LENGTH = 256


class PeerRequest(BaseModel):
    text: str | list[str]


def create_peer(model: Path, vocabulary: Vocabulary) -> FastAPI:
    """POST /v1/translate {"text"} -> {"text"}: a sentence, or a list of sentences, which are one batch."""
    app = FastAPI()
    translator = ctranslate2.Translator(
        str(model), device="cpu", compute_type="int8", inter_threads=os.cpu_count() or 1, intra_threads=1
    )

    @app.post("/v1/translate")
    async def translate(request: PeerRequest) -> dict[str, str | list[str]]:
        sentences = [request.text] if isinstance(request.text, str) else request.text
        batch = [source_words((*ids, EOS_ID), model) for ids in vocabulary.encode(sentences)]
        max_length = min(MAX_LENGTH, 20 + 3 * max(map(len, batch)))
        results = await asyncio.to_thread(
            translator.translate_batch, batch, beam_size=4, max_decoding_length=max_length
        )
        texts = vocabulary.decode([[word_to_id(word) for word in result.hypotheses[0]] for result in results])
        return {"text": texts[0] if isinstance(request.text, str) else texts}

    return app


def word_to_id(word: str) -> int:
    return {"<unk>": 1, "<s>": 2, "</s>": EOS_ID}.get(word) or int(word[1:])


def main() -> None:
    model, vocabulary, port = Path(sys.argv[1]), Vocabulary(Path(sys.argv[2])), int(sys.argv[3])
    uvicorn.run(create_peer(model, vocabulary), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
