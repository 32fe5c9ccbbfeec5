"""Marian's binary lexical shortlists (`lex.*.s2t.bin`): for every word of the source the words that may translate it.

Six u64 (magic number, checksum, number of frequent words, most words a list, number of offsets, number of ids), the
offsets (u64, one more than there are source words), the ids (u32). There are no probabilities.
"""

import itertools
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from export.importers import ImportRefused
from export.onnx_graph.candidates import GROUP
from export.onnx_graph.shortlist import ShortlistPlan
from model.config import ModelConfig
from model.data.lexicon import Lexicon, smallest

MAGIC = 0xF11A48D5013417F5
HEADER = struct.Struct("<6Q")
LARGE_VOCABULARY = 8000
MASK = (1 << 64) - 1
Lists = list[NDArray[np.int64]]


def read_shortlist(path: Path, source_words: int, target_words: int) -> Lists:
    """The listed ids of every source word. Raises ImportRefused."""
    data = path.read_bytes()
    if len(data) < HEADER.size:
        raise ImportRefused(f"{path} is no binary shortlist of Marian's: it is too short")
    magic, checksum, _, _, num_offsets, num_ids = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise ImportRefused(f"{path} is no binary shortlist of Marian's: it does not begin as one")
    if HEADER.size + 8 * num_offsets + 4 * num_ids > len(data):
        raise ImportRefused(f"{path} is not complete")
    if checksum_of(data[16:]) != checksum:
        raise ImportRefused(f"{path} is damaged: its checksum is wrong")
    offsets = np.frombuffer(data, "<u8", num_offsets, HEADER.size).astype(np.int64)
    ids = np.frombuffer(data, "<u4", num_ids, HEADER.size + 8 * num_offsets).astype(np.int64)
    if num_offsets != source_words + 1 or ids.max(initial=0) >= target_words or (np.diff(offsets) < 0).any():
        raise ImportRefused(f"{path} does not belong to the model: it lists other words than the vocabulary has")
    return [ids[start:end] for start, end in itertools.pairwise(offsets)]


def checksum_of(data: bytes) -> int:
    """Marian's, over whole u64."""
    value = 0
    for word in np.frombuffer(data, "<u8", len(data) // 8).tolist():
        value ^= (word + 0x9E3779B9 + ((value << 6) & MASK) + (value >> 2)) & MASK
    return value


def plan_of(lists: Lists, config: ModelConfig) -> ShortlistPlan | None:
    """Our shortlist; None where the vocabulary is so small that it is not worth it. Every listed word has the same
    probability: words that many source words list come first, then those with lower ids, which are more frequent.
    Where the vocabulary is shared a word is listed for itself, as in Marian."""
    target_words = config.vocab_size - 1
    extra = 1024 if target_words > LARGE_VOCABULARY else 512
    frequent = -(-target_words // 16 // GROUP) * GROUP
    if 2 * (extra + frequent) > target_words:
        return None
    suppressed = (*config.ids.suppressed, config.eos_id)
    others = [word for word in range(target_words) if word not in suppressed]
    own = [np.array([word]) for word in range(len(lists))] if config.source_embedding == "shared" else []
    full = [np.union1d(listed, own[index]) if own else listed for index, listed in enumerate(lists)]
    width = max(map(len, full))
    rows = max(len(full), config.vocab_size)
    words = np.full((rows, width), config.eos_id, np.int64)
    probability = np.zeros((rows, width), np.float16)
    for row, listed in enumerate(full):
        words[row, : len(listed)], probability[row, : len(listed)] = listed, 1
    by_frequency = smallest(np.array([config.eos_id, *others]), config.vocab_size)
    return ShortlistPlan.of(Lexicon(smallest(words, config.vocab_size), probability, by_frequency), frequent, extra)
