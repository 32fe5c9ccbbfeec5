"""Wait until a server is ready, send it the README's example and compare the answer with the README's."""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path


def wait_until_ready(base: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(f"{base}/readyz", timeout=5).read()
            return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > until:
                raise SystemExit(f"{base} was not ready after {seconds:.0f} s") from None
            time.sleep(0.2)


def readme_example(text: str) -> tuple[str, str]:
    """The JSON body of the README's curl command, and the translation that it shows."""
    body = re.search(r"-d '(\{.*?\})'", text, flags=re.S)
    answer = re.search(r'"translations": \[\{"text": "(.*?)"', text)
    if body is None or answer is None:
        raise SystemExit("README.md has no example to compare with")
    return body[1], answer[1]


def main() -> None:
    base, readme = sys.argv[1], Path(sys.argv[2])
    wait_until_ready(base, 300)
    body, expected = readme_example(readme.read_text(encoding="utf-8"))
    request = urllib.request.Request(
        f"{base}/v1/translate", data=body.encode(), headers={"Content-Type": "application/json"}
    )
    answer = json.load(urllib.request.urlopen(request, timeout=60))["translations"][0]["text"]
    if answer != expected:
        raise SystemExit(f"the README promises {expected!r}, the server says {answer!r}")
    print(f"{body} -> {answer}")


if __name__ == "__main__":
    main()
