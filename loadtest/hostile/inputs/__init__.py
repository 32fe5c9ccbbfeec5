"""All inputs by their target; ordinary inputs, for comparison, come first."""

from loadtest.hostile.attempt import inputs_of
from loadtest.hostile.inputs import (
    archives,
    bodies,
    connections,
    files,
    largest,
    markup,
    memories,
    nesting,
    ordinary,
    sentences,
)

INPUTS = inputs_of((ordinary, files, archives, nesting, markup, sentences, memories, bodies, connections, largest))
