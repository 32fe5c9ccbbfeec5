"""Which engine takes the sentences of short requests, where there is no other work."""

MIN_PART_TOKENS = 16
"""Source tokens for which one more engine is worth its steps: two engines make nearly twice as many steps as one, and
a step of a few sentences costs about as much as a step of one."""


def tokens_to_take(waiting: int, own: int, in_flight: int, engines: int, idle: int) -> int:
    """How many of the `waiting` source tokens one of `engines` takes now. `own`: its sentences that are not finished;
    `in_flight`: those of all engines; `idle`: other engines that sleep.

    Sentences stay together: of busy engines one that has no more than the average takes all of them, so that only its
    own sentences wait for them. Idle engines divide them in parts of MIN_PART_TOKENS at least, and are left to it. An
    engine takes half where others have nothing but do not sleep: they may not come soon.
    """
    if own:
        if idle or own < in_flight < own * engines:
            return 0
        return waiting if own * engines <= in_flight else -(-waiting // 2)
    free = idle + 1 if in_flight else engines
    parts = max(1, min(free, waiting // MIN_PART_TOKENS))
    return -(-waiting // parts)
