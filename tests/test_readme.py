"""The README and the pages that it names say what is true: paths, routes, settings, targets and examples."""

import argparse
import asyncio
import json
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from server.api.app import create_app
from server.api.mcp import route as mcp
from server.api.requests.errors import TABLE
from server.cli.main import COMMANDS, SERVER_COMMANDS
from server.settings import BUNDLED_MODELS, EngineSettings, Settings
from server.telemetry.metrics import Metrics
from server.translation.planning import TextRequest
from server.translation.translator import Translator
from tests.server.api.conftest import running, until

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "server/ROUTES.md",
    "server/CLIENTS.md",
    "server/files/FORMATS.md",
    "server/SETTINGS.md",
    "server/EXAMPLES.md",
    "server/RESULTS.md",
    "server/PROMISES.md",
    "server/bundled/FORMALITY.md",
    "server/bundled/HISTORY.md",
)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", read(page)))
    linked = {target for target in re.findall(r"\]\(([^)#]+)\)", read(page)) if not target.startswith("http")}
    tops = {path.name for path in ROOT.iterdir()}
    paths = [ROOT / name for name in named if name.split("/")[0] in tops]
    paths += [(ROOT / page).parent / target for target in linked]
    assert [str(path) for path in paths if not path.exists()] == []
    assert page != "CONTRIBUTING.md" or len(paths) > 40
    assert page != "README.md" or len(paths) > 6


def test_every_route_that_a_page_names_is_there() -> None:
    app = create_app(Settings(port=0))
    served = {(method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods}
    served |= {("GET", "/docs"), ("GET", "/openapi.json"), ("GET", "/spec")}  # about the API, and not in it
    served |= {("POST", route.path) for route in mcp.router.routes if isinstance(route, APIRoute)}  # JSON-RPC
    for page in ("README.md", "server/ROUTES.md"):
        named = re.findall(r"`(GET|POST|PUT|DELETE) (/[^` ]*)`", read(page))
        assert len(named) > 6
        assert set(named) <= served
    statuses = set(re.findall(r"\b[45]\d\d\b", read("server/ROUTES.md").split("## Errors")[1].split("\n## ")[0]))
    assert statuses | {"500"} == {str(row.status) for row in TABLE.values()}


def test_the_settings_table_is_the_settings() -> None:
    rows = [
        tuple(cell.strip(" `") for cell in line.strip("| ").split(" | "))
        for line in read("server/SETTINGS.md").splitlines()
        if line.startswith("| `--")
    ]
    assert rows == Settings.describe()


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", README + read("CONTRIBUTING.md"), flags=re.M))
    assert {"serve", "test", "check", "image", "loadtest"} <= named <= targets


def test_the_example_is_the_translation_of_the_bundled_model() -> None:
    body = json.loads(re.search(r"-d '(\{.*?\})'", README)[1])  # type: ignore[index]
    answer = re.search(r'"translations": \[\{"text": "(.*?)"', README)[1]  # type: ignore[index]
    translator = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(num_workers=1), Metrics())
    try:
        assert translator.languages == (body["source"], body["target"])
        outcome = asyncio.run(translator.translate(TextRequest([body["text"]], translator.options())))
    finally:
        translator.stop(timeout=5)
    assert outcome.translations[0].text == answer


def test_the_document_example_has_the_documented_response() -> None:
    body = json.loads(re.findall(r"-d '(\{.*?\})'", README)[1])
    with running(Settings(engine=EngineSettings(num_workers=1), port=0, log_level="error")) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        answer = httpx.post(f"{server.url}/v1/documents", json=body, timeout=60).json()
    assert (answer["state"], answer["context"]) == ("done", True)
    assert " ".join(sentence["translation"] for sentence in answer["sentences"]) in README


@pytest.mark.parametrize("page", PAGES)
def test_files_of_the_phrase_book_are_called_so(page: str) -> None:
    """They stand beside the phrases that were learned, whose words they ask again."""
    for line in read(page).splitlines():
        assert "held-out" not in line.lower() or "phrase book" in line


def test_it_stays_short() -> None:
    assert len(README.splitlines()) < 100


def test_the_first_command_is_on_the_first_screen() -> None:
    above, *blocks = README.split("```sh\n")
    assert len(above.splitlines()) <= 15
    assert blocks[0].startswith("git clone --depth 1 ")


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}


def broken_links(page: Path) -> list[str]:
    """Relative links of the page whose file or heading does not exist. A link that begins with / is from the root."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        file = (ROOT / target[1:] if target.startswith("/") else page.parent / target) if target else page
        if not link.startswith("http") and not (file.exists() and (not anchor or anchor in anchors(file))):
            broken.append(f"{page.relative_to(ROOT)}: {link}")
    return broken


def test_every_link_of_every_page_works() -> None:
    skipped = {".venv", "node_modules", "build"}
    pages = [page for page in ROOT.rglob("*.md") if not skipped & set(page.relative_to(ROOT).parts)]
    assert len(pages) > 15
    assert [link for page in pages for link in broken_links(page)] == []


def test_the_changelog_is_short_lines_under_dated_versions() -> None:
    _, *sections = re.split(r"^## ", read("CHANGELOG.md"), flags=re.MULTILINE)
    assert sections[0].startswith("Unreleased\n")
    dated = [re.match(r"(\d+)\.(\d+)\.(\d+) - (\d{4}-\d\d-\d\d)\n", section) for section in sections[1:]]
    versions = [(tuple(map(int, item.groups()[:3])), item[4]) for item in dated if item is not None]
    assert len(versions) == len(dated) > 0
    assert versions == sorted(versions, reverse=True)
    for section in sections:
        entries = [line for line in section.splitlines()[1:] if line]
        assert [line for line in entries if not line.startswith("- ") or len(line) > 160] == []


def test_the_newest_version_is_the_packages() -> None:
    newest = re.findall(r"^## (\d\S+) - ", read("CHANGELOG.md"), flags=re.MULTILINE)[0]
    project = tomllib.loads(read("pyproject.toml"))["project"]
    images = set(re.findall(r"^ARG VERSION=(\S+)$", read("docker/Dockerfile"), flags=re.MULTILINE))
    assert {project["version"], *images} == {newest}


UNPLAIN = re.compile(
    r"(?:^|[.:;|] )(?:Who|Whoever) [a-z]+s\b|\bcame of it\b|\b(?:told|heard|is said|was said)\b", re.MULTILINE
)
"""Words that hide the subject of a sentence, or stand for data that is sent, stored or returned."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page != "server/EXAMPLES.md"] + ["CHANGELOG.md", "docker/README.md"]
)
def test_pages_name_subjects_and_what_they_do(page: str) -> None:
    assert UNPLAIN.findall(read(page)) == []
    assert UNPLAIN.findall("Who sends X gets Y.") == ["Who sends"]


ALL_PAGES = tuple(
    str(page.relative_to(ROOT))
    for page in sorted(ROOT.rglob("*.md"))
    if not {".venv", "node_modules", "build"} & set(page.relative_to(ROOT).parts)
)
TOPS = "server|model|export|docker|tests|loadtest"


def missing_files(text: str) -> list[str]:
    """Files of this tree that a text names and that do not exist; a path of a package may lack its .py."""
    named = re.findall(rf"(?<![\w/.\"'])((?:{TOPS})/[\w./-]*\w\.(?:py|md|yaml|tsv|txt|csv))\b", text)
    named += re.findall(rf"`((?:{TOPS})/[\w./-]*\w)`", text)
    return [path for path in named if not ((ROOT / path).exists() or (ROOT / f"{path}.py").exists())]


def test_every_file_that_any_page_names_exists() -> None:
    wrong = {page: missing for page in ALL_PAGES if (missing := missing_files(read(page)))}
    assert wrong == {}
    assert missing_files("see `server/gone` and server/gone.py, not server/settings.py") == [
        "server/gone.py",
        "server/gone",
    ]


def test_every_file_that_the_code_names_exists() -> None:
    """In comments and docstrings; NAME stands for any name."""
    sources = [path for top in TOPS.split("|") for path in (ROOT / top).rglob("*.py") if path != Path(__file__)]
    wrong = {
        str(path.relative_to(ROOT)): missing
        for path in sources
        if (missing := [name for name in missing_files(path.read_text(encoding="utf-8")) if "NAME" not in name])
    }
    assert len(sources) > 500
    assert wrong == {}


def command_lines(text: str) -> list[str]:
    """The commands of a page, from `ringmt` to the end of the line or of the code span."""
    joined = text.replace("\\\n", " ")
    return re.findall(r"(?:^|`|\$ )(?:[A-Z_]+=\S+ )*ringmt ([a-z][^`\n]*)", joined, flags=re.MULTILINE)


def flags_of(entry: EntryPoint) -> set[str]:
    parser = argparse.ArgumentParser()
    entry.load().add_arguments(parser)
    return {option for action in parser._actions for option in action.option_strings}


def test_every_command_and_flag_that_a_page_names_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    others = project["entry-points"]["ringmt.commands"]
    entries = {**SERVER_COMMANDS, **{name: EntryPoint(name, value, "ringmt") for name, value in others.items()}}
    assert entries.keys() == COMMANDS.keys()
    flags = {name: flags_of(entry) for name, entry in entries.items()}
    pages = [page for page in ALL_PAGES if page != "CHANGELOG.md"]  # which also names what is gone
    lines = [(page, line) for page in pages for line in command_lines(read(page))]
    assert len(lines) > 60
    wrong = []
    for page, line in lines:
        name, *rest = line.split()
        known = flags.get(name)
        used = [] if known is None else re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", " ".join(rest).split(" | ")[0])
        wrong += [f"{page}: ringmt {name} {flag}" for flag in used if known is not None and flag not in known]
        if known is None:
            wrong.append(f"{page}: ringmt {name}")
    assert wrong == []
