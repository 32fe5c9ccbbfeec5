"""Blocks of the Snappy format (https://github.com/google/snappy/blob/main/format_description.txt)."""


class SnappyError(ValueError):
    """A block is damaged, or longer than allowed."""


def decompress(block: bytes, limit: int) -> bytes:
    """The content of a block without frame, at most `limit` bytes. Raises SnappyError."""
    try:
        return _decompress(block, limit)
    except IndexError:
        raise SnappyError("a block of Snappy ends early") from None


def _decompress(block: bytes, limit: int) -> bytes:
    length, at = _varint(block)
    if length > limit:
        raise SnappyError(f"a block of Snappy has {length} bytes, more than {limit}")
    out = bytearray()
    while at < len(block):
        tag, at = block[at], at + 1
        kind, rest = tag & 3, tag >> 2
        if kind == 0:
            extra = max(0, rest - 59)  # 60 to 63: the length stands in so many bytes
            count = (int.from_bytes(block[at : at + extra], "little") if extra else rest) + 1
            at += extra
            if at + count > len(block):
                raise SnappyError("a literal of Snappy ends early")
            out += block[at : at + count]
            at += count
        else:
            width = (1, 2, 4)[kind - 1]
            offset, at = int.from_bytes(block[at : at + width], "little"), at + width
            count = rest + 1
            if kind == 1:
                offset, count = offset | (rest >> 3) << 8, (rest & 7) + 4
            if not 0 < offset <= len(out):
                raise SnappyError("a copy of Snappy begins before the content")
            _copy(out, offset, count)
        if len(out) > length:
            break
    if len(out) != length:
        raise SnappyError(f"a block of Snappy has not the {length} bytes that it announces")
    return bytes(out)


def _copy(out: bytearray, offset: int, count: int) -> None:
    """Append `count` bytes from `offset` before the end; they may overlap what is appended."""
    start = len(out) - offset
    pattern = out[start : start + count]
    out += (pattern * -(-count // len(pattern)))[:count]


def _varint(block: bytes) -> tuple[int, int]:
    """The number at the beginning, seven bits a byte, and where it ends."""
    value = 0
    for index in range(5):
        value |= (block[index] & 0x7F) << 7 * index
        if not block[index] & 0x80:
            return value, index + 1
    raise SnappyError("a block of Snappy does not begin with a length")
