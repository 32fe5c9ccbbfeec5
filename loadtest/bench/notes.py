"""What the figures of each bench mean, printed below them."""

NOTE = (
    "Random weights, source and target 24 pieces unless named, the encoder included; medians of alternating rounds. "
    "CTranslate2 computes full attention; ours is shown with N=8 and with full attention, shapes that others train "
    "with full attention only. Compare ratios within one run; single figures depend on the machine."
)

DOCUMENTS_NOTE = (
    "ours: with context, peer: the same service, sentences and weights without; int8, beam 4, no HTTP; medians of "
    "alternating rounds, processor time of all threads of the process. A look is the attention of one sentence to its "
    "document."
)

SIZES_NOTES = {
    "long-document": "ours: the last tenth of the document, peer: the first; default settings, no HTTP.",
    "stores": "ours: with the most stored documents, peer: with the fewest; rounds alternate. Half of the documents "
    "are done, a quarter waits for a served model, a quarter for another. SQLite's p99 has the writing of its log.",
    "listeners": "ours: the most listeners, peer: the fewest; from a change until each has its event, no HTTP.",
}

PROCESSES_NOTE = (
    "ours: several processes, peer: the same server with one, both with the default settings; one model at int8, beam "
    "4, sentences of 5 to 60 pieces. Clients are closed loops and share the cores; medians of alternating rounds."
)

SCALING_NOTE = (
    "Upper bounds from what a request of one sentence (5 to 60 pieces, beam 4, int8) takes on one core: ours several "
    "processes, as many as --processes auto makes, peer one with a decoding thread for each core. In brackets is the "
    "resource that ends it. Two rows compare bounds with measurements, medians of turns. Cores of the same speed, 8 "
    "clients a core; memory is no bound in the table, see the row of what an engine reads if no cache keeps weights."
)

DEVICE_NOTE = (
    "Random weights, N=8, source and target 24 pieces, the encoder included, one engine in this thread; medians of "
    "alternating rounds. transformers computes full attention, from one batch of equal lengths."
)

LIMIT_NOTE = (
    "Random weights, N=8, with a shortlist, source and target 24 pieces; one engine in one thread. Ours: a call of the "
    "encoder, or a step with all slots taken, with its Python; peer: the matrix products of that graph back to back, "
    "in the same shapes. Medians of alternating rounds. The parts are those of one profiled round, which takes longer. "
    "The encoder takes 256 tokens at a time, and is left out where its calls have different numbers of sentences."
)

FXTRANSLATE_ENGINE_NOTE = (
    "A random model in Firefox's files, imported on our side; source 24 pieces, target 52, where fxtranslate's limit "
    "ends it, the encoder included; medians of alternating rounds. fxtranslate computes a sentence at a time, in a "
    "process per core."
)

FXTRANSLATE_NOTE = (
    "A random model in Firefox's files, at int8, beam 1 and with its shortlist on both sides: RingMT's server with the "
    "imported model, and fxtranslate behind FastAPI with a process per core. Sentences of 5 to 60 pieces; a "
    "translation has twice its sentence's pieces and four, which is fxtranslate's limit. Clients are closed loops and "
    "share the cores; medians of alternating rounds."
)

LOAD_NOTE = (
    "A request has 1 to 8 sentences, each a text by itself (beside LibreTranslate all one text); arrivals are Poisson, "
    "the same for both servers, which take turns. Medians over the rounds. Both at int8, beam 4; the peer batches a "
    "request's sentences, and LibreTranslate splits them by a rule. Clients share the cores."
)

ARRIVALS_NOTE = (
    "A request has 1 to 8 sentences, cut into pieces beforehand; arrivals are Poisson, the same for both, which take "
    "turns in one process. Ours: the engines of the server; peer: CTranslate2, in batches of 32 tokens, as many "
    "workers. Medians over the rounds, processor times over all of them. Both at int8, beam 4, without HTTP."
)

NOTES = {
    "arrivals": ARRIVALS_NOTE,
    "documents": DOCUMENTS_NOTE,
    "load": LOAD_NOTE,
    "processes": PROCESSES_NOTE,
    "scaling": SCALING_NOTE,
    "device": DEVICE_NOTE,
    "limit": LIMIT_NOTE,
    "http fxtranslate": FXTRANSLATE_NOTE,
    "engine fxtranslate": FXTRANSLATE_ENGINE_NOTE,
    **SIZES_NOTES,
}
"""By what is measured, with the peer where it has a note of its own; the others have NOTE."""


def note_of(what: str, peer: str | None) -> str:
    """The note of a bench, beside `peer` where it has one of its own."""
    return NOTES.get(f"{what} {peer}", NOTES.get(what, NOTE))
