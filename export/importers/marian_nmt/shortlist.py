"""Marian's binary lexical shortlists (`lex.*.s2t.bin`): for every word of the source the words that may translate it.

Six u64 (magic number, checksum, number of frequent words, most words a list, number of offsets, number of ids), the
offsets (u64, one more than there are source words), the ids (u32). There are no probabilities.
"""

import itertools
import struct
from pathlib import Path

import numpy as np

from export.importers import ImportRefused
from export.importers.shortlists import Lists

MAGIC = 0xF11A48D5013417F5
HEADER = struct.Struct("<6Q")
MASK = (1 << 64) - 1


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
    return [ids[start:end].tolist() for start, end in itertools.pairwise(offsets)]


def checksum_of(data: bytes) -> int:
    """Marian's, over whole u64."""
    value = 0
    for word in np.frombuffer(data, "<u8", len(data) // 8).tolist():
        value ^= (word + 0x9E3779B9 + ((value << 6) & MASK) + (value >> 2)) & MASK
    return value
