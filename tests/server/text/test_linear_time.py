"""Whatever a text has, its time grows with its length, and is at most twenty times that of an ordinary text."""

import contextlib
from collections.abc import Callable

import pytest

from server.glossaries.tsv_csv import EntriesFormat, MalformedEntries, read_entries
from server.settings import BUNDLED_MODELS
from server.text.base.pieces import Pieces
from server.text.base.placeholders import TooManyPlaceholders, nested, split_at_placeholders
from server.text.base.words import equal_elements, find_spans, match_words, word_ids, words_of
from server.text.checks.address import address_of
from server.text.checks.flags import find_flags
from server.text.checks.language import identify
from server.text.checks.repetition import is_repetitive, most_copies
from server.text.markup.attributes import extract_values
from server.text.markup.markup import read_markup
from server.text.markup.tags import place_tags, strip_tags
from server.text.markup.tokens import Kind, MalformedMarkup
from server.text.protect.capitals import Casing
from server.text.protect.emphasis import raise_emphasis
from server.text.protect.masking import find_terms, has_words, mask
from server.text.protect.pivot_placeholders import PivotPlaceholders
from server.text.protect.restoring import restore, restore_partial
from server.text.protect.terms import Terms, missing_terms
from server.text.protect.unspellable import merge_adjacent, unspellable
from server.text.spans.table import protected_spans
from server.text.spans.template_tags import template_spans
from server.text.split.clauses import split_at_clauses
from server.text.split.long_sentences import split_long
from server.text.split.plan import plan_sentence, plan_text
from server.text.split.sentences import split_text
from server.text.split.trimming import trim
from tests.growth import assert_linear
from tests.server.text import hostile

ascii_only = str.isascii


@pytest.fixture(scope="module")
def bundled() -> Pieces:
    return Pieces(BUNDLED_MODELS / "en-de" / "vocabulary.model")


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_cutting_into_sentences(language: str) -> None:
    assert_linear(lambda text: split_text(text, language), hostile.EVERYTHING, seed=len(language) + ord(language[0]))


def test_trimming() -> None:
    assert_linear(
        lambda text: list(trim(text)), (*hostile.PLACEHOLDERS, *hostile.EMOJI, " ", "\u00a0", "a", "."), ordinary=None
    )


@pytest.mark.parametrize("find", [protected_spans, template_spans, has_words])
def test_finding_what_is_protected(find: Callable[[str], object]) -> None:
    assert_linear(find, (*hostile.PROTECTED, *hostile.EMOJI), ordinary=None)


def test_finding_how_the_reader_is_addressed() -> None:
    parts = ("Sie", " ", "du", ",", "you", "they", ".", "\u201e", "Ihr", "mach", "-", "'")
    assert_linear(lambda text: address_of(text, text), parts, ordinary=None)


def test_finding_what_cannot_be_spelled() -> None:
    def find(text: str) -> None:
        places = unspellable(text, ascii_only)
        merge_adjacent(text, places, places[::3])

    assert_linear(find, hostile.TEXT, ordinary=None)


def test_masking() -> None:
    terms = Terms({"a": "b", "Wort": "word", "\u4f60": "you", "1": "2", "a a a": "3"})
    assert_linear(lambda text: mask(text, ascii_only, terms), hostile.EVERYTHING[::3], seed=1, count=20)


def test_words_in_capitals(bundled: Pieces) -> None:
    casing = Casing(bundled, lowers_emphasis=True)
    tokens = (
        "STOP ",
        "word ",
        "HEllo ",
        "hELLO ",
        "A",
        "B",
        "SS",
        "\u00df",
        "\u00c4",
        "'",
        "-",
        ".",
        "NASA",
        "{a}",
        " ",
    )
    assert_linear(lambda text: mask(text, ascii_only, None, casing), tokens, count=20, ordinary=None)

    def raise_all(text: str) -> None:
        places = [(word.start, word.end) for word in words_of(text)]
        raise_emphasis(text, places[::2], text, list(zip(places, places, strict=True)))

    assert_linear(raise_all, ("word ", "STOP ", ".", "\u00df "), count=8, ordinary=None)


def test_splitting_at_clauses() -> None:
    tokens = ("word ", ", ", "; ", "and ", ": ", "(", ") ", "[", "] ", "\u2013 ", "-- ", ",", " ", "{a; b}", "<b ")
    assert_linear(split_at_clauses, tokens, count=20, ordinary=None)


def test_restoring() -> None:
    """Any output of a model, with few masks and with many."""
    few = mask("a <b>b c</b> d {x} \U000f0000 d e \U000f4000 f", ascii_only)
    outputs = ("X1", "X2", "x 3", "X", "1", "0", " ", "Wort", "-w", "X1-b", "X4", "X55", "\n")
    assert_linear(lambda text: restore(few, text), outputs)
    assert_linear(lambda text: restore_partial(few, text), outputs, seed=1)
    tokens = ("{a} ", "<b>", "word ", "\U000f0000", "\U000f4000", "\u732b", "X1 ", "\u00b2", ".")
    assert_linear(lambda text: restore(masked := mask(text, ascii_only), masked.text), tokens, ordinary=None)


@pytest.mark.parametrize(("first", "strips_tags"), [(0, False), (1, False), (2, True)])
def test_planning(bundled: Pieces, first: int, strips_tags: bool) -> None:
    def plan(text: str) -> object:
        return plan_text(text, "en", bundled, 256, splits=first != 1, strips_tags=strips_tags)

    assert_linear(plan, hostile.EVERYTHING[first::5], seed=first, count=25)


def test_planning_with_a_tiny_vocabulary(pieces: Pieces) -> None:
    assert_linear(lambda text: plan_text(text, "en", pieces, 64), hostile.TEXT[::4], count=15)


def test_cutting_a_long_sentence(pieces: Pieces) -> None:
    tokens = ("a", "a ", ",", "a, ", "\u4f60", "\uff0c", "\ufdfa", "\u0301", "\u200d", "\u201d", ")", "?!")
    assert_linear(lambda text: split_long(text, 64, pieces.lengths), tokens, count=20, ordinary=None)


HOSTILE_TERMS = {
    "alike": [f"a b{number}" for number in range(5_000)],
    "nested": [" ".join("a" * length) for length in range(1, 250)],
    "nested, never found": [" ".join(["a"] * length + ["b"]) for length in range(1, 250)],
    "with signs": ["a+" * length for length in range(1, 250)],
    "with signs inside": ["+" * length + "a" for length in range(1, 250)],
}
TERM_TOKENS = ("a", "a ", "b", "b1 ", " ", "+", "a+", "  ", "\n", "b", ".")


@pytest.mark.parametrize("kind", HOSTILE_TERMS)
def test_finding_terms_of_any_glossary(kind: str) -> None:
    terms = Terms(dict.fromkeys(HOSTILE_TERMS[kind], "x"))
    assert_linear(terms.find, TERM_TOKENS, ordinary="a 1. b 2, a, a+ b a - 1 a " * 5)
    assert_linear(lambda text: terms.find(text, [(at, at + 1) for at in range(0, len(text), 7)]), TERM_TOKENS, seed=1,
                  count=20, ordinary=None)  # fmt: skip


def test_a_glossary_is_read_in_linear_time() -> None:
    def read(text: str) -> None:
        words = text.split("\n")
        Terms({word: "x" for word in words if word.split()})

    assert_linear(read, ("a", "a ", "a\n", "b", "\n", "aa a\n", "+"), ordinary=None)


def test_terms_of_translations_and_their_placeholders() -> None:
    terms = Terms({"a": "b", "b b": "c"})
    assert_linear(
        lambda text: missing_terms(find_terms(text, terms), text), ("a ", "b ", "b b ", ".", "c"), ordinary=None
    )

    def carry(text: str) -> None:
        sentences = text[:1000].split(".")
        carried = PivotPlaceholders(terms, [text])
        for sentence in sentences:
            carried.fill_terms(sentence, text[:100])

    assert_linear(carry, ("a ", "b ", "b b ", ".", *hostile.PLACEHOLDERS), count=20, ordinary=None)


def test_prefixes(pieces: Pieces) -> None:
    planned = plan_sentence("A {a} {a} {b} {a} <b>b</b> https://a.org/b {abc} word", pieces)
    tokens = ("{a}", "{", "{abc}", "<b>", "https://a.org/b", "word ", "a", "}")
    assert_linear(lambda text: planned.with_prefix(text, pieces), tokens)


def test_flags_and_repetitions() -> None:
    tokens = (*hostile.NUMBERS, "a ", "b ", "ab", "a b c ", ".", " ", "\u00e9", "\u0130")
    loops = "ab" * 20 + " a b" * 9  # so that copies are counted in every text
    assert_linear(lambda text: find_flags(text[::2], text + loops), tokens)
    assert_linear(lambda text: is_repetitive(text[::2], text + loops), tokens, seed=1, count=20)
    assert_linear(most_copies, ("a", "b", "ab", "abc"), count=20, ordinary=None)


ORDINARY_HTML = (
    '<p class="first">The <b>train</b> to <a href="/hamburg">Hamburg</a> leaves in ten minutes.</p>\n<ul><li>We walk '
    'home &amp; nobody minds.</li></ul><img src="a.png" alt="A blue house"><h2>How much is it?</h2>\n'
)


ORDINARY_ATTRIBUTES = 'class="first" title="The train leaves in ten minutes" href="/hamburg" id="a-1" alt="A house" '


@pytest.mark.parametrize(("kind", "ignored"), [("html", ()), ("xml", ("k",))])
def test_markup(kind: Kind, ignored: tuple[str, ...]) -> None:
    """Read, and written with translations whose placeholders have another order."""

    def read(text: str) -> None:
        try:
            page = read_markup(text, kind, ignored, language="de")
        except (MalformedMarkup, TooManyPlaceholders):
            return
        page.write([text[::-1] for text in page.texts])

    assert_linear(
        read, hostile.TAGS, ordinary=ORDINARY_HTML if kind == "html" else ORDINARY_HTML.replace('e">', 'e"/>')
    )


@pytest.mark.parametrize("unit", [("<a>", "</a>"), ("<b>t", "</b>"), ("<a><b/>", "</a>t"), ("<a> <b>t</b>", "</a>")])
def test_nested_elements(unit: tuple[str, str]) -> None:
    """Random tags are hardly ever well-formed XML."""

    def read(text: str) -> None:
        depth = len(text) // 9
        document = f"<d>{unit[0] * depth}{unit[1] * depth}</d>"
        with contextlib.suppress(TooManyPlaceholders):
            read_markup(document, "xml")

    assert_linear(read, ("a",), count=0, most=1_000_000, ordinary=None)


def test_attributes() -> None:
    assert_linear(
        lambda text: extract_values(f"<p {text}>", "p", []), hostile.TAGS, seed=1, ordinary=ORDINARY_ATTRIBUTES
    )


def test_placeholders_in_any_order() -> None:
    def nest(text: str) -> None:
        numbers = iter(range(16_000))
        nested(
            split_at_placeholders(
                "".join(chr(ord(char) + 2 * next(numbers, 0)) if char > "\U000effff" else char for char in text)
            )
        )

    assert_linear(nest, (*hostile.PLACEHOLDERS[:6], "a"), ordinary=None)


def test_tags_of_a_sentence() -> None:
    """As many as there are characters, round the words that a model reads at once."""

    def place(text: str) -> None:
        try:
            parts = read_markup(f"A word and {text} others that follow").parts
        except TooManyPlaceholders:
            return
        for block in (part for part in parts if not isinstance(part, str)):
            source, tags = strip_tags(block.placeholder_text.text)
            if len(source) < 400:
                places = [(word.start, word.end) for word in words_of(source)]
                place_tags(tags, source, source, list(zip(places, reversed(places), strict=True)))

    assert_linear(place, ("<b>", "</b>", "<i>", "</i>", "<b></b>", "<i><a>", "</a></i>"), ordinary=None)


WORD_TOKENS = ("a ", "b ", "c ", "ab ", "a-b ", "d", "'", "e f g h i j k ", " ")


def test_matching_words() -> None:
    assert_linear(words_of, hostile.TEXT[::3], count=20, ordinary=None)
    assert_linear(lambda text: match_words(words_of(text), words_of(text[::-1])), WORD_TOKENS, count=8)
    assert_linear(lambda text: match_words(words_of(text), words_of(text.replace("a b", "x"))), WORD_TOKENS, seed=1,
                  count=8)  # fmt: skip
    different = [f"w{number} " for number in range(60)]
    assert_linear(lambda text: list(equal_elements(text.split(), sorted(text.split()))), different[::4], count=10,
                  ordinary=None)  # fmt: skip


def test_places_of_spans_and_pieces() -> None:
    def find_word_ids(text: str) -> None:
        word_ids(words_of(text), [(at, at + 2) for at in range(len(text))])

    assert_linear(find_word_ids, WORD_TOKENS, count=10, ordinary=None)
    assert_linear(lambda text: find_spans(text.split()[::2], text), WORD_TOKENS, count=10, ordinary=None)


def test_spelling_of_any_ids(pieces: Pieces) -> None:
    """Bytes that spell no character, too."""
    assert_linear(lambda text: pieces.decode_with_offsets([ord(char) % len(pieces) for char in text]),
                  tuple(map(chr, range(0, len(pieces), 9))), count=20, ordinary=None)  # fmt: skip


def test_languages() -> None:
    assert_linear(lambda text: identify(text, ["en", "de"]), hostile.TEXT, count=10)


@pytest.mark.parametrize("written", ["tbx", "tmx"])
def test_terms_of_glossaries(written: EntriesFormat) -> None:
    def read(text: str) -> None:
        try:
            read_entries(f"<{written}>{text}</{written}>", written, "en", "de")
        except MalformedEntries:
            return

    tokens = (
        "<tu>", "</tu>", '<tuv lang="en">', '<tuv lang="de">', "</tuv>", "<seg>", "</seg>", "<seg>a</seg>", "<ph>",
        "</ph>",
        "<termEntry>", "</termEntry>", '<langSet lang="en">', "</langSet>", "<term>", "</term>", "&amp;", "&a;", "a",
        "<!--",
        "-->", "<![CDATA[", "]]>", "<?a?>", " ",
    )  # fmt: skip
    assert_linear(read, tokens, count=20, ordinary=None)


@pytest.mark.parametrize("written", ["tsv", "csv"])
def test_entries_of_glossaries(written: EntriesFormat) -> None:
    def read(text: str) -> None:
        try:
            read_entries(text, written, "en", "de")
        except MalformedEntries:
            return

    tokens = ("a\tb\n", "a,b\n", "\t", ",", "\n", "a", '"', '""', ",en,de", "\r", " ", "\u2028")
    assert_linear(read, tokens, ordinary=None)

    def numbered(text: str) -> str:
        return "".join(f"{number}{line}\n" for number, line in enumerate(text.split("\n")))

    assert_linear(lambda text: read(numbered(text)), tokens, seed=1, ordinary=None)
