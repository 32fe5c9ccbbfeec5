"""Archives of which some parts are read and written anew: nothing else is unpacked, and all else is copied as it lies.

What an archive says of itself is not believed: it is checked before, or counted while a part is unpacked.
"""

import copy
import io
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence

from server.files.formats.base import DamagedFile, FileTooLarge

MAX_PARTS = 10_000
MAX_UNPACKED_BYTES = 200 * 2**20
"""The most bytes that all parts of an archive may say to unpack to."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LISTED = b"PK\x01\x02"
_HEADER = struct.Struct("<4s22xHH")
"""Of a part: "PK\\3\\4" at its beginning, the lengths of its name and of its extra field at the end."""
_HAS_DESCRIPTOR, _IS_ENCRYPTED = 0x08, 0x01
_CHUNK = 2**16


class Archive:
    """`data` as an archive of the parts `infos`; `names` has those that can be read."""

    def __init__(self, data: bytes, name: str) -> None:
        """`name` is what the archive should be: "Word". Raises DamagedFile, FileTooLarge."""
        if data.startswith(_OLE):
            raise DamagedFile(f"the file is encrypted or older than 2007; save it as a {name} file without a password")
        if data.count(_LISTED) > MAX_PARTS:  # before its list is read
            raise FileTooLarge(f"the file has more than {MAX_PARTS} parts")
        self._data, self._name = data, name
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.infos: Sequence[zipfile.ZipInfo] = self._zip.infolist()
            self._places = [self._place(info) for info in self.infos]
        except DamagedFile:
            raise
        except Exception as error:  # zipfile raises errors of every kind for archives that are damaged
            raise self._damaged(error) from None
        self.names = frozenset(info.filename for info in self.infos)
        self._check()

    def chunks(self, name: str) -> Iterator[bytes]:
        """A part, unpacked in pieces. Raises DamagedFile."""
        info = self._zip.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedFile(f"{name} is packed in a way that {self._name} files do not know; save the file again")
        try:
            with self._zip.open(info) as part:
                while chunk := part.read(_CHUNK):
                    yield chunk
        except Exception as error:  # as above
            raise self._damaged(error) from None

    def replaced(self, changed: Mapping[str, Callable[[], bytes]]) -> bytes:
        """The archive with other parts in place of the `changed` ones, in its order."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as after:
            for info, place in zip(self.infos, self._places, strict=True):
                part = copy.copy(info)
                if info.filename in changed:
                    after.writestr(part, changed[info.filename]())
                else:
                    _copy(part, self._data[place], after, packed)
        return packed.getvalue()

    def _place(self, info: zipfile.ZipInfo) -> slice:
        """Where a part's packed bytes lie."""
        mark, name_length, extra_length = _HEADER.unpack_from(self._data, info.header_offset)
        start = info.header_offset + _HEADER.size + name_length + extra_length
        if mark != b"PK\x03\x04" or start + info.compress_size > len(self._data):
            raise DamagedFile(f"the file is no {self._name} file, or broken off: a part of it is missing")
        return slice(start, start + info.compress_size)

    def _check(self) -> None:
        if sum(info.file_size for info in self.infos) > MAX_UNPACKED_BYTES:
            raise FileTooLarge(f"unpacked the file has more than {MAX_UNPACKED_BYTES // 2**20} MB")
        if any(info.flag_bits & _IS_ENCRYPTED for info in self.infos):
            raise DamagedFile("the file is encrypted; save it without password")
        if len(self.names) < len(self.infos):
            raise DamagedFile(f"the file has two parts of one name; save it again as a {self._name} file")
        end = 0
        for info, place in sorted(zip(self.infos, self._places, strict=True), key=lambda one: one[0].header_offset):
            if info.header_offset < end:
                raise DamagedFile(f"parts of the file lie inside each other; save it again as a {self._name} file")
            end = place.stop

    def _damaged(self, error: Exception) -> DamagedFile:
        return DamagedFile(f"the file is no {self._name} file, or broken off: {error}")


def _copy(part: zipfile.ZipInfo, packed: bytes, archive: zipfile.ZipFile, file: io.BytesIO) -> None:
    """Add a part to an archive that is written to `file`, as it was packed; `writestr` would pack it again."""
    part.header_offset = file.tell()
    part.flag_bits &= ~_HAS_DESCRIPTOR  # its sizes stand in its header
    file.write(part.FileHeader() + packed)
    archive.filelist.append(part)
    archive.NameToInfo[part.filename] = part
    archive.start_dir = file.tell()
    archive._didModify = True  # type: ignore[attr-defined]
