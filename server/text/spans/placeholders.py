"""Tags, and what programs put values, keys and signs in place of: format strings, libraries for translated messages."""

from server.text.spans.row import Row

_CONVERSION = r"(?:ll?|hh?|z|j|t|q|L)?[diouxXeEfFgGcsSpqvTnb@](?![A-Za-z])"
_FORMAT = r"[-+0#']{0,3}+(?:\d{1,3}+|\*)?(?:\.(?:\d{1,3}+|\*))?"
_ELEMENTS = "b|big|br|del|div|em|font|h[1-6]|hr|i|ins|li|mark|p|q|s|small|span|strike|strong|sub|sup|td|th|tr|u|wbr"
"""Of HTML, that stand behind numbers: "100%<b>bold</b>" has no placeholder."""
_NAMED = rf"(?!(?:{_ELEMENTS})>)\w{{1,100}}>{_FORMAT}[diouxXeEfFgGcrsa]"
NOT_NAMED = rf"(?!(?<=%<){_NAMED})"
"""Behind "<": it is not that of a placeholder of Ruby, such as "%<name>s"."""

TAGS = (
    Row("comments of markup", r"<!--.{0,500}?-->", "<!--", ("<!-- a > b -->",)),
    Row(
        "tags",
        r"</?[A-Za-z][\w:.-]*+(?:\s[^<>]{0,500})?/?>",
        "<",
        ("<b>", "</b>", "<br/>", "<a href='x y'>", "<x:y z>"),
        ("a <b and c", "x < y > z"),
    ),
    Row("numbered tags", r"</?\d{1,4}\s?/?>", "<", ("<0/>", "</0>", "<1>"), ("a <3 b",)),
)
MESSAGES = (
    Row(
        "placeholders in braces",
        r"\{[^{}\s]{0,100}\}|\{\s?[\w.-]{1,100}\s?\}",
        r"\{",
        ("{name}", "{0}", "{ user.name }", "{}", "{0:N2}", "{price:>10}", "{'@'}"),
        ("He said: {well, you know}",),
    ),
    Row(
        "arguments of messages and of .NET's formats",
        r"\{\s?[\w.-]{1,100}\s?,\s*+(?:number|date|time|spellout|ordinal|duration|list)\s*+(?:,[^{}\n]{0,500}+)?\}"
        r"|\{\d{1,3}(?:,\s?-?\d{1,4})?:[^{}\n]{1,200}+\}",
        r"\{",
        (
            "{date, date, long}", "{count, number}", "{price, number, ::currency/EUR}", "{t, time, h:mm a}",
            "{0:dd MMM yyyy}", "{1,10:C}",
        ),
    ),
    Row(
        "syntax of messages that do not follow the grammar",
        r"\{\s?[\w.-]{1,100}\s?,\s?(?:plural|selectordinal|select|choice)\s?,(?:\s?offset:\d{1,3})?"
        r"|(?<![\w=])(?:zero|one|two|few|many|other|=\d{1,3})\s?\{(?!\s?[\w.-]{1,100}\s?\})",
        r"\{",
        ("{count, plural,", "{n, select,", "one {", "=0 {"),
        ("one of {a, b}",),
    ),
    Row(
        "quoted braces of messages",
        r"'[{}]{1,4}'|(?<!\w)'(?:[{}]++|\{[^{}'\n]{1,100}\})'(?!\w)",
        r"'[{}]",
        ("'{'", "'}'", "'{}'", "'{name}'"),
    ),
    Row("the number of a plural", r"(?<![^\s({\[<>])#(?![^\s)}\].,;:!?<])", "#", ("#",)),
    Row(
        "named placeholders of Python and Ruby",
        rf"%\(\w{{1,100}}\){_FORMAT}[diouxXeEfFgGcrsa]|%<{_NAMED}",
        "%[(<]",
        ("%(count)d", "%(price).2f", "%<name>s", "%<price>.2f"),
    ),
    Row(
        "variables of Apple's plurals",
        r"%(?:\d{1,2}\$)?#@\w{1,100}+@|%(?:\d{1,2}\$)?arg(?!\w)",
        r"#@|%(?:\d{1,2}\$)?arg",
        ("%#@files@", "%1$#@files@", "%arg", "%2$arg"),
        ("100%arguable",),
    ),
    Row(
        "patterns of strftime",
        r"(?=[^\n]{0,8}?%[-_^#]?[BHIMYmy])%[-_^#]?[A-Za-z](?:[-/.:, T]{0,2}%[-_^#]?[A-Za-z]){1,20}+(?![A-Za-z])",
        "%[-_^#]?[A-Za-z]",
        ("%Y-%m-%d %H:%M", "%d.%m.%Y", "%-d. %B %Y"),
    ),
    Row(
        "placeholders of printf",
        rf"(?<!\w)%(?:\d{{1,2}}\$)?{_FORMAT}{_CONVERSION}|(?<=[A-Za-z])%(?:\d{{1,2}}\$)?[ds@](?![A-Za-z])|%\d{{1,2}}\$[ds@]",
        "%",
        ("%s", "%1$s", "%-5.2f", "%05d", "%@", "%1$@", "%ld", "%lu", "%.1f", "%v", "%+d", "%*d", "%zu", "%'d"),
        ("100% sure", "50 % der", "5%"),
    ),
    Row("the percent sign of printf", "%%", "%%", ("%%",)),
    Row(
        "placeholders of Qt",
        r"(?<![\w%])%(?:L?\d{1,2}|n)(?![\w%]|[.,]\d)",
        "%[L0-9n]",
        ("%1", "%L2", "%n"),
        ("%1.5",),
    ),
    Row(
        "keys of MkDocs",
        r"(?<![\w+])\+\+[a-z0-9][\w-]{0,20}+(?:\+[\w-]{1,20}+){0,6}\+\+(?![\w+])",
        r"\+\+[a-z0-9]",
        ("++ctrl+alt+del++", "++enter++"),
        ("C++ and C++",),
    ),
    Row(
        "references of i18next",
        r"\$t\((?:[^()\n{]++|\{\{[^{}\n]*+\}\}|\{(?:[^{}()\n]++|\{\{[^{}\n]*+\}\})*+\})*+\)",
        r"\$t\(",
        ("$t(girls, {'count': {{girls}} })", "$t(common.save)", '$t(a, { "count": {{n}} })'),
    ),
    Row(
        "placeholders of Chrome",
        r"(?<![\w$])\$[A-Za-z_@][\w@]{0,100}+\$",
        r"\$[A-Za-z_@]",
        ("$NAME$", "$PERSON_1$", "$count$"),
    ),
    Row("variables", r"(?<![\w$])\$[A-Za-z_]\w{0,100}", r"\$[A-Za-z_]", ("$HOME", "$name"), ("of $5, and",)),
    Row(
        "references of vue-i18n",
        r"(?<![\w@])@(?:\.[a-z]{1,20}+)?:(?:\([\w.-]{1,100}+\)|\w[\w-]{0,100}+(?:\.\w[\w-]{0,100}+){0,20}+)",
        "@[.:]",
        ("@:menu.settings", "@.lower:message.hello", "@:(a.b)"),
    ),
    Row(
        "the names of emoji",
        r"(?<![\w:]):[a-z][a-z0-9_+-]{1,40}+:(?![\w:])",
        ":[a-z]",
        (":smile:", ":thumbs_up:"),
    ),
    Row(
        "placeholders of Laravel",
        r"(?<![^\s(\[\"'\u201e\u201c\u00ab>/-]):[A-Za-z_]\w{1,60}+(?![\w:])",
        ":[A-Za-z_]",
        (":name", ":Name", ":max_size"),
        ("at 10:30", "Note: text", "Note:text", "a: b"),
    ),
    Row(
        "references to characters",
        r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
        "&[A-Za-z#]",
        ("&nbsp;", "&#8217;", "&#xA0;", "&amp;"),
        ("A & B; C",),
    ),
    Row("code", r"`[^`\n]{1,300}`", "`", ("`ls -la`",)),
    Row("escapes", r"\\[nrt](?![a-z\\])|\\u[0-9A-Fa-f]{4}", r"\\[nrtu]", ("\\n", "\\u00e9")),
)  # fmt: skip
