"""Mails come back whole: subject and text translated, everything else byte for byte."""

import email
import email.policy
import functools
import random
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, OpenedFile
from server.files.formats.mail.paragraphs import Flow, Paragraph, read_paragraphs
from server.files.formats.registry import open_file
from tests.growth import thread_seconds

ENCODINGS = ("7bit", "8bit", "quoted-printable", "base64")
FLOWS = (Flow(), Flow(True), Flow(True, True))


def opened(data: bytes) -> OpenedFile:
    return open_file(data, "a.eml", "de", 100_000)


def translated(data: bytes, translate: Callable[[str], str]) -> EmailMessage:
    file = opened(data)
    after = file.write([translate(text) for text in file.texts])
    return email.message_from_bytes(after, policy=email.policy.default)


def body_of(mail: EmailMessage, kind: str = "plain") -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def written(mail: EmailMessage, seed: int = 0) -> bytes:
    return mail.as_bytes(policy=email.policy.SMTP if seed % 2 else email.policy.default)


def letter(seed: int) -> tuple[EmailMessage, bytes]:
    """A mail of a random structure and its attachment."""
    chance = random.Random(seed)
    mail, attachment = EmailMessage(), chance.randbytes(300)
    mail["From"], mail["Subject"] = (
        "Anna <a@example.org>",
        chance.choice(("Re: The harbour", "Grüße aus Kiel", "AW: Fw: Tea")),
    )
    encoding = chance.choice(ENCODINGS[1:])
    mail.set_content("Dear all,\n\nwe walk homé.\n\n-- \nAnna\nSales\n", cte=encoding)
    if chance.random() < 0.7:
        mail.add_alternative("<p>We <b>walk</b> home</p>", subtype="html", cte=chance.choice(ENCODINGS))
    if chance.random() < 0.7:
        mail.add_attachment(attachment, "application", "pdf", filename="a.pdf")
        mail.add_attachment("Text in a file", filename="a.txt")
    if chance.random() < 0.3:
        del mail["MIME-Version"]
    return mail, attachment


@pytest.mark.parametrize("seed", range(20))
def test_what_is_translated_into_itself_is_the_mail(seed: int) -> None:
    data = written(letter(seed)[0], seed)
    assert opened(data).write(opened(data).texts) == data


@pytest.mark.parametrize("seed", range(20))
def test_texts_are_translated_and_attachments_stay(seed: int) -> None:
    before, attachment = letter(seed)
    mail = translated(written(before, seed), lambda text: text.upper() + " — 5 \u20ac <&> \u65e5")
    assert mail["Subject"].endswith(str(before["Subject"]).rpartition(": ")[2].upper() + " — 5 \u20ac <&> \u65e5")
    assert str(mail["Subject"]).partition(" ")[0].removesuffix("SSE") in ("Re:", "AW:", "GRÜ")
    assert mail["From"] == before["From"]
    assert mail["Content-Language"] == "de"
    assert body_of(mail) == (
        "DEAR ALL, — 5 \u20ac <&> \u65e5\n\nWE WALK HOMÉ. — 5 \u20ac <&> \u65e5\n\n-- \nAnna\nSales\n"
    )
    if before.get_body(("html",)) is not None:
        assert "WE <b>WALK</b> HOME — 5 € &lt;&amp;&gt; 日" in body_of(mail, "html").replace("&#26085;", "日").replace(
            "&#8364;", "€").replace("&#8212;", "—")  # fmt: skip
    files = [bytes(part.get_payload(decode=True)).rstrip() for part in mail.iter_attachments()]
    assert files in ([], [attachment.rstrip(), b"Text in a file"])


@pytest.mark.parametrize("kind", ["plain", "html"])
@pytest.mark.parametrize("header", ["", "Content-Type: text/{kind}\n", "Content-Type: text/{kind}; charset=us-ascii\n"])
def test_new_characters_have_a_charset(header: str, kind: str) -> None:
    if kind == "html" and not header:
        return
    mail = translated(f"From: a\n{header.format(kind=kind)}\nWe walk\n".encode(), lambda text: "Wir gehen \u20ac")
    assert body_of(mail, kind).replace("&#8364;", "\u20ac") == "Wir gehen \u20ac\n"
    assert not mail.defects


def test_header_fields_cannot_be_added() -> None:
    data = b"From: a\nSubject: Hello there\n\nWe walk\n"
    mail = translated(data, lambda text: f"{text}\r\nBcc: b@example.org\r\n\r\nx")
    assert "Bcc" not in mail
    assert mail["Subject"] == "Hello there Bcc: b@example.org x"


def texts_of(body: str, flow: str = "") -> list[str]:
    header = f"From: a\nContent-Type: text/plain; charset=utf-8{flow}\n\n"
    return list(opened(header.encode() + body.encode()).texts)


def test_lines_that_belong_together_are_one_text() -> None:
    long = "The train to Hamburg leaves in ten minutes, and we walk home in\nthe rain, while nobody minds.\n"
    assert texts_of(long) == [long.replace("\n", " ").strip()]
    assert texts_of("Anna Smith\nHigh Street 5\nHamburg\n") == ["Anna Smith", "High Street 5", "Hamburg"]
    assert texts_of("- We walk\n- They run\n1. You swim\n") == ["We walk", "They run", "You swim"]
    assert texts_of("> We \n> walk\n>> They run\n", "; format=flowed") == ["We walk", "They run"]
    assert texts_of("Wal \nking\n", "; format=flowed; delsp=yes") == ["Walking"]


def test_quotes_and_signatures_keep_their_marks() -> None:
    body = "> We walk\n> \n>> They run\nYes we do\n-- \nAnna\n"
    mail = translated(f"From: a\n\n{body}".encode(), str.upper)
    assert body_of(mail) == "> WE WALK\n> \n>> THEY RUN\nYES WE DO\n-- \nAnna\n"


LINE = st.sampled_from(["> ", ">", ">> ", "a", "word ", "- ", "-- ", "--", "", " ", "From here ", "1. ", "long " * 12])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(LINE, LINE, LINE), max_size=8), st.sampled_from(FLOWS), st.sampled_from(["\n", "\r\n"]))
def test_lines_are_read_once_and_quotes_stay(lines: list[tuple[str, ...]], flow: Flow, newline: str) -> None:
    """A translation of the same words has the same words in the same quotes."""
    text, flow = newline.join(map("".join, lines)), replace(flow, newline=newline)
    pieces = list(read_paragraphs(text, flow))
    assert (
        "".join(piece.written(piece.text, flow) if isinstance(piece, Paragraph) else piece for piece in pieces) == text
    )
    again = "".join(
        piece.written(f"{piece.text} anew", flow) if isinstance(piece, Paragraph) else piece for piece in pieces
    )
    ours = [piece.text for piece in pieces if isinstance(piece, Paragraph)]
    theirs = [piece.text for piece in read_paragraphs(again, flow) if isinstance(piece, Paragraph)]
    if flow.is_flowed:
        assert theirs == [f"{text} anew" for text in ours]
    assert again.count("\r\n") == again.count("\n") * (newline == "\r\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"Hello", "no mail"),
        (b"From: a\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\nx", "encrypted"),
        (b"From: a\nContent-Type: application/pkcs7-mime\n\nx", "encrypted"),
        (b"From: a\nContent-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 2000, "parts"),
    ],
)
def test_what_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        opened(data)


def test_what_is_kept_is_said() -> None:
    signed = b"From: a\nContent-Type: multipart/signed; boundary=b\n\n--b\n\nWe walk\n--b--"
    assert any("signature" in note for note in opened(signed).notes)
    strange = b"From: a\nSubject: Yes\nContent-Type: text/plain; charset=utf-8\n\nWe walk \xff\n"
    assert any("charset" in note for note in opened(strange).notes)
    assert opened(strange).texts == ["Yes"]


ARMOR = (
    "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{}\n-----BEGIN PGP SIGNATURE-----\nComment: words here\n\n"
    "iQIzBAEB\n=abcd\n-----END PGP SIGNATURE-----\n"
)
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBFab words\n-----END PGP PUBLIC KEY BLOCK-----\n"
FILE = 'begin 644 boat.txt\nM5&AE(&]L9"!B;V%T\nwords and more\n`\nend\n'


@given(st.lists(st.sampled_from([KEY, FILE, "A word.\n", "Two words\n", "\n", "> A quote.\n"]), min_size=1, max_size=6))
def test_signatures_keys_and_files_in_letters_stay(pieces: list[str]) -> None:
    pieces = ["A word.\n", *pieces]
    body = "".join(pieces)
    expected = "".join(piece if piece in (KEY, FILE) else piece.upper() for piece in pieces)
    mail = f"From: a@example.org\nSubject: 1\n\n{body}"
    file = open_file(mail.encode(), "a.eml", "de", 10_000)
    assert file.write([text.upper() for text in file.texts]).decode().partition("\n\n")[2] == expected
    quoted = mail.partition("\n\n")[0] + "\n\n" + "".join(f"> {line}\n" for line in body.splitlines())
    file = open_file(quoted.encode(), "a.eml", "de", 10_000)
    after = file.write([text.upper() for text in file.texts]).decode().partition("\n\n")[2]
    assert after == "".join(f"> {line}\n" for line in expected.splitlines())


def test_what_only_looks_like_the_beginning_of_a_key_hides_no_words() -> None:
    for line in ("-----BEGIN QUOTE-----", "-----BEGIN PGP SIGNATURE-----", "begin 644 boats"):
        mail = f"From: a@example.org\nSubject: 1\n\n{line}\nGood words.\n"
        assert "Good words." in " ".join(open_file(mail.encode(), "a.eml", "de", 10_000).texts)


def test_many_beginnings_cost_no_more_than_words() -> None:
    times = []
    for line in ("begin 644 boats\n", "-----BEGIN PGP SIGNATURE-----\n", "Some words here\n"):
        mail = ("From: a@example.org\nSubject: 1\n\nGood words.\n" + line * 3000).encode()
        times.append(thread_seconds(functools.partial(open_file, mail, "a.eml", "de", 1_000_000)))
    assert max(times[:2]) < 20 * times[2] + 0.1


def test_texts_that_are_signed_or_encrypted_inside() -> None:
    mail = "From: a@example.org\nSubject: 1\n\n"
    file = open_file((mail + ARMOR.format("Good words.")).encode(), "a.eml", "de", 10_000)
    assert file.texts == ["Good words."]
    assert file.notes == ["the signature of the mail does not fit its translation"]
    assert file.write(["X"]).decode().endswith(ARMOR.format("X"))
    with pytest.raises(DamagedFile, match="encrypted"):
        open_file(f"{mail}-----BEGIN PGP MESSAGE-----\n\nhQEM words\n".encode(), "a.eml", "de", 10_000)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("prefix", ["", "Re: ", "[A list] Re: ", "Re: [A list] AW: ", "[A list] Fwd: "])
def test_subjects_without_an_encoding_and_with_prefixes(encoding: str, prefix: str) -> None:
    mail = f"From: a@example.org\nSubject: {prefix}Gr\u00fc\u00dfe \u2013 words\n\n1\n".encode(encoding)
    file = open_file(mail, "a.eml", "de", 10_000)
    assert file.texts == ["Gr\u00fc\u00dfe \u2013 words"]
    after = email.message_from_bytes(file.write(["Caf\u00e9"]), policy=email.policy.default)
    assert after["Subject"] == f"{prefix}Caf\u00e9"


@pytest.mark.parametrize(
    ("part", "note"),
    [
        ("text/calendar\n\nSUMMARY:Words", "neither plain text nor HTML"),
        ("text/calendar\nContent-Disposition: attachment\n\nSUMMARY:Words", ""),
        ("message/rfc822\n\nFrom: b@example.org\nSubject: Words\n\nWords.", "forwarded"),
    ],
)
def test_parts_that_stay_are_said(part: str, note: str) -> None:
    header = "From: a@example.org\nSubject: 1\nContent-Type: multipart/mixed; boundary=b\n"
    mail = f"{header}\n--b\n\nA word.\n--b\nContent-Type: {part}\n--b--\n"
    file = open_file(mail.encode(), "a.eml", "de", 10_000)
    assert [note in other for other in file.notes] == ([True] if note else [])
    assert file.write(["X"]).decode().partition("--b\nContent-Type: ")[2] == f"{part}\n--b--\n"
