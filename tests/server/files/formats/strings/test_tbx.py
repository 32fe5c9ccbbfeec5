"""Entries of a terminology without the target language get its terms."""

from server.files.formats.registry import open_file
from tests.server.files.formats.strings.upper import upper

TERMS = """<?xml version="1.0"?>
<martif type="TBX" xml:lang="en-US">
  <text><body>
      <termEntry id="1">
        <descrip type="definition">note</descrip>
        <langSet xml:lang="fr"><tig><term>bogue</term></tig></langSet>
        <langSet xml:lang="en">
          <tig>
            <term>bug &amp; report</term><termNote type="partOfSpeech">noun</termNote>
          </tig>
          <ntig><termGrp><term>issue</term></termGrp></ntig>
        </langSet>{}
      </termEntry>
      <termEntry id="2"><langSet xml:lang="en"><tig><term>done</term></tig></langSet>
        <langSet xml:lang="de-AT"><tig><term>fertig</term></tig></langSet></termEntry>
  </body></text>
</martif>
"""
ADDED = """
        <langSet xml:lang="de">
          <tig>
            <term>BUG &amp; REPORT</term>
          </tig>
          <tig>
            <term>ISSUE</term>
          </tig>
        </langSet>"""


def test_entries_get_the_terms_of_the_target_language() -> None:
    assert upper(TERMS.format(""), ".tbx") == TERMS.format(ADDED)


def test_equal_translations_are_one_term() -> None:
    written = open_file(TERMS.format("").encode(), "a.tbx", "de", 1000).write(["Fehler", "Fehler"]).decode()
    assert written.count("Fehler") == 1
