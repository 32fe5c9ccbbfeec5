"""What interfaces say: genders, cases and verbs that part."""

from pathlib import Path

import pytest

from model.config import ConfigError
from model.synthetic.everyday.command import HERE
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.interfaces import Noun, Verb, interface_phrases, read_words

FILE, FOLDER, PICTURE = (
    Noun("file", "files", "Datei", "f", "Dateien"),
    Noun("folder", "folders", "Ordner", "m", "Ordner"),
    Noun("image", "images", "Bild", "n", "Bilder"),
)
UPLOAD, OPEN = Verb("upload", "uploaded", "hochladen", "hochgeladen"), Verb("open", "opened", "öffnen", "geöffnet")


@pytest.mark.parametrize(
    ("noun", "verb", "english", "german"),
    [
        (FILE, OPEN, "Open file", "Datei öffnen"),
        (FILE, OPEN, "Open all files", "Alle Dateien öffnen"),
        (FILE, OPEN, "Could not open the file.", "Die Datei konnte nicht geöffnet werden."),
        (FOLDER, OPEN, "Are you sure you want to open this folder?", "Möchten Sie diesen Ordner wirklich öffnen?"),
        (FOLDER, UPLOAD, "Click here to upload the folder.", "Klicken Sie hier, um den Ordner hochzuladen."),
        (FOLDER, OPEN, "This folder does not exist.", "Dieser Ordner existiert nicht."),
        (PICTURE, OPEN, "Please select an image.", "Bitte wählen Sie ein Bild aus."),
        (PICTURE, OPEN, "Click here to open the image.", "Klicken Sie hier, um das Bild zu öffnen."),
        (PICTURE, UPLOAD, "The images have been uploaded.", "Die Bilder wurden hochgeladen."),
    ],
)
def test_phrases(noun: Noun, verb: Verb, english: str, german: str) -> None:
    assert (english, german) in set(interface_phrases([noun], [verb], 3, 1))


def test_adjectives_end_by_gender() -> None:
    made = set(interface_phrases([FILE, FOLDER, PICTURE], [OPEN], 200, 1))
    assert {("New file", "Neue Datei"), ("Next folder", "Nächster Ordner"), ("Empty image", "Leeres Bild")} <= made


def test_zu_stands_in_verbs_that_part() -> None:
    verbs = [Verb("check", "checked", "überprüfen", "überprüft"), Verb("add", "added", "hinzufügen", "hinzugefügt")]
    assert [item.with_zu for item in (*verbs, UPLOAD, OPEN)] == [
        "zu überprüfen",
        "hinzuzufügen",
        "hochzuladen",
        "zu öffnen",
    ]


def test_own_words_in_every_frame() -> None:
    nouns, verbs = read_words(HERE / "interface.tsv")
    assert (len({noun.english for noun in nouns}), len({verb.english for verb in verbs})) == (len(nouns), len(verbs))
    made = list(interface_phrases(nouns, verbs, 20, 1))
    assert len(made) == 20 * len(FRAMES["interfaces"])
    assert made == list(interface_phrases(nouns, verbs, 20, 1)) != list(interface_phrases(nouns, verbs, 20, 2))
    assert not any("{" in text for pair in made for text in pair)


@pytest.mark.parametrize("line", ["noun\tfile\tfiles\tDatei\tx\tDateien", "verb\topen\topened", "open"])
def test_a_line_that_is_no_word_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(f"# Words\nverb\topen\topened\töffnen\tgeöffnet\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 3: expected noun, singular"):
        read_words(path)
