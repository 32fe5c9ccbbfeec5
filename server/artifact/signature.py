"""The inputs and outputs of graphs: export writes them to the manifest, backends bind by them.

For every graph the manifest lists every tensor with its name, dtype, axes and role (`server.artifact.signature`):

encode  source_ids, source_keep (1 for a piece, 0 for padding) -> the source's tensors, with a shortlist its words and
        columns (shortlist.word, shortlist.weight, at int8 shortlist.scale, if the model has one shortlist.bias; where
        steps may score all words shortlist.confidence), and for models with context on the encoder's side `memory`, the
        encoder's output

step    token, parent       last token of every row, and the beam that the row continues within its slot
        score               cumulative log-probability
        ancestry            which ring entries belong to each row's own past
        is_row              rows within the sentence's beam size; the others stay dead
        position            target position of `token`; every slot has its own
        source_keep         1 where the slot's sentence has a piece
        own_key, kept_key   the entry that each row writes in this step, and the entries that no row of its slot writes
        key_age             steps since each entry of a slot was written (only for variants that use it)
        write_index         (slot, head, entry) written in this step
        first_row           slot * beam
        num_rows, num_candidates    beam and 2*beam
        num_entries         entries up to the last that any row reads or writes (only with full attention)
        ring....            per slot, written in place, never reordered
        recurrent....       per row, the past of layers without attention to it; a row inherits its parent's
        source...., shortlist....   per slot, outputs of encode
        -> candidate_score, candidate_token, candidate_parent [slot, 2*beam], best first; ties: lower parent, then token
           next_token, next_parent, next_score, next_ancestry: the following step's rows, the best candidates but EOS
           next_<name> for every ring and recurrent tensor

score   as step, over the whole vocabulary, but without candidates: -> next_ancestry, next_<name> for every ring and
        recurrent tensor, and log_probability of every word

align   source_keep, source.... of encode, target_ids from BOS on, without EOS -> alignment [batch, piece,
        source]: which source pieces every piece after BOS comes from, each row summing to one

A graph may omit inputs that it does not read. Rings and their next_ outputs are the same memory: a graph must read
a ring only after it has written the entries of this step. A recurrent tensor and its next_ output are two buffers,
which change places after every step; what they hold at position 0 is not read.

TorchScript graphs take and return lists of tensors in this order. A step of theirs computes kept_key, first_row,
num_rows and num_candidates itself and reads no num_entries. Their encode graph gives no shortlist: the step over one
has more methods,

lists   source_ids, source_keep -> shortlist...., in the order in which the step reads them
widen   state, score, is_row of some slots -> the outputs that the choice among all words makes (CHOSEN). Only where a
        step may score all words: its outputs are then also state [slot, beam, d], from which words are scored, and
        unsure [slot], the slots whose best listed word is too improbable

There are capacity*beam entries; ring slot r of beam b is entry r*beam + b. A row at position p writes ring slot p mod
capacity, or, where rows attend to all of their past, an entry that no live row attends to. The ring is never
reordered: a beam that continues another one inherits its parent's row of `ancestry`.

Models with context (Maruf et al. 2019, section 3) have more graphs, at every precision. The sentences of a document
lie in PAGES pages, so that short ones are not padded to the longest: page p holds J_p of them, each of up to W_p words.
An empty page has one sentence that is not visible. Names of its tensors end with a dot and the page's number, from 0.

store   memory, word_keep (1 for words, 0 for EOS and padding) -> the states of sentences: sentence_..., word_...
attend  memory, keep, and of every page sentence_keep.p (0: not visible, else how many sentences away), word_keep.p and
        the store's tensors
        -> new_memory, gate, and sentence_weights over the sentences of all pages in their order
           and, if words have weights, word_weights.p, means over the source
project memory -> the source's tensors, as outputs of encode
pruned  attend and project in one, for documents of many sentences: the words of sentences with weight 0 are not
        read. Inputs as attend's -> the source's tensors; looked [batch, heads, J] and gate [batch], means over the
        source. Only for sentence weights by sparsemax.
near    the same as pruned for few sentences, in one page whose names have no number: memory, sentence_keep, word_keep
        and the store's tensors -> as pruned. One sentence at a time, without padding, so there is no keep.

On the decoder's side, where the words of a document are those of its translations, the graphs are

store   source_ids, source_keep, target_ids from BOS on without the last word, word_keep (0 where no word is predicted)
        -> the states, as above
attend  source_ids, source_keep, target_ids from BOS on, and the pages as above: the attention of a finished
        translation -> gate, sentence_weights and word_weights.p as above, over the target
step, score     as above over the whole vocabulary, and the pages of every slot
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Role = Literal["row", "ring", "recurrent", "source", "document", "result"]
"""row: arrays of the beams' rows, on the host; ring: keys and values of the rows' own past; recurrent: one vector of it
for every row; source: tensors of the
source sentence, its shortlist included; document: tensors of the sentences of its document; result: outputs."""
Axis = str | int
"""A fixed size, or the name of a free axis."""
LOG_PROBABILITY = "log_probability"
"""The output of a score graph: the log-probability of every word, [slot, beam, word]."""
CHOSEN = ("candidate_score", "candidate_token", "candidate_parent", "next_token", "next_parent", "next_score")
"""The outputs of a step that the choice among words makes."""
LISTED_WORDS, CONFIDENCE = "shortlist.word", "shortlist.confidence"
"""The words of a shortlist; the log-probability of the best of them below which a step scores all words."""
STATE, UNSURE = "state", "unsure"
"""What a TorchScript step over a shortlist that may score all words gives to its method `widen`, and for which
slots."""
ALIGNMENT = "alignment"
"""The output of an align graph: the weight of every source piece for every piece of a translation, [batch, piece,
source]."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a graph. `dtype` is NumPy's name."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]
    role: Role

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape, with `sizes` for the free axes. Raises KeyError for a free axis without size."""
        return tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.axes)


@dataclass(frozen=True)
class Signature:
    """All tensors of one graph. An output `next_x` of a step continues its input `x`."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def input_names(self) -> list[str]:
        return [tensor.name for tensor in self.inputs]

    @property
    def output_names(self) -> list[str]:
        return [tensor.name for tensor in self.outputs]

    def names(self, role: Role) -> tuple[str, ...]:
        """The inputs of a role."""
        return tuple(tensor.name for tensor in self.inputs if tensor.role == role)


def parse_signature(values: Mapping[str, Any]) -> Signature:
    """Raises KeyError, TypeError or ValueError for values that are no signature."""
    inputs, outputs = (tuple(parse_tensor(tensor) for tensor in values[side]) for side in ("inputs", "outputs"))
    return Signature(inputs, outputs)


def parse_tensor(values: Mapping[str, Any]) -> Tensor:
    tensor = Tensor(**{**values, "axes": tuple(values["axes"])})
    if tensor.role not in get_args(Role):
        raise ValueError(f"tensor {tensor.name} has the unknown role '{tensor.role}'")
    return tensor
