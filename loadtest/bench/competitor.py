"""One competitor in its own process, because several OpenMP libraries in one process slow each other down.

Started with a JSON object on the command line, it loads a model that `loadtest.bench.model_writer` wrote, reads one
JSON request a line and answers each with one line: {"batch", "beam", "source_length", "target_length", "turn_seconds"}
-> {"seconds", "processor_seconds"} of a call, the mean of a turn of at least `turn_seconds` after one warm-up call;
{"memory": true} -> {"bytes"} by which the process has grown since its modules were imported.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")

from loadtest.bench.sources import Words
from server.runtime.process_memory import resident_bytes


class Competitor(Protocol):
    def translate(self, sources: list[tuple[int, ...]], beam: int, target_length: int) -> Any: ...


def loader(options: dict[str, Any]) -> Callable[[], Competitor]:
    """What loads the model, with its modules imported."""
    folder, shortlist = Path(options["folder"]), options["shortlist"]
    precision, workers, threads = options["precision"], options["workers"], options["threads"]
    match options["engine"]:
        case "ours":
            import server.backends.onnx.backend  # noqa: F401
            from loadtest.bench.our_engine import OurEngine

            return lambda: OurEngine(folder / "artifact", precision, workers, shortlist, options["intra_threads"])
        case "transformers":
            from loadtest.bench.model_writer import config_of
            from loadtest.bench.shapes import random_model
            from loadtest.bench.transformers_peer import TransformersEngine

            return lambda: TransformersEngine(random_model(config_of(options)), threads)
        case "fxtranslate":
            from loadtest.bench.fxtranslate_peer import FxTranslateEngine

            return lambda: FxTranslateEngine(folder / "firefox", workers, shortlist)
    from loadtest.bench.ctranslate2_peer import CTranslate2Engine

    return lambda: CTranslate2Engine(folder, precision, workers, threads, shortlist)


def processor_seconds(competitor: Competitor) -> float:
    """Of all threads of this process, and of the competitor's other processes."""
    return time.process_time() + float(getattr(competitor, "worker_seconds", 0.0))


def serve(competitor: Competitor, words: Words, before: int) -> None:
    """Answer the requests on the standard input until it ends; `before`: bytes of the process without the model."""
    for line in sys.stdin:
        request = json.loads(line)
        if "memory" in request:
            of_workers = getattr(competitor, "worker_bytes", lambda: 0)()
            print(json.dumps({"bytes": resident_bytes() - before + of_workers}), flush=True)
            continue
        sources = words.sources(request["batch"], request["source_length"])
        competitor.translate(sources, request["beam"], request["target_length"])
        calls, started, used = 0, time.perf_counter(), processor_seconds(competitor)
        while not calls or time.perf_counter() - started < request["turn_seconds"]:
            competitor.translate(sources, request["beam"], request["target_length"])
            calls += 1
        seconds, used = time.perf_counter() - started, processor_seconds(competitor) - used
        print(json.dumps({"seconds": seconds / calls, "processor_seconds": used / calls}), flush=True)


def main() -> None:
    options = json.loads(sys.argv[1])
    load = loader(options)
    before = resident_bytes()
    competitor = load()
    print(json.dumps({"ready": True}), flush=True)
    serve(competitor, Words.read(Path(options["folder"])), before)


if __name__ == "__main__":
    main()
