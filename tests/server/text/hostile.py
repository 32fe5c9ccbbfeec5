"""Tokens that the modules of `server.text` search for; tests make hostile texts of them (`tests.growth`)."""

PLACEHOLDERS = ("\U000f0000", "\U000f4000", "\U000f0001", "\U000f4001", "\U000f8000", "\U000f8001", "\U000fc000")
"""Two opening placeholders with their closing ones, two standalone placeholders, the placeholder of a term."""
ENDS = (
    ". ",
    "! ",
    "?",
    "...",
    "\u2026 ",
    "\u3002",
    "\uff01",
    "Dr. ",
    "z.B. ",
    "U.S. ",
    "No. 5",
    "1. ",
    "a) ",
    '."',
    "'",
)
BREAKS = ("\n", "\r\n", "\x00", "\t", "\u2028", "\ud800", "\x85")
SPACES = (" ", "  ", "\u00a0", "\u200b", "\ufeff", "\u3000")
BULLETS = ("- ", "* ", "\u2022 ", "> ", "#", "\u2014 ")
SCRIPTS = (
    "Wort", "STOP ", "\u00e9t\u00e9", "\u017f", "\u0412\u043e\u0439\u043d\u0430", "\u0939\u093f", "\u094d", "\u732b",
    "\u4f60\u597d", "\u0e01", "\u05d0", "\u0130", "\ufb01", "e\u0301", "\u00b2", "CO\u2082", "\u00bd", "\u221e",
    "\u2122",
)  # fmt: skip
EMOJI = ("\U0001f600", "\u2764\ufe0f", "\U0001f468\u200d", "1\ufe0f\u20e3", "\u00a9", "\ufe0f")
NUMBERS = ("0", "1,234.5", "7", "1.234.567,8", "\u0663", "11/21/2026", ",")
PROTECTED = (
    "https://", "example.org/a?b=1&c", "www.", "mailto:", "jane.doe@", "mail.example.org", ".com", "{name}", "{", "}",
    "{{ user ", "}}", "{% if ", "%}", "${", "%(count)d", "%1$s", "%", "%A_B%", "$HOME", "<b>", "</b>", "<0/>", "<a ",
    "<!--", "-->", ">", "<", "`", "/etc", "~", "./", "C:\\", "\\", "report.pdf", ".", "--dry-run", "=", "--", "FOO_BAR",
    "_", "getElement", "aB", "()", "192.168.0.1", ":80", "@jane", "#", "550e8400", "-e29b", "0a", ":-)", "-", "X1",
    "x 2", "<%= ", "%>", "<# ", "#>", "<?", "?>", "{{{", "[[", "]]", "[% ", "*|", "|*", "%%", "%=", "{$a", "{*",
    "{if ", "[caption ", "a='b' ", "[/b]", "@if(", "$t(", "@:a", ":name", "&nbsp;", "&", "&&", "%d.", "%Y-",
    "2024-05-01", "T10:00", "yyyy-MM", " HH:mm", "DE89 3704 ", "rgb(", "1.2.", "text/html", "P3D", "Europe/", "fe80:",
    "12px", "'{", "aGVsbG8gd29y", "{n, plural, ", "one {", "offset:1 ", "{0,choice,", "0#", "|1<",
    "My Files/", "\u00ad", "\\\\a\\",
)  # fmt: skip
TEXT = (*ENDS, *BREAKS, *SPACES, *BULLETS, *SCRIPTS, *EMOJI, *NUMBERS)
"""Tokens of ordinary texts."""
EVERYTHING = (*TEXT, *PLACEHOLDERS, *PROTECTED)
TAGS = (
    "<b>", "</b>", "<i>", "</i>", "<a>", "</a>", "<p>", "</p>", "<br>", "<e/>", "<code>", "</code>", "<script>",
    "</script>", "<textarea>", "<", ">", "</", "/>", "<a href='x' ", '"', "'", "=", " title=", 'alt="Red" ', "<img ",
    "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<!DOCTYPE ", "&amp;", "&", "&#65;", "&x;", ";", "<p translate=no>",
    '<p class="x notranslate">', "class='", "<html lang=de>", "lang=", "<k>", "</k>", "<wbr>", "<%= ", "%>",
    "{{", "}}", "${", "word ", "a", " ", "\n",
    "\U0010fffe",
)  # fmt: skip
"""Tokens of HTML and XML."""
