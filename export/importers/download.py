"""Files from addresses that a person gave, each with the SHA-256 that it must have."""

import hashlib
import http.client
import re
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qsl, unquote, urldefrag, urlsplit

from export.importers import ImportRefused

MAX_BYTES = 16 * 2**30
TIMEOUT_SECONDS = 60.0
"""Seconds without a byte after which a download fails."""
HASH, NAME = "sha256", "name"
"""Fields of an address behind the #."""
_CHUNK, _REPORT_EVERY = 2**20, 64 * 2**20


def is_address(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


@dataclass(frozen=True)
class Address:
    """`url` without a fragment; `sha256` in lower case; `name`: of the file that is written."""

    url: str
    sha256: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Reads https://.../FILE#sha256=HEX, with &name=FILE where the address has another name than the file. Raises
        ImportRefused."""
        url, fragment = urldefrag(text)
        fields = dict(parse_qsl(fragment, keep_blank_values=True))
        sha256 = fields.pop(HASH, "").lower()
        if not re.fullmatch("[0-9a-f]{64}", sha256):
            raise ImportRefused(
                f"{url}: what is downloaded is checked; give its SHA-256, 64 hexadecimal digits: {url}#{HASH}=..."
            )
        name = fields.pop(NAME, None) or PurePosixPath(unquote(urlsplit(url).path)).name
        if fields:
            raise ImportRefused(f"{text}: behind # stand {HASH} and {NAME}, not {', '.join(fields)}")
        if not re.fullmatch(r"[^\s/\\:\x00-\x1f]+", name) or name in (".", ".."):
            raise ImportRefused(f"{url} has no name of a file: add &{NAME}=FILE behind the SHA-256")
        return cls(url, sha256, name)


def download(address: Address, folder: Path) -> Path:
    """The file at an address, written to `folder`. Follows redirects to http and https; proxies are those of the
    environment. Raises ImportRefused for a response that is no file, and for another SHA-256."""
    path, digest, size = folder / address.name, hashlib.sha256(), 0
    request = urllib.request.Request(address.url, headers={"User-Agent": "ringmt", "Accept-Encoding": "identity"})
    try:
        with _opener().open(request, timeout=TIMEOUT_SECONDS) as response, path.open("xb") as file:
            length = response.headers.get("Content-Length", "?")
            while chunk := response.read(_CHUNK):
                if size // _REPORT_EVERY < (size + len(chunk)) // _REPORT_EVERY:
                    print(f"ringmt: {address.name}: {size:,} of {length} bytes", file=sys.stderr)
                size += len(chunk)
                if size > MAX_BYTES:
                    raise ImportRefused(f"{address.url} has more than {MAX_BYTES:,} bytes")
                digest.update(chunk)
                file.write(chunk)
    except FileExistsError:
        raise ImportRefused(f"two addresses have a file {address.name}: name one by &{NAME}=FILE") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, ImportRefused):
            raise
        raise ImportRefused(f"{address.url} could not be downloaded: {error}") from error
    if digest.hexdigest() != address.sha256:
        raise ImportRefused(
            f"{address.url} has the SHA-256 {digest.hexdigest()}, not {address.sha256}: it is damaged or another file, "
            "and was not imported"
        )
    return path


def _opener() -> urllib.request.OpenerDirector:
    """Without urllib's handlers of file:, ftp: and data:, to which a redirect could lead."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener
