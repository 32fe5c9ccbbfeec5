"""`ringmt make-context-data`."""

import argparse
from pathlib import Path

from model.config import ConfigError
from model.data.corpus import read_corpus
from model.data.documents import MADE
from model.data.items import read_items
from model.synthetic.context.genders import read_lexicon
from model.synthetic.context.make import UNRELATED, DocumentGenerator, ambiguous_sentences, made_documents
from model.synthetic.context.material import find_material
from model.synthetic.context.write import write_documents, write_items

DEV_SHARE = 0.02
"""Sizes for dev, as a share of those for training."""


class MakeContextDataCommand:
    """Documents in which context decides, from parallel text."""

    help = "make documents whose pronouns and professions need the sentence before, from parallel text"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", required=True, type=Path, help="folder with NAME.en.gz and NAME.de.gz")
        parser.add_argument("--corpora", required=True, nargs="+", metavar="NAME", help="which of them to use")
        parser.add_argument("--out", required=True, type=Path, help="folder for the corpora context-KIND and for dev/")
        parser.add_argument(
            "--lexicon", type=Path, help="genders of nouns: NOUN, tab, m, f or n, tab, translations (default: the text)"
        )
        parser.add_argument("--terms", metavar="NAME", help="a corpus of dictionary entries below the data folder")
        parser.add_argument(
            "--exclude",
            type=Path,
            nargs="*",
            default=[],
            metavar="SET",
            help="contrastive sets whose sentences not to use",
        )
        parser.add_argument("--size", type=float, default=1.0, help="share of the usual number of documents")
        parser.add_argument("--seed", type=int, default=1)

    def run(self, args: argparse.Namespace) -> int:
        pairs = [pair for name in args.corpora for pair in read_corpus(args.data, name, "en", "de")]
        lexicon = read_lexicon(args.lexicon) if args.lexicon else {}
        excluded = frozenset(
            sentence
            for path in args.exclude
            for item in read_items(path)
            for sentence in (item.source, *item.source_context)
        )
        terms = read_corpus(args.data, args.terms, "en", "de") if args.terms else []
        training, dev = find_material(pairs, lexicon, excluded, terms)
        if not training.things:
            raise ConfigError(
                "the text has no noun whose gender and translation are sure: give more text or a --lexicon"
            )
        (args.out / "dev").mkdir(parents=True, exist_ok=True)
        made = made_documents(training, args.seed, args.size)
        for kind, documents in made.items():
            sentences = [document.sentences for document in documents]
            write_documents(sentences, args.out, MADE + kind, ("en", "de"))
            print(f"{MADE}{kind}: {len(documents):,} documents")
        unrelated = list(DocumentGenerator(training, f"{args.seed}/unrelated").unrelated())[
            : round(UNRELATED * args.size)
        ]
        write_documents(unrelated, args.out, f"{MADE}unrelated", ("en", "de"))
        items = made_documents(dev, args.seed, args.size * DEV_SHARE, without=ambiguous_sentences(made))
        write_items(items, args.out / "dev" / f"{MADE}items.jsonl.gz", args.seed)
        print(f"{MADE}unrelated: {len(unrelated):,} documents; dev/{MADE}items: {sum(map(len, items.values())):,}")
        return 0


make_context_data_command = MakeContextDataCommand()
