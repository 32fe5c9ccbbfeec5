"""One browser and one server of the bundled models for all tests of the page."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from server.settings import BUNDLED_MODELS, EngineSettings
from tests.server.api.conftest import RunningServer, ready, settings_for

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The first has no windows, and needs a part of the time of the second."""
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium here (Debian's package of that name)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The browser; what a test opened is closed after it."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture(scope="session")
def both_ways() -> Iterator[RunningServer]:
    """English to German and back."""
    engine = EngineSettings(slots=4, num_workers=1, max_beam_size=4)
    with ready(settings_for(BUNDLED_MODELS, engine)) as server:
        yield server
