"""How letters begin: "Dear Ms. Miller," is "Sehr geehrte Frau Miller,", "Dear Anna," is "Liebe Anna,"."""

from collections.abc import Iterator

from model.synthetic.context.words import listed

FAMILIES = listed(
    "Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Thomas Moore Martin Jackson Thompson White"
    " Harris Clark Lewis Robinson Walker Young Allen King Wright Scott Green Baker Adams Hill Campbell Mitchell Roberts"
    " Carter Phillips Evans Turner Parker Collins Edwards Stewart Morris Murphy Cook Rogers Cooper Müller Schmidt"
    " Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein Wolf Schröder"
    " Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Werner Krause Lehmann Maier Huber Garcia"
    " Rossi Nowak Novak Yilmaz Kowalski Petrov Nguyen Kim Lee Chen Singh"
)
WOMEN = listed(
    "Anna Maria Julia Sarah Laura Lisa Emma Mary Susan Karen Linda Barbara Jennifer Jessica Emily Sophie Marie"
    " Katharina Claudia Petra Sabine Monika Andrea Nicole Stefanie Eva Lena Hannah Clara Alice Jane Kate Rachel Olivia"
)
MEN = listed(
    "Peter Tom Thomas John Michael David Daniel Paul Mark Andreas Stefan Martin Christian Markus Jan Max Felix Lukas"
    " Leon Jonas Robert William James George Richard Charles Jack Harry Oliver Simon Frank Klaus Wolfgang Jürgen"
)


def beginnings() -> Iterator[tuple[str, str]]:
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
