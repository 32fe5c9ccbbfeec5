"""`ringmt make-everyday-data`.

No source of the files `held-out*.tsv` is in this text, but their words and near duplicates are: they measure how well a
model recalls a phrase book."""

import argparse
from collections.abc import Iterable
from pathlib import Path

from model.config import ConfigError
from model.data.corpus import read_corpus
from model.data.word_sets import read_word_set
from model.synthetic.context.write import write_documents
from model.synthetic.everyday.interfaces import interface_phrases, read_words
from model.synthetic.everyday.letters import salutations
from model.synthetic.everyday.nationalities import nationalities_in_sentences, read_nationalities
from model.synthetic.everyday.phrases import from_english, from_german, read_phrases
from model.synthetic.everyday.places import places_in_sentences, read_places
from model.synthetic.everyday.quantities import quantities
from model.synthetic.everyday.spoken import spoken
from model.synthetic.everyday.things import read_sentences, read_things, things_in_sentences
from model.synthetic.everyday.typed import typed
from model.synthetic.everyday.verbs import read_verbs, verb_sentences
from model.synthetic.words.command import WORD_SET, normalized_source

HERE = Path(__file__).parent
VERB_USES = 3
"""Things for each verb and frame."""


class MakeEverydayDataCommand:
    """Text of what people write every day, and parallel corpora seldom have: by hand and by rule."""

    help = "write what people say every day, in English and German: phrases, letters, things, places, times, numbers"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--out", required=True, type=Path, help="folder for the corpora everyday-*")
        parser.add_argument("--source", choices=("en", "de"), default="en", help="what is translated (default en)")
        parser.add_argument("--phrases", type=Path, default=HERE / "phrases.tsv", help="default: the own ones")
        parser.add_argument("--places", type=Path, default=HERE / "places.tsv", help="default: the own ones")
        parser.add_argument(
            "--nationalities", type=Path, default=HERE / "nationalities.tsv", help="default: the own ones"
        )
        parser.add_argument("--things", type=Path, default=HERE / "things.tsv", help="default: the own ones")
        parser.add_argument(
            "--sentences", type=Path, default=HERE / "sentences.tsv", help="of things; default: the own"
        )
        parser.add_argument("--verbs", type=Path, default=HERE / "verbs.tsv", help="of things; default: the own ones")
        parser.add_argument("--interface", type=Path, default=HERE / "interface.tsv", help="default: the own words")
        parser.add_argument(
            "--amount", type=int, default=400, help="sentences of each kind of what is drawn at random (default 400)"
        )
        parser.add_argument(
            "--exclude",
            type=Path,
            nargs="+",
            default=(WORD_SET, *sorted(HERE.glob("held-out*.tsv"))),
            help="word sets whose sources are left out, English and German ones (default: the own ones)",
        )
        parser.add_argument("--data", type=Path, help="folder with NAME.en.gz and NAME.de.gz, for everyday-typed")
        parser.add_argument(
            "--corpora", nargs="+", default=(), metavar="NAME", help="of whose sentences some are as people type them"
        )
        parser.add_argument("--seed", type=int, default=1)

    def run(self, args: argparse.Namespace) -> int:
        if args.corpora and args.data is None:
            raise ConfigError("--corpora names files of a folder: give it as --data")
        phrases, to_german = read_phrases(args.phrases), args.source == "en"
        things = read_things(args.things)
        made: dict[str, Iterable[tuple[str, str]]] = {
            "everyday-phrases": from_english(phrases) if to_german else _turned(from_german(phrases)),
            "everyday-letters": salutations(),
            "everyday-places": places_in_sentences(read_places(args.places)),
            "everyday-nationalities": nationalities_in_sentences(read_nationalities(args.nationalities)),
            "everyday-things": things_in_sentences(things, read_sentences(args.sentences)),
            "everyday-verbs": verb_sentences(read_verbs(args.verbs), things, VERB_USES, args.seed),
            "everyday-quantities": quantities(args.amount, args.seed),
            "everyday-spoken": spoken(2 * args.amount, args.seed),
            "everyday-interfaces": interface_phrases(*read_words(args.interface), args.amount, args.seed),
        }
        if args.corpora:
            languages = ("en", "de") if to_german else ("de", "en")
            read = [pair for name in args.corpora for pair in read_corpus(args.data, name, *languages)]
            as_typed = typed(read, args.source, 20 * args.amount, args.seed)
            made["everyday-typed"] = as_typed if to_german else _turned(as_typed)
        tested = {normalized_source(item.source) for path in args.exclude for item in read_word_set(path)}
        args.out.mkdir(parents=True, exist_ok=True)
        for name, sentences in made.items():
            pairs = dict.fromkeys(sentences) if to_german else _one_english_side(sentences)
            kept = [pair for pair in pairs if tested.isdisjoint(map(normalized_source, pair))]
            write_documents([kept], args.out, name, ("en", "de"))
            print(f"{name}: {len(kept):,} pairs")
        return 0


def _turned(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return ((target, source) for source, target in pairs)


def _one_english_side(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """One English side for each German side, the first."""
    first: dict[str, str] = {}
    for english, german in pairs:
        first.setdefault(german, english)
    return [(english, german) for german, english in first.items()]


make_everyday_data_command = MakeEverydayDataCommand()
