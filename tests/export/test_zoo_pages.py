"""What stands on the zoo's pages by hand is what was measured: every figure of a page that no command writes is held
against the tables that one has written."""

import re
import statistics
from pathlib import Path

import pytest

from export.compare.claims import AGAINST, HOLDS, NOISE, NOT_COMPARABLE, NOT_TRIED, ONE_SEED
from export.compare.papers import CHELBA, MARUF, NGUYEN, OWN, YANG
from export.compare.store import Store
from model.training.bundled import all_rows
from tests.export.test_zoo import ROWS, TRANSLATING, ZOO

Table = list[list[str]]
BLEU = "bleu.md"


def tables(page: Path) -> list[Table]:
    """Every table of a page: its head, then its rows."""
    results: list[Table] = [[]]
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            results[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif results[-1]:
            results.append([])
    return [[lines[0], *lines[2:]] for lines in results if lines]


def by_name(folder: Path, *head: str) -> dict[tuple[str, ...], list[str]]:
    """The rows of tables.md's table with this head, by what stands under the head's first names."""
    (table,) = [lines for lines in tables(folder / "tables.md") if lines[0][: len(head)] == list(head)]
    return {tuple(cells[:2]): cells for cells in table[1:]}


def bleu_of_rows() -> dict[str, float]:
    ((head, *rows),) = tables(ZOO / BLEU)
    assert head == ["row", "BLEU", "chrF"]
    return {name: float(bleu.split()[0]) for name, bleu, _ in rows}


def test_bleu_has_every_row_that_translates_in_the_order_of_the_page() -> None:
    """Seeds are one line of the page and two of the table of every seed."""
    seeds = by_name(ZOO, "row", "attention", "seed", "log-perplexity")
    assert list(bleu_of_rows()) == [name for name, _ in seeds]
    assert set(bleu_of_rows()) == {name for name, row in ROWS.items() if not row.is_language_model}


def test_the_summary_of_bleu_is_that_of_its_table() -> None:
    result = re.search(
        r"reach (\d+) BLEU \(N=2\) to (\d+) \(relative positions\), most of them (\d+); at 10.3 million (\d+) \(N=2\) "
        r"to (\d+)\.",
        (ZOO / "tried.md").read_text(encoding="utf-8"),
    )
    assert result is not None
    long, short = (
        {name: bleu for name, bleu in bleu_of_rows().items() if name.startswith("longer") == is_long}
        for is_long in (True, False)
    )
    for rows, row in ((short, "n2"), (long, "longer-n2")):
        worst, second, *_ = sorted(rows, key=rows.__getitem__)
        assert {worst, second} == {row, f"{row}-seed-2"}
        assert "relative" in max(rows, key=rows.__getitem__)
    ends = [(min(values), max(values)) for values in (short.values(), long.values())]
    figures = [*ends[0], statistics.median(short.values()), *ends[1]]
    assert [int(figure) for figure in result.groups()] == [round(figure) for figure in figures]


def test_what_relative_positions_bring_is_what_was_measured() -> None:
    (figures,) = [lines for lines in tables(ZOO / "tried.md") if "speed" in lines[0]]
    (measured,) = [lines for lines in tables(ZOO / "README.md") if lines[0][0] == "variant"]
    results = {cells[0]: cells for cells in measured[1:]}
    for row, seeds, less, bleu, _ in figures[1:]:
        assert [seeds, less] == [results[row][2], results[row][7].split()[0]]
        name = row.replace("/", "-")
        of_seeds = [value for kept, value in bleu_of_rows().items() if re.fullmatch(rf"{name}(-seed-\d)?", kept)]
        assert (len(of_seeds), bleu) == (int(seeds), f"{statistics.mean(of_seeds):.1f}")
    assert len(figures) == 5


def at_precisions(name: str) -> tuple[str, dict[str, dict[str, float]]]:
    """Of which text, and what was measured of it at each precision."""
    row, store = ROWS[name], Store(ZOO / "measured.json.gz")
    (key,) = [what for what in store.measured(row.alone_hash) if what.startswith("precisions, beam 4, ")]
    return key.removeprefix("precisions, beam 4, "), store.get(row.alone_hash, key)


def test_int8_costs_next_to_nothing_in_rows_of_every_mechanism() -> None:
    """Beam searches of briefly trained models differ in BLEU by more than what int8 costs them (tried.md), so that it
    counts what the rows have in common."""
    results = [at_precisions(name)[1] for name in TRANSLATING]
    assert len(results) == 4
    nats = [costs["int8"]["nll"] - costs["fp32"]["nll"] for costs in results]
    bleu = [costs["int8"]["bleu"] - costs["fp32"]["bleu"] for costs in results]
    assert max(map(abs, nats)) <= 0.01
    assert max(map(abs, bleu)) <= 0.5
    assert abs(statistics.mean(bleu)) <= 0.3


def test_graphs_at_fp32_find_references_as_probable_as_the_model_does() -> None:
    """All rows were asked about the same tokens, however many these are."""
    store, tokens = Store(ZOO / "measured.json.gz"), []
    for name in TRANSLATING:
        texts, costs = at_precisions(name)
        by_model = [sum(store.get(ROWS[name].alone_hash, f"nll alone {text}")) for text in texts.split(", ")]
        tokens.append(sum(by_model) / costs["fp32"]["nll"])
    assert max(tokens) / min(tokens) < 1.001


def test_the_page_names_every_row_that_is_not_trained() -> None:
    """A row that got a recipe since then is on the page when it is written anew."""
    page = (ZOO / "README.md").read_text(encoding="utf-8")
    listed = re.search(r"^Not trained, though their recipes are there: (.*)\.$", page, flags=re.MULTILINE)
    assert listed is not None
    trained = {row.bundled for row in ROWS.values()}
    recipes = {name.partition("/")[0] for name in trained if name}
    assert listed[1].split(", ") == [
        row for row in all_rows() if row.partition("/")[0] in recipes and row not in trained
    ]


PAGES = (ZOO / "README.md", ZOO / "documents/README.md")
VERDICTS = (HOLDS, AGAINST, NOISE, NOT_COMPARABLE, NOT_TRIED, ONE_SEED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.parent.name))
def test_a_page_begins_with_what_the_papers_claim(page: Path) -> None:
    """One sentence a paper and one table, before any table of rows; every verdict is one of the words that its note
    explains."""
    text = page.read_text(encoding="utf-8")
    first, *_ = tables(page)
    assert first[0] == ["paper", "claim", "target tokens", "ours, ± 95%", "differences resolved", "verdict"]
    assert {cells[-1].strip("*") for cells in first[1:]} <= set(VERDICTS)
    papers = {cells[0].partition(",")[0] for cells in first[1:]}
    assert papers <= {name.partition(",")[0] for name in (CHELBA, YANG, NGUYEN, MARUF)}
    sentences = re.findall(r"^- \*\*(.*?)\*\*: ", text, flags=re.MULTILINE)
    assert set(sentences) == papers
    assert len(sentences) == len(papers)
    assert text.index(f"- **{sentences[0]}**") < text.index("| paper | claim |") < 4000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.parent.name))
def test_a_page_says_once_what_plus_minus_means(page: Path) -> None:
    """In the prose that is written by hand, ± stands for the same, and says it where another error stands beside it."""
    for path in (page, page.parent / "tables.md"):
        text = path.read_text(encoding="utf-8")
        assert text.count("± is ") == 1
        assert "standard error" not in re.sub(r"\| standard error over text \|", "", text)


def test_the_window_of_the_server_is_decided() -> None:
    """N=8 is worse than full attention by at most 0.02 nats, at either budget; the page's sentence has its bound."""
    first, *_ = tables(ZOO / "README.md")
    decided = [cells for cells in first if cells[1].startswith("N=8 is worse than full attention by at most 0.02")]
    assert [cells[-1] for cells in decided] == ["**holds**"] * 2
    value, half = map(float, re.findall(r"-?\d\.\d+", decided[0][3]))
    bound = re.search(r"costs at most (\d\.\d+) nats a token", (ZOO / "README.md").read_text(encoding="utf-8"))
    assert bound is not None
    assert float(bound[1]) == pytest.approx(value + half, abs=0.0011)


def test_own_hypotheses_stand_under_no_papers_name() -> None:
    for page in PAGES:
        own = page.read_text(encoding="utf-8").split(f"## {OWN}\n")[1].split("\n## ")[0]
        assert not re.search(r"\d{4}, (Table|section)", own)
        assert "| of | claim |" in own


def test_every_deviation_from_the_papers_is_named_beside_its_code_and_on_the_page() -> None:
    figures = {
        "model/attention/kinds/relative.py": "absolute sinusoids",
        "model/attention/kinds/window.py": "bias",
        "model/attention/kinds/localness.py": "bias",
        "model/decoder.py": "Muon",
        "model/training/drafts.py": "references",
        "model/document.py": "freeze",
    }
    pages = " ".join(page.read_text(encoding="utf-8").split("## What differs from the papers")[1] for page in PAGES)
    for path, word in figures.items():
        assert re.search(rf"Differs from the papers?\b[^\"]*{word}", (ZOO.parent.parent / path).read_text(), flags=re.S)
        assert word in pages
    assert "7.9, 4.7 and 12.6 million" in pages
    assert "7.9 and" in (ZOO.parent.parent / "model/attention/kinds/window.py").read_text()
