"""Character sets that a file may declare: the encodings of the web, all of which are decoded in linear time.

Other codecs of Python are no encodings of text (rot13) or take quadratic time (punycode, idna).
"""

import codecs

_CODECS = frozenset({
    "ascii", "big5", "big5hkscs", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
    "cp1258", "cp437", "cp850", "cp852", "cp866", "cp874", "cp932", "cp949", "cp950", "euc_jp", "euc_kr", "gb18030",
    "gb2312", "gbk", "iso2022_jp", "iso8859-1", "iso8859-10", "iso8859-11", "iso8859-13", "iso8859-14", "iso8859-15",
    "iso8859-16", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8",
    "iso8859-9", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman", "shift_jis", "tis-620", "utf-16", "utf-16-be",
    "utf-16-le", "utf-8",
})  # fmt: skip
"""By their names in Python."""


def codec_of(label: str) -> str | None:
    """The name of Python's codec for the label of a character set ("latin1", "windows-1252"); None if it is no encoding
    of the web."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):  # ValueError: a label with a zero byte
        return None
    return name if name in _CODECS else None
