"""Starts LibreTranslate's server with the interpreter of its environment: PYTHON libretranslate_main.py PORT

For its sentence splitter LibreTranslate would download a model. A rule takes its place, which costs less. Its log of
every step of every translation is off.
"""

import importlib
import logging
import re
import sys

NUM_THREADS = 16
"""Requests that it handles at a time."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def main() -> None:
    logging.disable(logging.INFO)
    splitter = importlib.import_module("argostranslate.sbd").MiniSBDSentencizer
    splitter.split_sentences = lambda self, text: [part for part in SENTENCE_END.split(text) if part]
    options = ["--host", "127.0.0.1", "--port", sys.argv[1], "--threads", str(NUM_THREADS), "--disable-web-ui"]
    sys.argv = ["libretranslate", *options, "--batch-limit", "-1", "--char-limit", "-1"]
    importlib.import_module("libretranslate.main").main()


if __name__ == "__main__":
    main()
