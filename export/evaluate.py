"""Quality of an artifact: test sets translated by the server's own engine, scored by sacreBLEU."""

from dataclasses import dataclass
from pathlib import Path

import sacrebleu

from model.config import EOS_ID
from model.data.corpus import read_corpus
from model.data.vocabulary import Vocabulary
from server.artifact import Artifact
from server.backends.base import Backend
from server.engine.golden import Source, search
from server.engine.request import SearchOptions


@dataclass(frozen=True)
class Score:
    """BLEU and chrF with their sacreBLEU signatures, and the brevity penalty (1 where the output is long enough)."""

    name: str
    sentences: int
    bleu: float
    chrf: float
    brevity_penalty: float
    bleu_signature: str
    chrf_signature: str


def translate(artifact: Artifact, sources: list[str], backend: Backend, options: SearchOptions) -> list[str]:
    """Sentences, one by one as they are: no splitting into smaller ones. Sources beyond the model's length are cut."""
    vocabulary = Vocabulary(artifact.path(artifact.manifest.vocabulary_file))
    longest = artifact.manifest.max_source_length - 1
    ids = [Source((*source[:longest], EOS_ID)) for source in vocabulary.encode(sources)]
    results = search(backend, ids, options)
    return vocabulary.decode([list(result.hypotheses[0].ids) for result in results])


def score(name: str, hypotheses: list[str], references: list[str]) -> Score:
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    bleu_score = bleu.corpus_score(hypotheses, [references])
    chrf_score = chrf.corpus_score(hypotheses, [references])
    return Score(
        name=name,
        sentences=len(hypotheses),
        bleu=round(bleu_score.score, 2),
        chrf=round(chrf_score.score, 2),
        brevity_penalty=round(bleu_score.bp, 3),
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


def evaluate(artifact: Artifact, data: Path, sets: list[str], backend: Backend, options: SearchOptions) -> list[Score]:
    """Score every set (a corpus name below `data`) as `backend` translates it. Raises CorpusError for one that is not
    there."""
    manifest = artifact.manifest
    scores = []
    for name in sets:
        pairs = read_corpus(data, name, manifest.source_language, manifest.target_language)
        hypotheses = translate(artifact, [pair.source for pair in pairs], backend, options)
        scores.append(score(name, hypotheses, [pair.target for pair in pairs]))
    return scores
