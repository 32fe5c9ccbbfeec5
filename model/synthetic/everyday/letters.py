"""Salutations of letters: "Dear Ms. Miller," is "Sehr geehrte Frau Miller,", "Dear Anna," is "Liebe Anna,"."""

from collections.abc import Iterator

from model.synthetic.everyday.frames import FRAMES
from model.synthetic.tables import first_cells

FAMILIES, WOMEN, MEN = (first_cells(FRAMES[name]) for name in ("families", "women", "men"))


def salutations() -> Iterator[tuple[str, str]]:
    """(English, German) for every name."""
    for name in FAMILIES:
        for title in ("Mr.", "Mr"):
            yield f"Dear {title} {name},", f"Sehr geehrter Herr {name},"
        for title in ("Ms.", "Mrs.", "Ms"):
            yield f"Dear {title} {name},", f"Sehr geehrte Frau {name},"
        yield f"Dear Mr. and Mrs. {name},", f"Sehr geehrte Frau {name}, sehr geehrter Herr {name},"
        yield f"Dear Professor {name},", f"Sehr geehrter Herr Professor {name},"
        yield f"Good morning, Mr. {name}!", f"Guten Morgen, Herr {name}!"
        yield f"Hello Ms. {name},", f"Guten Tag Frau {name},"
    for names, dear in ((WOMEN, "Liebe"), (MEN, "Lieber")):
        for name in names:
            yield f"Dear {name},", f"{dear} {name},"
            yield f"Dear {name}", f"{dear} {name}"
            for hello in ("Hi", "Hello"):
                yield f"{hello} {name},", f"Hallo {name},"
                yield f"{hello} {name}!", f"Hallo {name}!"
            yield f"Hi {name}, how are you?", f"Hallo {name}, wie geht es dir?"
            yield f"Happy birthday, {name}!", f"Alles Gute zum Geburtstag, {name}!"
            yield f"Thank you, {name}.", f"Danke, {name}."
            yield f"Best wishes, {name}", f"Viele Grüße, {name}"
