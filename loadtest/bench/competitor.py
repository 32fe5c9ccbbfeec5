"""One competitor in its own process, because several OpenMP libraries in one process slow each other down.

Started with a JSON object on the command line, it reads one JSON request a line and answers each with one line:
{"batch", "beam", "source_length", "target_length", "turn_seconds"} -> {"seconds"} of a call, the mean of a turn of at
least `turn_seconds` after one warm-up call.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")

from loadtest.bench.shapes import random_model, random_plan, random_sources, shape
from model.config import ModelConfig


class Competitor(Protocol):
    def translate(self, sources: list[tuple[int, ...]], beam: int, target_length: int) -> Any: ...


def config_of(options: dict[str, Any]) -> ModelConfig:
    if options["config"] is not None:
        return ModelConfig.from_dict(options["config"])
    return shape(options["shape"], options["order"])


def build(options: dict[str, Any]) -> Competitor:
    config = config_of(options)
    folder = Path(options["folder"])
    if options["engine"] == "ours":
        from loadtest.bench.ours import OurEngine, random_artifact

        artifact = random_artifact(config, options["precision"], folder, options["shortlist"])
        return OurEngine(artifact, options["precision"], options["workers"])
    if options["engine"] == "transformers":
        from loadtest.bench.transformers_peer import TransformersEngine

        return TransformersEngine(random_model(config), options["threads"])
    from loadtest.bench.ctranslate2_peer import CTranslate2Engine, convert, write_vocabulary_map

    convert(random_model(config), folder)
    if options["shortlist"]:
        write_vocabulary_map(random_plan(config.vocab_size), folder)
    return CTranslate2Engine(folder, options["precision"], options["workers"], options["threads"], options["shortlist"])


def main() -> None:
    options = json.loads(sys.argv[1])
    competitor = build(options)
    vocabulary = config_of(options).vocab_size
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        sources = random_sources(request["batch"], request["source_length"], vocabulary)
        competitor.translate(sources, request["beam"], request["target_length"])
        calls, started = 0, time.perf_counter()
        while not calls or time.perf_counter() - started < request["turn_seconds"]:
            competitor.translate(sources, request["beam"], request["target_length"])
            calls += 1
        print(json.dumps({"seconds": (time.perf_counter() - started) / calls}), flush=True)


if __name__ == "__main__":
    main()
