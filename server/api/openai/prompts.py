"""Finds the text in a message that also says what to do with it.

Chat models get instructions in words, and some clients write the instructions and the text into one message. Only
prompts that clients have by default are known here; a prompt that consists of the text alone is always translated as it
is.
"""

from collections.abc import Callable

LONGEST_INSTRUCTION = 1000
"""Characters before the text."""


def without_instructions(message: str) -> str:
    """The text to translate in a message of one of PROMPTS; any other message is the text itself."""
    return next((text for read in PROMPTS if (text := read(message)) is not None), message)


def _after_colon(message: str) -> str | None:
    """ "Translate from English to German, [...] without comments:", an empty line, the text: Subtitle Edit, Immersive
    Translate and many others."""
    instruction, gap, text = message[:LONGEST_INSTRUCTION].partition("\n\n")
    is_instruction = instruction.startswith("Translate ") and instruction.endswith(":") and "\n" not in instruction
    return message[len(instruction + gap) :] if gap and text.strip() and is_instruction else None


def _between_labels(message: str) -> str | None:
    """ "Translate the following [...]", then "Source Text:", the text, "Translated Text:": PDFMathTranslate."""
    begin, end = "\nSource Text: ", "\nTranslated Text:"
    at = message.find(begin, 0, LONGEST_INSTRUCTION)
    if at < 0 or not message.startswith("Translate the following ") or not message.rstrip().endswith(end):
        return None
    return message[at + len(begin) : message.rindex(end)]


def _after_example(message: str) -> str | None:
    """Instructions that end with an example of the answer, then a JSON array: Lingarr, for models without chat."""
    mark = "\n\nPlease return the response as a JSON array"
    at = message.rfind(mark)
    text = message[at:].rpartition("\n\n")[2] if at >= 0 else ""
    return text if text.startswith("[") else None


PROMPTS: tuple[Callable[[str], str | None], ...] = (_after_colon, _between_labels, _after_example)
