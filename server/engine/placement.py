"""Which engine takes the sentences of short requests, where there is no other work."""

MIN_PART_TOKENS = 24
"""Source tokens for which one more engine is worth its steps: two engines make nearly twice as many steps as one, and
each step of a few sentences costs about as much as of one."""


def sentences_to_take(waiting: int, tokens: int, own: int, in_flight: int, engines: int, idle: int) -> int:
    """How many of the `waiting` sentences, which have `tokens` source tokens, one of `engines` takes now. `own`: its
    sentences that are not finished; `in_flight`: those of all engines; `idle`: other engines that sleep.

    Sentences stay together: the engine with the least to do takes all of them, so that only its own sentences wait for
    them. Idle engines divide them in parts of MIN_PART_TOKENS at least. While some engine is idle, or has less to do,
    this one takes none; of busy engines one has no more than the average, so that sentences never wait for nothing.
    """
    if own:
        return 0 if idle or own * engines > in_flight else waiting
    free = idle + 1 if in_flight else engines
    parts = max(1, min(free, tokens // MIN_PART_TOKENS))
    return -(-waiting // parts)
