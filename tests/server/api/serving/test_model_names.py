"""Names that stand for pairs of languages."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.api.requests.errors import ApiError
from server.api.serving.language_codes import served_code
from server.api.serving.model_names import PREFIXES, names_of_pairs, pair_named
from tests.growth import assert_linear
from tests.server.api.conftest import RunningServer


def test_every_listed_name_stands_for_what_it_says(many: RunningServer) -> None:
    routes, models = many.state.routes, many.state.translators
    names = names_of_pairs(models, routes)
    assert len(set(names)) == len(names)
    assert {"en-de", "de-fr", "auto-fr"} <= set(names)
    for name in names:
        source, _, target = name.partition("-")
        for prefix in ("", *PREFIXES):
            pair = pair_named(prefix + name, models, routes)
            assert (pair.source or "auto", pair.target) == (source, target)
            assert pair.model == (name if not prefix and name in models else None)


@given(
    name=st.lists(st.sampled_from(["en", "de", "fr", "auto", "zz", "-", "_", "US", "ringmt-", "\ud800"])).map("".join)
)
def test_a_name_is_of_served_languages_or_refused(many: RunningServer, name: str) -> None:
    with contextlib.suppress(ApiError):
        pair = pair_named(name, many.state.translators, many.state.routes)
        sources = many.state.routes.known_languages if pair.source is None else [pair.source]
        assert any(served_code(pair.target, many.state.routes.known_languages[source]) for source in sources)


@pytest.mark.parametrize("name", ["", "-", "en", "en-", "-de", "auto-", "auto-zz", "gpt-4o-mini", "zz-de"])
def test_unknown_names(many: RunningServer, name: str) -> None:
    with pytest.raises(ApiError, match="is served"):
        pair_named(name, many.state.translators, many.state.routes)


def test_reading_a_name_takes_linear_time(many: RunningServer) -> None:
    def run(text: str) -> None:
        with contextlib.suppress(ApiError):
            pair_named(text, many.state.translators, many.state.routes)

    assert_linear(run, ["en", "-", "_", "de", "auto-", "ringmt-", "ringmt/", "\n", "a"], count=20, ordinary=None)
