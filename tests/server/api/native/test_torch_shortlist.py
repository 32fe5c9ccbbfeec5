"""A server whose torch backend scores a shortlist, with steps over all words."""

from pathlib import Path

import pytest

from server.settings import EngineSettings
from tests.export.shortlists.test_widening import listing
from tests.models import SENTENCES
from tests.server.api.conftest import ready, settings_for


def test_a_server_translates_over_a_shortlist_as_with_onnx_runtime(tiny_artifact: Path, tmp_path: Path) -> None:
    listing(tiny_artifact, tmp_path / "tiny", 0.2, 0.4)
    answers = []
    for backend in ("torchscript", "onnx"):
        engine = EngineSettings(slots=4, num_workers=1, backend=backend, precision="fp32", max_beam_size=4)
        with ready(settings_for(tmp_path / "tiny", engine)) as server:
            [translator] = server.state.translators.values()
            assert translator.worker._engines[0].backend.shortlist
            answers.append([server.translate(SENTENCES[:6], beam_size=beam).json() for beam in (1, 4)])
    for ours, theirs in zip(*answers, strict=True):
        assert [each["text"] for each in ours["translations"]] == [each["text"] for each in theirs["translations"]]
        for mine, expected in zip(ours["translations"], theirs["translations"], strict=True):
            scores = [[sentence["score"] for sentence in each["sentences"]] for each in (mine, expected)]
            assert scores[0] == pytest.approx(scores[1], abs=1e-3)
