"""Names of variables: those of older files become those of the newest revision."""

import dataclasses
import re

from export.importers.ctranslate2.container import Variables

FIRST_REVISION = (
    (re.compile(r"^transformer/"), ""),
    (re.compile(r":0(?=$|_scale$)"), ""),
    (re.compile(r"w_embs"), "embeddings/weight"),
    (re.compile(r"kernel"), "weight"),
    (re.compile(r"LayerNorm"), "layer_norm"),
    (re.compile(r"dense"), "projection"),
    (re.compile(r"conv1d_(\d+)"), r"linear_\1"),
    (re.compile(r"conv1d"), "linear_0"),
    (re.compile(r"^encoder/(.*)multi_head"), r"encoder/\1self_attention"),
    (re.compile(r"masked_multi_head"), "self_attention"),
    (re.compile(r"multi_head"), "attention"),
)
"""Revision 1 has the names of OpenNMT-tf."""
OF_SIDES = ("num_heads", "pre_norm", "activation", "embeddings_merge", "alignment_layer", "alignment_heads")
"""Variables of the whole model before revision 5, of its encoder and its decoder since."""
EMBEDDINGS = re.compile(r"^encoder/embeddings/weight")
SCALED = "multiply_by_sqrt_depth"


def renamed(variables: Variables) -> Variables:
    """The same variables by the names of the newest revision."""
    stored = {modern(name, variables.revision): values for name, values in variables.stored.items()}
    for name in OF_SIDES:
        if name in stored:
            values = stored.pop(name)
            stored |= {f"{side}/{name}": values for side in ("encoder", "decoder") if f"{side}/{name}" not in stored}
    aliases = {
        modern(alias, variables.revision): modern(name, variables.revision) for alias, name in variables.aliases.items()
    }
    halves = frozenset(modern(name, variables.revision) for name in variables.halves)
    return dataclasses.replace(variables, stored=stored, aliases=aliases, halves=halves)


def modern(name: str, revision: int) -> str:
    if revision == 1:
        for pattern, replacement in FIRST_REVISION:
            name = pattern.sub(replacement, name)
    if name.endswith(SCALED):
        return f"{name.partition('/')[0]}/scale_embeddings"
    return EMBEDDINGS.sub("encoder/embeddings_0/weight", name)
