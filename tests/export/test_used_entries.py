"""Steps with full attention read the used entries of long rings only, and give the same bits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from export import onnx_writer
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.backends.memory import HostMemory
from server.backends.state import Candidates, DecoderState
from tests.graphs import write_graphs
from tests.models import EVERY_KIND, lively_model, tiny_config

MOST = 70


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return written(tmp_path_factory.mktemp("used"))


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """The slow reference reads all entries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_writer, "attend_used_entries", lambda step, rings: None)
        return written(tmp_path_factory.mktemp("all"))


def written(folder: Path) -> Artifact:
    return write_graphs(lively_model(tiny_config(ngram=None, max_length=MOST)), folder, *EVERY_KIND)


def branches(artifact: Artifact, precision: str = "int8") -> int:
    step = onnx.load(artifact.path(artifact.manifest.graph("onnx", precision).step), load_external_data=False)
    return sum(node.op_type == "If" for node in step.graph.node)


def candidates(artifact: Artifact, precision: str, beam: int, capacity: int, unused: float) -> Iterator[Candidates]:
    """See `steps`."""
    for state in steps(artifact, precision, beam, capacity, unused):
        yield Candidates(*(values.copy() for values in vars(state.candidates).values()))


def steps(artifact: Artifact, precision: str, beam: int, capacity: int, unused: float) -> Iterator[DecoderState]:
    """The state after each step until the rings are full; a second sentence comes in the fifth step. `unused`: what is
    in the last quarter of the rings until it is written."""
    backend = load_backend(artifact, "onnx", precision, "off")
    state = backend.new_state(2, beam, 8, capacity=capacity)
    fill_rings(state, unused)
    sentences = [backend.encode(np.array([ids]), np.ones((1, len(ids)), np.int32))[0] for ids in ([9, 8, 3], [7, 3])]
    state.admit(0, sentences[0], artifact.manifest.special_ids.bos, beam)
    step = backend.bind(state)
    for number in range(capacity):
        if number == 5:
            state.admit(1, sentences[1], artifact.manifest.special_ids.bos, beam)
        step()
        yield state
        state.tick()


def fill_rings(state: DecoderState, value: float) -> None:
    assert isinstance(state.memory, HostMemory)
    for name in state.memory.names("ring"):
        ring = state.memory.arrays[name]
        ring[:, :, 3 * ring.shape[2] // 4 :] = value


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("beam", [1, 3, 4])
@pytest.mark.parametrize("capacity", [16, 32, 64])
def test_the_bits_are_those_of_attention_to_all_entries(
    artifact: Artifact, twin: Artifact, precision: str, beam: int, capacity: int
) -> None:
    ours, theirs = (list(candidates(each, precision, beam, capacity, 0.0)) for each in (artifact, twin))
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        for name, values in vars(one).items():
            assert np.array_equal(values, getattr(other, name)), (number, name)


def test_unused_entries_are_not_read_until_more_than_half_are_used(artifact: Artifact, twin: Artifact) -> None:
    """Entries that are read and are no numbers give no numbers."""
    capacity = 64
    ours, theirs = (
        [bool(np.isfinite(step.score).all()) for step in candidates(each, "fp32", 1, capacity, np.nan)]
        for each in (artifact, twin)
    )
    assert ours == [True] * (capacity // 2) + [False] * (capacity // 2)
    assert theirs == [False] * capacity


def test_of_entries_that_beams_write_again_no_others_are_read(artifact: Artifact, twin: Artifact) -> None:
    capacity, beam = 64, 4
    seen = [
        [(bool(np.isfinite(state.candidates.score).all()), int(state.num_entries[0])) for state in steps(*options)]
        for options in ((each, "fp32", beam, capacity, np.nan) for each in (artifact, twin))
    ]
    ours, theirs = seen
    assert not any(is_finite for is_finite, _ in theirs)
    are_read = [2 * -(-used // 16) * 16 > capacity * beam for _, used in ours]
    assert not any(are_read[: capacity // 2])
    first = are_read.index(True) if any(are_read) else capacity
    assert [is_finite for is_finite, _ in ours[: first + 1]] == [True] * first + [False] * (first < capacity)


def test_rings_of_a_few_tokens_are_read_whole(artifact: Artifact, twin: Artifact, tmp_path: Path) -> None:
    assert branches(artifact) == branches(artifact, "fp32") == len(artifact.manifest.ring_tensors) // 2 > 0
    assert branches(twin) == 0
    assert branches(write_graphs(lively_model(tiny_config(ngram=4)), tmp_path, *EVERY_KIND)) == 0
