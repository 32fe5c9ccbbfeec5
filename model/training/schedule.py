"""Learning rate over steps: linear warm-up, inverse square root, linear decay to zero at the end."""


def learning_rate(step: int, peak: float, warmup_steps: int, total_steps: int, decay_fraction: float) -> float:
    """Rate of update number `step` (from 1). The last `decay_fraction` of all steps falls linearly to zero."""
    if step <= warmup_steps:
        return peak * step / warmup_steps
    decay_start = max(warmup_steps, round(total_steps * (1 - decay_fraction)))
    rate = peak * (warmup_steps / min(step, decay_start)) ** 0.5
    if step > decay_start:
        rate *= max(0, total_steps - step + 1) / (total_steps - decay_start + 1)
    return float(rate)
