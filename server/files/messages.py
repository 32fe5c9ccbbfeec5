"""Messages between the server and a parser process: the lengths of two parts in four bytes each, then a JSON object and
bytes. Neither side evaluates what it receives."""

import json
import struct
from typing import Any, BinaryIO

_LENGTHS = struct.Struct(">II")


class MessageTooLarge(Exception):
    """A message announces more bytes than the limit; nothing of it was read."""


class Closed(Exception):
    """The other side closed the connection, or wrote something that is no message."""


def send(stream: BinaryIO, fields: dict[str, Any], data: bytes = b"") -> None:
    """Raises OSError when the other side has closed the connection."""
    # Texts of JSON files may have lone surrogates.
    head = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    stream.write(_LENGTHS.pack(len(head), len(data)))
    stream.write(head)
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO, max_fields: int, max_data: int) -> tuple[dict[str, Any], bytes]:
    """The next message, whose JSON has at most `max_fields` bytes and whose data at most `max_data`. Raises
    MessageTooLarge, and Closed where the stream ends."""
    num_fields, num_data = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if num_fields > max_fields or num_data > max_data:
        raise MessageTooLarge(f"{num_fields} and {num_data} bytes, at most {max_fields} and {max_data} are taken")
    head, data = _exactly(stream, num_fields), _exactly(stream, num_data)
    try:
        fields = json.loads(head.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise Closed(f"no message: {error}") from None
    if not isinstance(fields, dict):
        raise Closed("no message: its fields are no object")
    return fields, data


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise Closed("the stream ended")
    return data
