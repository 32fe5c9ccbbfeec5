"""Tokens per second of the engine over PyTorch's graphs, on a GPU or the CPU, every sentence forced to one length."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from loadtest.bench.measure import Workload, median
from loadtest.bench.ours import random_artifact
from loadtest.bench.report import Row
from loadtest.bench.shapes import random_model, shape
from loadtest.bench.sources import random_sources
from loadtest.bench.transformers_peer import TransformersEngine
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.device import PRECISIONS
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.scheduler import RequestQueue
from server.telemetry.metrics import Metrics

Translate = Callable[[list[tuple[int, ...]], int, int], object]
"""(sources, beam, target length): returns when all are translated."""
ORDER = 8


@dataclass(frozen=True)
class DevicePlan:
    """One shape and precision on one device, each batch size and beam `rounds` times. `peer`: also transformers;
    `unrecorded`: also without recorded steps, where a device records."""

    device: str
    shape: str
    precision: str
    batches: tuple[int, ...]
    beams: tuple[int, ...]
    rounds: int
    peer: bool = False
    unrecorded: bool = True


def device_rows(plan: DevicePlan) -> list[Row]:
    """Ours with N=8 beside the same without recorded steps, and beside transformers, which computes full attention;
    then the device's memory."""
    config = shape(plan.shape, ORDER)
    is_cuda = plan.device.startswith("cuda")
    rows, memory = list[Row](), list[Row]()
    with tempfile.TemporaryDirectory() as folder:
        artifact = random_artifact(config, "fp32", Path(folder), with_shortlist=False, format="torchscript")
        backends = {"": TorchScriptBackend(artifact, plan.precision, plan.device)}
        if plan.unrecorded and is_cuda:
            backends["steps not recorded"] = TorchScriptBackend(artifact, plan.precision, plan.device, records=False)
    peers: dict[str, Translate] = {}
    if plan.peer:
        device, dtype = torch.device(plan.device), PRECISIONS[plan.precision]
        peers["transformers"] = TransformersEngine(
            random_model(config), torch.get_num_threads(), device, dtype
        ).translate
    for beam in plan.beams:
        for batch in plan.batches:
            engines = {name: translate_by(backend, batch) for name, backend in backends.items()} | peers
            speeds = {name: list[float]() for name in engines}
            peak = 0
            for number in range(plan.rounds + 1):
                for name, translate in engines.items():
                    if is_cuda and not name:
                        torch.cuda.reset_peak_memory_stats(plan.device)
                    speed = tokens_per_second(translate, Workload(batch, beam), config.vocab_size)
                    if is_cuda and not name:
                        peak = torch.cuda.max_memory_allocated(plan.device)
                    if number:
                        speeds[name].append(speed)
            label, ours = f"{plan.shape} {plan.precision} beam {beam} batch {batch}", median(speeds.pop(""))
            rows += [Row(label, ours, None, None, "tokens/s")] if not speeds else []
            rows += [
                Row(f"{label} (peer: {name})", ours, median(values), ours / median(values), "tokens/s")
                for name, values in speeds.items()
            ]
            if is_cuda:
                memory.append(Row(f"{label}, memory of the device at most", peak / 2**20, None, None, "MiB"))
    return rows + memory


def translate_by(backend: TorchScriptBackend, slots: int) -> Translate:
    """An engine in this thread."""
    engine = Engine(backend, RequestQueue(slots), slots, EngineMeter(Metrics(), "bench"))

    def translate(sources: list[tuple[int, ...]], beam: int, target_length: int) -> None:
        options = SearchOptions(beam_size=beam, max_length=target_length)
        requests = [SentenceRequest(source, options) for source in sources]
        engine.queue.put(requests)
        while not engine.is_idle:
            engine.step()
        for request in requests:
            request.future.result(timeout=0)

    return translate


def tokens_per_second(translate: Translate, workload: Workload, vocabulary: int) -> float:
    sources = random_sources(workload.batch, workload.source_length, vocabulary)
    started = time.perf_counter()
    translate(sources, workload.beam, workload.target_length)
    return workload.batch * workload.target_length / (time.perf_counter() - started)
