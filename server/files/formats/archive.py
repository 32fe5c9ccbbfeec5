"""ZIP archives in which some parts are replaced. Other parts are not unpacked; their packed bytes are copied.

The sizes in an archive's directory are not trusted: they are checked first, or counted while a part is unpacked.
"""

import copy
import io
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence

from server.files.formats.base import DamagedFile, FileTooLarge

MAX_PARTS = 10_000
MAX_UNPACKED_BYTES = 200 * 2**20
"""Unpacked bytes of all parts, by the archive's directory, at most."""
_OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DIRECTORY_ENTRY = b"PK\x01\x02"
_HEADER = struct.Struct("<4s22xHH")
"""A part's local header: "PK\\3\\4" first, the lengths of its name and its extra field last."""
_HAS_DESCRIPTOR, _IS_ENCRYPTED = 0x08, 0x01
_CHUNK = 2**16


class Archive:
    """`data` as an archive of the parts `infos`, whose names are `names`."""

    def __init__(self, data: bytes, name: str) -> None:
        """`name` of the file's format, for messages: "Word". Raises DamagedFile, FileTooLarge."""
        if data.startswith(_OLE_SIGNATURE):
            raise DamagedFile(f"the file is encrypted or older than 2007; save it as a {name} file without a password")
        if data.count(_DIRECTORY_ENTRY) > MAX_PARTS:  # before the directory is parsed
            raise FileTooLarge(f"the file has more than {MAX_PARTS} parts")
        self._data, self._name = data, name
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.infos: Sequence[zipfile.ZipInfo] = self._zip.infolist()
            self._slices = [self._slice(info) for info in self.infos]
        except DamagedFile:
            raise
        except Exception as error:  # zipfile raises errors of every kind for damaged archives
            raise self._damaged(error) from None
        self.names = frozenset(info.filename for info in self.infos)
        self._check()

    def chunks(self, name: str) -> Iterator[bytes]:
        """The unpacked bytes of a part, in chunks. Raises DamagedFile."""
        info = self._zip.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedFile(f"{name} is packed in a way that {self._name} files do not know; save the file again")
        try:
            with self._zip.open(info) as part:
                while chunk := part.read(_CHUNK):
                    yield chunk
        except Exception as error:  # as above
            raise self._damaged(error) from None

    def replace_parts(self, changed: Mapping[str, Callable[[], bytes]]) -> bytes:
        """The archive with the contents of `changed`, by the names of the parts, in the same order."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as after:
            for info, packed_slice in zip(self.infos, self._slices, strict=True):
                part = copy.copy(info)
                if info.filename in changed:
                    after.writestr(part, changed[info.filename]())
                else:
                    _copy(part, self._data[packed_slice], after, packed)
        return packed.getvalue()

    def with_contents(self, changed: Mapping[str, bytes]) -> bytes:
        """The archive with these contents of parts; the same bytes where nothing changed."""

        def giving(content: bytes) -> Callable[[], bytes]:
            return lambda: content

        return (
            self.replace_parts({name: giving(content) for name, content in changed.items()}) if changed else self._data
        )

    def _slice(self, info: zipfile.ZipInfo) -> slice:
        """The place of a part's packed bytes in `data`."""
        signature, name_length, extra_length = _HEADER.unpack_from(self._data, info.header_offset)
        start = info.header_offset + _HEADER.size + name_length + extra_length
        if signature != b"PK\x03\x04" or start + info.compress_size > len(self._data):
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
        for info, packed_slice in sorted(
            zip(self.infos, self._slices, strict=True), key=lambda item: item[0].header_offset
        ):
            if info.header_offset < end:
                raise DamagedFile(f"parts of the file lie inside each other; save it again as a {self._name} file")
            end = packed_slice.stop

    def _damaged(self, error: Exception) -> DamagedFile:
        return DamagedFile(f"the file is no {self._name} file, or broken off: {error}")


def _copy(part: zipfile.ZipInfo, packed: bytes, archive: zipfile.ZipFile, file: io.BytesIO) -> None:
    """Append a packed part to an archive that is written to `file`; `writestr` would pack it again."""
    part.header_offset = file.tell()
    part.flag_bits &= ~_HAS_DESCRIPTOR  # its sizes are in its header
    file.write(part.FileHeader() + packed)
    archive.filelist.append(part)
    archive.NameToInfo[part.filename] = part
    archive.start_dir = file.tell()
    archive._didModify = True  # type: ignore[attr-defined]
