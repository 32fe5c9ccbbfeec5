"""`ringmt bench scaling`: bounds of the throughput by number of cores."""

import itertools
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.commands import EXAMPLES, lines
from loadtest.bench.scaling_bench import Engine, Turn, bound_rows, demands_of, scaling_rows
from loadtest.bench.scaling_model import Demands, bound
from server.settings import BUNDLED_MODELS

SOME = Demands(loop=1e-3, text=1e-3, steps=2e-3, graphs=16e-3, kernel=1e-3, read_bytes=1e6)


@pytest.mark.parametrize(
    ("cores", "processes", "threads", "throughput", "limit"),
    [
        (1, 1, 1, 1 / 0.021, "cores"),
        (4, 1, 4, 4 / 0.021, "cores"),
        (4, 1, 1, 1 / 0.018, "decoding threads"),
        (64, 1, 64, 1 / 0.004, "interpreter"),
        (64, 16, 4, 64 / 0.021, "cores"),
        (64, 8, 8, 8 / 0.004, "interpreter"),
    ],
)
def test_the_scarcest_resource_ends_it(cores: int, processes: int, threads: int, throughput: float, limit: str) -> None:
    found = bound(SOME, cores, processes, threads)
    assert found.throughput == pytest.approx(throughput)
    assert found.limit == limit


def test_memory_and_clients_can_end_it() -> None:
    assert bound(SOME, 64, 16, 4, bytes_per_second=1e9).limit == "memory"
    assert bound(SOME, 64, 16, 4, bytes_per_second=1e9).throughput == pytest.approx(1000)
    with_clients = Demands(**{**SOME.__dict__, "client": 0.021})
    assert bound(with_clients, 2, 1, 2).throughput == pytest.approx(1 / 0.021)


seconds = st.floats(1e-5, 1e-1, allow_subnormal=False)


@given(
    demands=st.builds(Demands, seconds, seconds, seconds, seconds, seconds, st.just(0.0)),
    cores=st.integers(1, 64),
    processes=st.integers(1, 16),
    threads=st.integers(1, 16),
)
def test_a_simulated_server_is_never_faster(demands: Demands, cores: int, processes: int, threads: int) -> None:
    """The slow reference: requests follow each other as closely as the interpreter, engines and cores allow."""
    count, most = 200, bound(demands, cores, processes, threads)
    core_free, interpreter_free = [0.0] * cores, [0.0] * processes
    engine_free = [[0.0] * threads for _ in range(processes)]
    end = 0.0
    for number in range(count):
        process = number % processes
        engine = engine_free[process].index(min(engine_free[process]))
        core = core_free.index(min(core_free))
        began = max(core_free[core], interpreter_free[process], engine_free[process][engine])
        interpreter_free[process] = began + demands.interpreter
        core_free[core] = engine_free[process][engine] = began + demands.cores
        end = max(end, core_free[core])
    assert count / end <= most.throughput * (1 + 1e-9)


def test_the_table_says_where_one_process_ends() -> None:
    rows = [row for row in bound_rows(SOME, (1, 4, 8, 64)) if row.peer is not None]
    assert [row.name for row in rows] == [
        "1 core, 1 process (cores); one (cores)",
        "4 cores, 1 process (cores); one (cores)",
        "8 cores, 2 processes (cores); one (interpreter)",
        "64 cores, 16 processes (cores); one (interpreter)",
    ]
    assert [row.ratio for row in rows] == pytest.approx([1, 1, 8 / 0.021 * 0.004, 64 / 0.021 * 0.004])
    for one, two in itertools.pairwise(rows):
        assert two.ours > one.ours


def test_times_of_threads_become_stages() -> None:
    """The busiest thread beside the event loop decodes; a thread that was not there in a turn did nothing."""
    turns = [
        Turn(10, 0.1, ((1.0, 0.1), (0.5, 0.0), (8.0, 0.2))),
        Turn(10, 0.1, ((1.0, 0.1), (8.0, 0.2), (0.5, 0.0))),
        Turn(10, 0.1, ((3.0, 0.1), (9.0, 0.2))),
    ]
    found = demands_of(turns, Engine(python=0.25, bytes_per_second=100.0))
    assert (found.loop, found.text, found.steps, found.graphs) == (1.0, 0.5, 2.0, 6.0)
    assert found.kernel == pytest.approx(0.3)
    assert found.read_bytes == 600
    assert math.isclose(found.cores, 1.0 + 0.5 + 8.0 + 0.3)


@pytest.mark.skipif(sys.platform != "linux", reason="threads' times are read from /proc")
def test_it_measures_a_server() -> None:
    rows = scaling_rows(BUNDLED_MODELS / "en-de", list(lines(EXAMPLES)), rounds=1, requests=24, cores=(1, 8))
    by_name = {row.name: row for row in rows}
    stages = {name.removeprefix("a request: "): row.ours for name, row in by_name.items() if name.startswith("a req")}
    assert stages.keys() == {"event loop", "text, beside the loop", "Python between steps", "graphs", "kernel"}
    assert stages["graphs"] > stages["Python between steps"] > 0 < stages["event loop"]
    assert 0 < by_name["a connection: accepted and passed on by the supervisor"].ours < 100
    measured = [row for row in rows if "measured" in row.name]
    assert measured
    for row in measured:
        assert row.peer is not None
        assert 0 < row.peer < 3 * row.ours
