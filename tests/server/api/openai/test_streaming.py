"""A text that is only ever added to, whatever the order in which its sentences are translated."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.openai.content import content_of
from server.api.openai.streaming import GrowingText
from server.translation.streaming import Beginning
from tests.server.api.conftest import RunningServer

SENTENCES = ["Where is the station?", "Go to https://example.org/a now.", "Yes @@PH1@@, no.", "12", "She sells bread."]
MESSAGES = st.lists(st.sampled_from([*SENTENCES, "%%", "==WEBLATE_PART==", ""]), max_size=6).map("\n".join)


@settings(max_examples=60, deadline=None)
@given(message=MESSAGES, seed=st.integers(0, 1000))
def test_what_was_sent_never_changes(server: RunningServer, message: str, seed: int) -> None:
    """Beginnings of sentences with something protected may change until their end, others get longer."""
    chance, content = random.Random(seed), content_of(message)
    [translator] = server.state.translators.values()
    plans = [translator.plan(text) for text in content.texts]
    growing = GrowingText(content, plans)
    targets = {
        (number, place): f"<{source}>"
        for number, plan in enumerate(plans)
        for place, source in enumerate(plan.sentences)
    }
    events = []
    for (text, place), target in targets.items():
        is_protected = bool(plans[text].planned[place].masked.spans)
        first = "?" * 50 if is_protected else target[: len(target) // 2]
        events.append([Beginning(text, place, first, False), Beginning(text, place, target, True)])
    sent = ""
    while events:
        of_sentence = chance.choice(events)
        sent += growing.add(of_sentence.pop(0))
        events = [remaining for remaining in events if remaining]
    sent += growing.rest()
    of_texts = [
        plan.fill([targets[number, place] for place in range(len(plan.planned))]) for number, plan in enumerate(plans)
    ]
    assert sent == content.write(of_texts)


def test_a_beginning_is_sent_at_once(server: RunningServer) -> None:
    content = content_of(SENTENCES[0])
    [translator] = server.state.translators.values()
    growing = GrowingText(content, [translator.plan(text) for text in content.texts])
    assert growing.add(Beginning(0, 0, "Wo", False)) == "Wo"
    assert growing.add(Beginning(0, 0, "Wo ist", False)) == " ist"
    assert growing.add(Beginning(0, 0, "Wo ist er?", True)) == " er?"
    assert growing.rest() == ""
