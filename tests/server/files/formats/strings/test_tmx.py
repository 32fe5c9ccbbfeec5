"""Units of a memory without the target language get it."""

from tests.server.files.formats.strings.upper import upper

MEMORY = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header srclang="{}" datatype="plaintext"/>
  <body>
    <tu tuid="1">
      <prop type="note">note</prop>
      <tuv xml:lang="en-US">
        <seg>Hello <bpt i="1">&lt;b></bpt>big<ept i="1">&lt;/b></ept> world<ph>x</ph></seg>
      </tuv>
      <tuv xml:lang="fr"><seg>Bonjour</seg></tuv>{}
    </tu>
    <tu><tuv xml:lang="en"><seg>done</seg></tuv><tuv xml:lang="DE-at"><seg>fertig</seg></tuv></tu>
    <tu><tuv xml:lang="fr"><seg>non</seg></tuv></tu>
    <tu><tuv lang="en"><seg>blank</seg></tuv><tuv lang="de"><seg>{}</seg></tuv></tu>
  </body>
</tmx>
"""
ADDED = """
      <tuv xml:lang="de">
        <seg>HELLO <bpt i="1">&lt;b></bpt>BIG<ept i="1">&lt;/b></ept> WORLD<ph>x</ph></seg>
      </tuv>"""


def test_units_get_the_target_language() -> None:
    for srclang in ("en-US", "EN", "en-GB"):
        assert upper(MEMORY.format(srclang, "", ""), ".tmx") == MEMORY.format(srclang, ADDED, "BLANK")


def test_a_memory_of_any_source_has_that_of_the_first_variant() -> None:
    unit = '<tu><tuv lang="fr"><seg>non</seg></tuv>{}</tu>'
    memory = '<tmx><header srclang="*all*"/><body>{}</body></tmx>'
    written = memory.format(unit.format('<tuv lang="de"><seg>NON</seg></tuv>'))
    assert upper(memory.format(unit.format("")), ".tmx") == written
