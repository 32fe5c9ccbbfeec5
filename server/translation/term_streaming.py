"""A stream of translations with a glossary, or in a form of address. A sentence may be translated a second time, with
masks in place of its terms (`server.translation.glossary`) or without words of the other form
(`server.translation.formality`): it is returned whole, when it is final."""

import dataclasses
from collections.abc import AsyncIterator, Mapping

from server.runtime.offload import offload_above
from server.text.protect.terms import Terms
from server.translation.assembly import TranslationOutcome
from server.translation.glossary import SentenceDraft, enforce_terms, finish_drafts, wide
from server.translation.planning import PlannedRequest, TextRequest
from server.translation.streaming import Beginning, TranslationStream
from server.translation.trace_stages import record_stages
from server.translation.translator import Translator


class TermStream(TranslationStream):
    """As TranslationStream, without beginnings of sentences that are not done."""

    def __init__(self, translator: Translator, planned: PlannedRequest, request: TextRequest, terms: Terms) -> None:
        super().__init__(translator, planned)
        self._request, self._terms = request, terms
        self._drafts: dict[int, SentenceDraft] = {}

    @classmethod
    async def begin_with_terms(cls, translator: Translator, request: TextRequest, terms: Terms) -> "TermStream":
        """Queue all sentences or none. Raises what Translator.translate raises before it waits."""
        request = dataclasses.replace(request, lowers_emphasis=False)
        whole_beam = dataclasses.replace(request, options=wide(request.options))
        stream = cls(translator, await translator.prepare(whole_beam), request, terms)
        await stream.queue()
        return stream

    async def updates(self) -> AsyncIterator[Beginning | TranslationOutcome | None]:
        """Sentences as they are done, and at the end the outcome; None after QUIET_SECONDS without an update. Raises
        what translate_with_terms raises."""
        numbers = range(len(self._planned.sentences))
        sources = [source for plan in self._planned.plans for source in plan.sentences]
        while len(self._drafts) < len(numbers):
            updates = await self._progress.read(self._planned.request.options.deadline)
            if not updates:
                yield None
                continue
            done = sorted(updates)
            requests = [self._planned.sentences[index] for index in done]
            results = [request.future.result() for request in requests]
            results = await self._translator.as_addressed(requests, results, self._request.options.deadline)
            drafts = {
                index: SentenceDraft(sources[index], self._sentence(index), request, result)
                for index, request, result in zip(done, requests, results, strict=True)
            }
            await enforce_terms(self._translator, list(drafts.values()), self._request.options, self._terms)
            self._drafts |= drafts
            num_chars = sum(len(draft.source) for draft in drafts.values())
            for index, target in (await offload_above(num_chars, self._shown, drafts)).items():
                yield Beginning(*self._places[index], target, True)
        record_stages(self._planned.sentences, self._results())
        drafts_in_order = [self._drafts[number] for number in numbers]
        yield await finish_drafts(self._translator, self._planned, self._request, drafts_in_order)

    def _shown(self, drafts: Mapping[int, SentenceDraft]) -> dict[int, str]:
        pieces = self._translator.target_pieces
        return {
            index: draft.planned.restore(draft.result.hypotheses[0].ids, pieces).text for index, draft in drafts.items()
        }
