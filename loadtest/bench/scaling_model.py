"""How many requests a second a server of some processes answers at most, on a number of cores.

Bounds of operational analysis (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978, section
"bottleneck analysis"): the throughput is at most what each resource could do alone, X <= m / D, where a request needs D
seconds of a resource of which there are m. They are upper bounds: no request waits for another one, and no resource is
idle while requests wait for it. Assumed are cores of the same speed, whatever their number, and enough clients: an
engine's batches have the same size everywhere.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Demands:
    """Seconds of a request. `loop`: Python of the event loop. `text`: Python of the threads beside it. `steps`: Python
    between the engine's graphs. These three need the process' interpreter, which only one thread has at a time.
    `graphs`: of the engine's thread, without the interpreter. `kernel`: of the system, for all threads. `client`: of
    the client, where it shares the cores. `read_bytes`: weights that graphs read."""

    loop: float
    text: float
    steps: float
    graphs: float
    kernel: float
    read_bytes: float
    client: float = 0.0

    @property
    def interpreter(self) -> float:
        return self.loop + self.text + self.steps

    @property
    def engine(self) -> float:
        return self.steps + self.graphs

    @property
    def cores(self) -> float:
        return self.interpreter + self.graphs + self.kernel

    @property
    def cores_of_a_process(self) -> float:
        """Cores that a process keeps busy while its interpreter never rests."""
        return self.cores / self.interpreter


@dataclass(frozen=True)
class Bound:
    """Requests a second, and the resource that ends them."""

    throughput: float
    limit: str


def bound(demands: Demands, cores: int, processes: int, threads: int, bytes_per_second: float = math.inf) -> Bound:
    """`threads` decode in each process; `bytes_per_second` of memory, of the whole machine."""
    at_most = {
        "cores": cores / (demands.cores + demands.client),
        "interpreter": processes / demands.interpreter,
        "decoding threads": processes * threads / demands.engine,
        "memory": bytes_per_second / demands.read_bytes if demands.read_bytes else math.inf,
    }
    limit = min(at_most, key=lambda name: at_most[name])
    return Bound(at_most[limit], limit)
