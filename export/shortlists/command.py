"""`ringmt shortlist`."""

import argparse
from pathlib import Path

from tqdm import tqdm

from export.artifact_writer import default_shortlist
from export.commands import lines, shortlist_sizes
from export.shortlists.artifact import add_shortlist
from export.shortlists.learn import MIN_CONFIDENCE, MIN_CONFIDENCE_RARE, learn, pairs_of, plan_of
from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, Manifest
from server.backends.load import load_backend

MAX_TARGETS = 8
"""Most target languages that share a list."""


class ShortlistCommand:
    """Adds a shortlist to an artifact."""

    help = (
        "let an artifact translate text of its source language, learn from it which words it needs, and give it a "
        "shortlist of these: steps score some thousand words, not all"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("artifact", type=Path, help="artifact folder, imported or exported")
        parser.add_argument(
            "--text",
            type=Path,
            required=True,
            help="sentences of the source language, one a line, like those that will be translated; 20,000 or more",
        )
        parser.add_argument(
            "--source", help="for a model of many languages: that of the text (default: the model's first)"
        )
        parser.add_argument("--out", type=Path, help="artifact folder; replaced if it exists (default: ARTIFACT)")
        parser.add_argument(
            "--sizes", default="auto", help="frequent and extra words, like 2560+192 (default: by the vocabulary)"
        )
        parser.add_argument(
            "--min-confidence",
            default=f"{MIN_CONFIDENCE:g},{MIN_CONFIDENCE_RARE:g}",
            help="a step scores all words where the best listed word has a smaller probability: in sentences whose "
            "pieces the text has, and in others; 0 never, 1 always (default %(default)s)",
        )

    def run(self, args: argparse.Namespace) -> int:
        least = confidences(args.min_confidence)
        artifact = Artifact.load(args.artifact)
        manifest = artifact.manifest
        if args.source is not None and manifest.languages is None:
            raise ValueError(f"--source is for models of many languages; '{manifest.name}' has one pair")
        pairs = len(pairs_of(manifest, args.source))
        if pairs > MAX_TARGETS:
            raise ValueError(
                f"'{manifest.name}' translates into {pairs} languages, and one list for more than {MAX_TARGETS} saves "
                "little time: import it with fewer --languages"
            )
        sizes = sizes_of(args.sizes, manifest.vocabulary_size, pairs)
        text = lines(args.text)
        if not text:
            raise ValueError(f"{args.text} has no sentences")
        backend = load_backend(artifact, *fastest(manifest), "off")
        with tqdm(total=pairs * len(text), unit=" sentences", disable=None) as progress:
            counts = learn(artifact, backend, text, args.source, least[1] < 1, progress.update)
        plan = plan_of(artifact, counts, sizes, least)
        out = args.out or args.artifact
        for kind, difference in add_shortlist(artifact, plan, out).items():
            print(f"{kind:16} largest difference among the same words: {difference:.2g} nats")
        for graph in Artifact.load(out).manifest.graphs:
            if not graph.step_shortlist:
                print(f"{graph.format} {graph.precision} has no shortlist: {EXPORT_AGAIN}")
        print(
            f"{out}: a shortlist of {len(plan.frequent):,} frequent and {plan.num_extra:,} extra words, learnt from "
            f"{len(text):,} sentences"
        )
        return 0


def fastest(manifest: Manifest) -> tuple[str, str]:
    """The format and precision of the graphs that translate most text in a time on a CPU."""
    kinds = [(graph.format, graph.precision) for graph in manifest.graphs]
    return min(kinds, key=lambda kind: (kind[0] != "onnx", kind[1] != "int8"))


def confidences(text: str) -> tuple[float, float]:
    """ "0.4,1" -> (0.4, 1.0). Raises ValueError."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low = high = -1
    if not (0 <= low <= 1 and 0 <= high <= 1):
        raise ValueError(f"--min-confidence is two probabilities, like 0.4,1, not '{text}'")
    return low, high


def sizes_of(text: str, vocabulary: int, targets: int) -> tuple[int, int]:
    """The default is for each of `targets` languages that share a list. Raises ValueError for vocabularies that are
    too small for a shortlist, and for sizes that are none."""
    sizes = shortlist_sizes(text)
    if sizes is None:
        raise ValueError("a shortlist has a size: --sizes 2560+192, or auto")
    if not isinstance(sizes, str):
        return sizes
    frequent, extra = default_shortlist(vocabulary)
    default = (targets * frequent, targets * extra)
    if vocabulary < 2 * sum(default):
        raise ValueError(
            f"a shortlist of {default[0]}+{default[1]} of {vocabulary:,} words saves no time; --sizes names others"
        )
    return default


shortlist_command = ShortlistCommand()
