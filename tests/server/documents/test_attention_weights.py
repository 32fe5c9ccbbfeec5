"""The attention of a sentence of several parts: the slow reference asks the engine for every part and takes the mean in
loops."""

import asyncio
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from server.backends.context import full_context
from server.documents.attention_weights import Explanation
from server.documents.drafts import words_of
from server.documents.service import NewDocument
from server.stores.records import Document, Mode, Sentence
from server.telemetry.metrics import Metrics
from server.translation.translator import RequestedOptions, Translator
from tests.server.api.conftest import settings_for
from tests.server.documents.test_store_calls import serving, until

TEXTS = ["The rain stops.", "we walk home in the cold rain, " * 9 + "and she sings.", "Yes.", "the old man " * 20]


def mean_over_parts(
    translator: Translator, document: Document, sentences: list[Sentence], index: int, explanation: Explanation
) -> None:
    """Compare with the attention of every part, weighted by its words and EOS."""
    seen = [
        sentence
        for sentence in sentences
        if (sentence.index < index if document.mode == "online" else sentence.index != index)
    ]
    parts, owners = (
        [part for sentence in seen for part in sentence.parts],
        [sentence.index for sentence in seen for _ in sentence.parts],
    )
    worker, context = translator.worker, translator.worker.context
    assert context is not None
    with_translation = translator.needs_drafts
    states = [
        worker.side_tasks.compute_states(part.source_ids, words_of(part) if with_translation else ()).result(timeout=60)
        for part in parts
    ]
    visible = full_context(states, [len(words_of(part)) for part in parts])
    assert visible is not None
    expected: defaultdict[int, np.ndarray] = defaultdict(lambda: np.zeros(0))
    gate = total = 0.0
    for part in sentences[index].parts:
        words = (part.target_ids or ()) if with_translation else part.source_ids[:-1]
        use = worker.side_tasks.explain(part.source_ids, visible, words).result(timeout=60)
        length = len(words) + 1
        total += length
        gate += length * use.gate
        for place, owner in enumerate(owners):
            here = length * use.weights[:, place].astype(np.float64)
            expected[owner] = expected[owner] + here if owner in expected else here
    assert explanation.gate == pytest.approx(gate / total, abs=1e-3)
    assert explanation.seen.keys() == {owner for owner, by_head in expected.items() if by_head.any()}
    for owner, weights_of_seen in explanation.seen.items():
        assert weights_of_seen.heads == pytest.approx((expected[owner] / total).tolist(), abs=1e-3)
        if weights_of_seen.words:
            [parts_of_owner] = [sentence.parts for sentence in sentences if sentence.index == owner]
            assert len(weights_of_seen.words) == sum(len(words_of(part)) for part in parts_of_owner)
            by_head = np.sum([weights for _, weights in weights_of_seen.words], axis=0)
            assert by_head.tolist() == pytest.approx(weights_of_seen.heads, abs=1e-3)


@pytest.mark.parametrize("mode", ["offline", "online"])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_sentence_of_several_parts_attends_as_the_mean_of_its_parts(
    document_artifacts: dict[str, Path], side: str, mode: Mode
) -> None:
    artifact = document_artifacts[side]
    translator = Translator.load(artifact, settings_for(artifact).engine, Metrics())

    async def scenario() -> None:
        async with serving({translator.name: translator}) as (documents, _):
            options = RequestedOptions(beam_size=1, length_penalty=None, max_length=20)
            document, _ = await documents.create(NewDocument(translator, mode, TEXTS, options))
            document, sentences = await documents.wait(document.id, until())
            assert [len(sentence.parts) > 1 for sentence in sentences] == [False, True, False, True]
            lengths = {len(part.source_ids) for part in sentences[1].parts}
            assert len(lengths) > 1, "parts of one length would hide how they are weighted"
            for index in (1, 3):
                _, explanation = await documents.explain(document.id, index)
                assert explanation is not None
                await asyncio.to_thread(mean_over_parts, translator, document, sentences, index, explanation)

    try:
        asyncio.run(scenario())
    finally:
        translator.stop(0)
