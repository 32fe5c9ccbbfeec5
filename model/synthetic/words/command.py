"""`ringmt make-word-data`."""

import argparse
from pathlib import Path

from model.config import ConfigError
from model.data.corpus import read_corpus
from model.data.word_sets import read_word_set
from model.synthetic.context.dictionary import used_nouns
from model.synthetic.context.genders import known_genders, read_lexicon
from model.synthetic.context.nouns import things_in_text
from model.synthetic.context.write import write_documents
from model.synthetic.words.adjectives import adjective_frames, adjectives_in_sentences, used_adjectives
from model.synthetic.words.nouns import noun_frames, nouns_in_sentences
from model.synthetic.words.phrases import phrases
from model.synthetic.words.terms import used_terms
from model.synthetic.words.verbs import objects_of_verbs, used_verbs, verb_frames, verbs_in_sentences

PHRASE_NOUNS = 4000
"""The number of nouns in phrases, the most frequent."""
WORD_SET = Path(__file__).parent / "en-de.tsv"


class MakeWordDataCommand:
    """Text that teaches single words."""

    help = "put the words of a dictionary into real sentences, and choose the dictionary's entries that people use"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", required=True, type=Path, help="folder with NAME.en.gz and NAME.de.gz")
        parser.add_argument("--corpora", required=True, nargs="+", metavar="NAME", help="where sentences come from")
        parser.add_argument(
            "--lexicon", required=True, type=Path, help="a line each: German noun, tab, m, f or n, tab, translations"
        )
        parser.add_argument(
            "--terms",
            metavar="NAME",
            help="a corpus of dictionary entries below the data folder: adjectives, verbs, phrases",
        )
        parser.add_argument("--out", required=True, type=Path, help="folder for the corpora words-*")
        parser.add_argument("--sentences", type=int, default=10, help="sentences for each word (default 10)")
        parser.add_argument("--nouns", type=int, default=12000, help="so many nouns, the most frequent (default 12000)")
        parser.add_argument(
            "--exclude",
            type=Path,
            default=WORD_SET,
            help="a word set whose sources are left out (default: the own one)",
        )
        parser.add_argument("--seed", type=int, default=1)

    def run(self, args: argparse.Namespace) -> int:
        pairs = [pair for name in args.corpora for pair in read_corpus(args.data, name, "en", "de")]
        terms = read_corpus(args.data, args.terms, "en", "de") if args.terms else []
        lexicon = read_lexicon(args.lexicon)
        genders = known_genders((pair.target for pair in pairs), lexicon)
        entries = used_nouns(pairs, lexicon, terms, genders, things_in_text(pairs, genders, lexicon))
        nouns = [entry.noun for entry in entries[: args.nouns]]
        frames = noun_frames(pairs, nouns)
        if not frames:
            raise ConfigError("no sentence has one of the dictionary's nouns behind a determiner: give more text")
        made = {"words-nouns": list(nouns_in_sentences(frames, nouns, args.sentences, args.seed))}
        if args.terms:
            adjectives, verbs = used_adjectives(pairs, terms), used_verbs(pairs, terms)
            takes, english_nouns = objects_of_verbs(pairs, terms, verbs), {entry.source for entry in entries}
            amount = (args.sentences, args.seed)
            made["words-adjectives"] = list(
                adjectives_in_sentences(adjective_frames(pairs, adjectives), adjectives, *amount)
            )
            made["words-verbs"] = list(
                verbs_in_sentences(verb_frames(pairs, verbs), verbs, takes, english_nouns, *amount)
            )
            with_object = [verb for verb in verbs if takes.get(verb.source) == "object"]
            made["words-phrases"] = list(phrases(nouns[:PHRASE_NOUNS], adjectives, with_object, args.seed))
            made["words-terms"] = list(used_terms(terms, pairs))
        tested = {normalized_source(item.source) for item in read_word_set(args.exclude)}
        args.out.mkdir(parents=True, exist_ok=True)
        for name, sentences in made.items():
            kept = [both for both in sentences if normalized_source(both[0]) not in tested]
            write_documents([kept], args.out, name, ("en", "de"))
            print(f"{name}: {len(kept):,} pairs")
        return 0


def normalized_source(source: str) -> str:
    """The source of a word set in the form of other text: "to borrow" is "borrow"."""
    return source.lower().removeprefix("to ").rstrip(".!?")


make_word_data_command = MakeWordDataCommand()
