"""Messages between the server and a process that parses files: the lengths of two parts in four bytes each, then a JSON
object and bytes. Neither side evaluates anything of what it receives."""

import json
import struct
from typing import Any, BinaryIO

_LENGTHS = struct.Struct(">II")


class MessageTooLarge(Exception):
    """A message that says it is larger than is taken; nothing of it was read."""


class Closed(Exception):
    """The other side closed the connection, or wrote what is no message."""


def send(stream: BinaryIO, fields: dict[str, Any], data: bytes = b"") -> None:
    """Raises OSError when the other side is gone."""
    # Texts of JSON files may have lone surrogates.
    head = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    stream.write(_LENGTHS.pack(len(head), len(data)))
    stream.write(head)
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO, most_fields: int, most_data: int) -> tuple[dict[str, Any], bytes]:
    """The next message, whose JSON has at most `most_fields` bytes and whose data at most `most_data`. Raises
    MessageTooLarge, and Closed where the stream ends."""
    num_fields, num_data = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if num_fields > most_fields or num_data > most_data:
        raise MessageTooLarge(f"{num_fields} and {num_data} bytes, at most {most_fields} and {most_data} are taken")
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
