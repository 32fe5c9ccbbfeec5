"""Quality of an artifact: BLEU and chrF of test sets translated by the server's own engine (sacreBLEU), and the
log-likelihood of the references."""

import random
from dataclasses import dataclass
from pathlib import Path

import sacrebleu

from export.artifact_text import ArtifactText
from model.data.corpus import read_corpus
from model.synthetic.everyday.typed import with_typo
from server.artifact.artifact import Artifact
from server.backends.base import Backend, CannotScore
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, log_probabilities, translate_now


@dataclass(frozen=True)
class Score:
    """BLEU and chrF with their sacreBLEU signatures, and the brevity penalty (1 where the output is long enough)."""

    name: str
    sentences: int
    nll: float | None
    """Negative log-likelihood of the references, nats per token, EOS included; None for graphs without
    probabilities."""
    bleu: float
    chrf: float
    brevity_penalty: float
    bleu_signature: str
    chrf_signature: str


def translate(artifact: Artifact, sources: list[str], backend: Backend, options: SearchOptions) -> list[str]:
    """Translate sentences as they are, without splitting them. Sources beyond the model's length are cut."""
    text = ArtifactText(artifact.folder, artifact.manifest)
    results = translate_now(backend, [Source(ids) for ids in text.readable_sources(sources)], options)
    return text.decode([result.hypotheses[0].ids for result in results])


def reference_nll(artifact: Artifact, sources: list[str], references: list[str], backend: Backend) -> float | None:
    """Negative log-likelihood of the references in nats per token, over all words that can be decoded, also where
    searches use a shortlist. Pairs with a side beyond the model's length are left out."""
    manifest = artifact.manifest
    text = ArtifactText(artifact.folder, manifest)
    pairs = [
        (source, target)
        for source, target in zip(text.sources(sources), text.targets(references), strict=True)
        if len(source) <= manifest.max_source_length and len(target) <= manifest.max_target_length
    ]
    try:
        scored = log_probabilities(backend, pairs)
    except CannotScore:
        return None
    return -sum(map(sum, scored)) / sum(map(len, scored))


def score(name: str, hypotheses: list[str], references: list[str], nll: float | None = None) -> Score:
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    bleu_score = bleu.corpus_score(hypotheses, [references])
    chrf_score = chrf.corpus_score(hypotheses, [references])
    return Score(
        name=name,
        sentences=len(hypotheses),
        nll=None if nll is None else round(nll, 4),
        bleu=round(bleu_score.score, 2),
        chrf=round(chrf_score.score, 2),
        brevity_penalty=round(bleu_score.bp, 3),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


def evaluate(
    artifact: Artifact, data: Path, sets: list[str], backend: Backend, options: SearchOptions, slips: bool = False
) -> list[Score]:
    """Score every set (a corpus name below `data`) as `backend` translates it, with `slips` with one typing error
    in every source that has a long word. Raises CorpusError for a set that is not there."""
    manifest = artifact.manifest
    scores = []
    for name in sets:
        pairs = read_corpus(data, name, *manifest.first_pair)
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        if slips:
            sources = [with_typo(source, random.Random(f"{name}/{number}")) for number, source in enumerate(sources)]
        hypotheses = translate(artifact, sources, backend, options)
        scores.append(score(name, hypotheses, references, reference_nll(artifact, sources, references, backend)))
    return scores
