"""A sentence per paper that summarises the measured differences of its rows."""

from collections.abc import Sequence

from export.compare.claims import HOLDS, Claim, OrderGroup
from export.compare.papers import CONTRASTIVE_ITEMS, INFERIOR
from export.compare.variants import Contrast, Family, contrast, named, tokens_text


def changed(contrast: Contrast, unit: str = "nats") -> str:
    """ "gains 0.125 ± 0.029 nats": what the first side has less than the second, where that is resolved."""
    value, half = contrast.estimate.value, contrast.margin
    if contrast.seeds < 2 or abs(value) <= half:
        return f"changes nothing that is resolved ({value:+.3f} ± {half:.3f} {unit})"
    return f"{'costs' if value > 0 else 'gains'} {abs(value):.3f} ± {half:.3f} {unit}"


def less(family: Family, name: str, base: str) -> Contrast | None:
    """`name` less `base`, without the recipe's part of the names; None where one was not trained."""
    recipe = next(iter(family.members)).partition("/")[0]
    rows = named(family.members, [f"{recipe}/{name}", f"{recipe}/{base}"])
    return contrast(rows[:1], rows[1:], family.spread) if rows else None


def windows(orders: Sequence[OrderGroup]) -> str | None:
    """Chelba et al. 2019."""
    plain = [group for group in orders if group.is_plain]
    if not plain:
        return None
    group = max(plain, key=lambda group: group.target_tokens)
    by_order = {order.order: order for order in group.orders}
    if not {2, 8, None} <= by_order.keys():
        return None
    eight, two = (contrast([by_order[order]], [by_order[None]], group.spread) for order in (8, 2))
    worst = eight.estimate.value + eight.margin
    bound = f"costs at most {max(worst, 0.0):.3f} nats a token, less than the paper's {INFERIOR}"
    if worst >= INFERIOR:
        bound = f"may cost {worst:.3f} nats a token"
    return (
        f"**Chelba et al. 2019**: after {tokens_text(group.target_tokens)} target tokens a window of 8 {bound} "
        f"({eight.estimate.value:+.3f} ± {eight.margin:.3f}), and a window of 2 {changed(two)}."
    )


def localness(families: Sequence[Family]) -> str | None:
    """Yang et al. 2018, at every budget."""
    alone: list[str] = []
    beside: list[str] = []
    for family in families:
        for item, name, base in ((alone, "localness-query", "full"), (beside, "localness-query-relative", "relative")):
            difference = less(family, name, base)
            if difference:
                item.append(f"{changed(difference)} after {family.token_range} target tokens")
    if not alone:
        return None
    more = f"; beside relative positions it {' and '.join(beside)}" if beside else ""
    return f"**Yang et al. 2018**: localness in the encoder {' and '.join(alone)}{more}."


def soft_windows(families: Sequence[Family]) -> str | None:
    """Nguyen et al. 2020."""
    for family in families:
        places = {
            "an additive window in cross-attention": less(family, "window-aw-cross", "full"),
            "segmenting it": less(family, "window-cross-aw-seg", "window-aw-cross"),
            "one in the decoder": less(family, "window-aw-dec", "full"),
            "one in the encoder": less(family, "window-aw-enc", "full"),
        }
        sentences = [f"{place} {changed(item)}" for place, item in places.items() if item]
        if sentences:
            return f"**Nguyen et al. 2020**: {'; '.join(sentences)}."
    return None


def context(claims: Sequence[Claim]) -> str | None:
    """Maruf et al. 2019."""
    answered = [claim for claim in claims if claim.source == CONTRASTIVE_ITEMS.reference and claim.verdict == HOLDS]
    results = [step.difference.estimate.value for claim in answered for step in claim.tried if step.difference]
    if not results:
        return None
    return (
        f"**Maruf et al. 2019**: with its document every kind of layer finds the right pronoun or profession in "
        f"{100 * min(results):.0f} to {100 * max(results):.0f} of 100 items more than the sentence model; "
        f"ordinary text does not show what context is for."
    )
