"""Data: dates and times as programs write them, numbers of accounts, colours, versions, types, hashes."""

from server.text.spans.row import Row

_MEDIA = (
    r"application/(?:[\w-]{1,60}[.+][\w.+-]{0,60}\w|x-[\w-]{1,60}|json|xml|pdf|zip|gzip|octet-stream|javascript|rtf|msword|"
    r"wasm|sql|graphql|yaml|toml|manifest|epub|ogg)|text/(?:plain|html|css|csv|xml|javascript|markdown|calendar|vtt|vcard|"
    r"event-stream|tab-separated-values|x-[\w-]{1,60})|image/(?:png|jpe?g|gif|webp|svg\+xml|avif|bmp|tiff|heic|x-icon|\*)|"
    r"audio/(?:mpeg|mp4|ogg|wav|webm|aac|flac|midi|\*)|video/(?:mp4|mpeg|ogg|webm|quicktime|x-[\w-]{1,60}|\*)|"
    r"font/(?:woff2?|ttf|otf)|multipart/(?:form-data|mixed|alternative|related)|message/rfc822|model/[\w.+-]{2,60}"
)
_AREAS = "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc"
_FIELD = (
    "(?:y{2,4}|Y{2,4}|M{1,5}|L{1,4}|d{1,4}|D{1,4}|E{1,5}|e{2,4}|u|H{1,2}|h{1,2}|k{1,2}|m{1,2}|s{1,2}|[Sf]{1,9}|a|A|tt|"
    "z{1,4}|Z{1,5}|X{1,3}|x{1,3}|K|'[^'\n]{1,20}')"
)
"""A part of a pattern of dates and times (Unicode Technical Standard 35, and .NET's)."""

_CURRENCY = "(?:(?:US|AU|NZ|CA|HK|[AC])?\\$|[\u00a3\u00a5\u20a0-\u20cf])"
_SCALE = r"(?:k|m|bn|tn|K|M|B|T)"
_NUMBER = r"\d{1,12}(?:[.,]\d{1,12}){0,5}"
_DASHES = "\\-\u2010-\u2015\u2212"
_UNIT = rf"(?:{_SCALE}\b|[ \u00a0\u202f]?(?:[%\u2030]|\u00b0[CF]?|{_CURRENCY}))"
_AMOUNT = rf"(?:{_CURRENCY}[ \u00a0]?{_NUMBER}(?:{_SCALE}\b)?|{_NUMBER}{_UNIT})"
"""A number with a currency, a share, a degree, or a letter for its size: "$5m", "10%", "5 \u20ac", "5k"."""
_CLOCK = r"\d{1,2}(?::\d{2}(?:[ap]m\b)?|(?:\.\d{2})?[ap]m\b)"
_RANGE = (
    rf"{_AMOUNT}[{_DASHES}](?:{_AMOUNT}|{_NUMBER})|{_NUMBER}[{_DASHES}]{_AMOUNT}"
    rf"|{_AMOUNT}[ \u00a0\u2009\u202f][{_DASHES}][ \u00a0\u2009\u202f]{_AMOUNT}"
    rf"|{_CLOCK}[{_DASHES}]{_CLOCK}|{_NUMBER}[\u2010-\u2015\u2212]{_NUMBER}"
)

DATA = (
    Row(
        "dates and times of ISO 8601",
        r"(?<![\w.-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?Z\b|[+-]\d{2}:?\d{2})?)?"
        r"(?![\w-])"
        r"|(?<![\w:.])T?\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z\b|[+-]\d{2}:?\d{2})(?!\w)"
        r"|(?<![\w.-])\d{8}T\d{6}Z?(?!\w)|(?<![\w.-])\d{4}-W\d{2}(?:-\d)?(?!\w)",
        r"\d-[\dW]|\d:\d|\dT",
        (
            "2024-05-01", "2024-05-01T10:00:00Z", "2024-05-01 10:00", "2024-05-01T10:00:00.123+02:00",
            "20240501T100000Z", "10:30:00.123+02:00", "2024-W18-3",
        ),
        ("at 10:30", "from 5-6 to 7-8", "2024-05 was"),
    ),
    Row(
        "dates in numbers",
        r"(?<![\w./-])(?:\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{4}/\d{1,2}/\d{1,2})"
        r"(?!\w|[./-]\d)|(?<![\w./-])(?:0[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.(?= [a-z\u2013-])",
        r"\d{1,2}[./]\d{1,2}[./]|\d{4}/",
        ("31.12.2024", "1.3.24", "12/31/2024", "2024/05/01", "12.11.2026"),
        ("12.345.678", "1/2", "at 9.30 or 3.5"),
    ),
    Row(
        "dates of HTTP and of mail",
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} "
        r"\d{2}:\d{2}(?::\d{2})? (?:GMT|UTC|[+-]\d{4})(?!\w)",
        r"(?:GMT|UTC|[+-]\d{4})",
        ("Mon, 01 Jan 2024 10:00:00 GMT", "Tue, 3 Dec 2024 09:15:00 +0100"),
    ),
    Row(
        "times of cron",
        r"(?<![^\s(])(?=[^\n]{0,40}?\*)[\d*][\d*/,?-]{0,19}(?: [\d*/,?LW#-]{1,20}){3,5} "
        r"(?:[\d*/,?L#-]{1,20}|(?:MON|TUE|WED|THU|FRI|SAT|SUN)(?:[-,](?:MON|TUE|WED|THU|FRI|SAT|SUN)){0,6})(?![^\s).,])",
        r"\* ",
        ("0 12 * * MON-FRI", "*/5 * * * *", "0 0 12 * * SUN,MON"),
    ),
    Row(
        "durations of ISO 8601",
        r"(?<![\w.-])P(?=T?\d)(?:\d{1,6}(?:[.,]\d{1,6})?[YMWD]){0,4}+(?:T(?:\d{1,6}(?:[.,]\d{1,6})?[HMS]){1,3}+)?(?!\w)",
        r"P[\dT]",
        ("P3DT4H", "PT15M", "P1Y2M", "PT0.5S"),
    ),
    Row(
        "time zones",
        rf"(?<![\w/])(?:{_AREAS})/(?!(?:{_AREAS})\b)[A-Z][\w+-]{{1,40}}(?:/[A-Z]\w{{1,40}})?|(?<!\w)(?:UTC|GMT)[+-]\d{{1,2}}(?::?\d{{2}})?(?!\w)",
        r"[a-z]/[A-Z]|(?:UTC|GMT)[+-]",
        ("Europe/Berlin", "America/Argentina/Ushuaia", "UTC+02:00", "GMT-5"),
        ("Europe/Asia",),
    ),
    Row(
        "patterns of dates and times",
        rf"(?<![\w'])(?=[^\n]{{0,24}}?(?:yy|YY|[Hh]:mm|HH|mm:ss|MM[-/.]d|dd?[-/.]M)){_FIELD}"
        rf"(?:(?>[-/.:, T]{{1,2}}{_FIELD}|(?<=[DMSdmsy']){_FIELD})(?=[^\Wa-zA-Z]|[DMSXZdmsyHhf']|\W|\Z)){{1,12}}(?!\w)",
        r"yy|YY|[Hh]:mm|HH|mm:ss|MM[-/.]d|d[-/.]M",
        (
            "yyyy-MM-dd HH:mm", "dd.MM.yyyy", "EEE, d MMM yyyy HH:mm:ss Z", "h:mm a", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
            "MM/dd/yy", "DD.MM.YYYY", "HH:mm:ss",
        ),
        ("5 mm, 3 m", "a. m.", "Happy yy"),
    ),
    Row(
        "numbers of bank accounts",
        r"(?<!\w)[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}+"
        r"|(?: (?=[A-Z]{0,3}\d|[A-Z]{4} [A-Z]{0,3}\d)[A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?!\w)",
        r"[A-Z]{2}\d{2}",
        (
            "DE89 3704 0044 0532 0130 00", "GB29 NWBK 6016 1331 9268 19", "DE89370400440532013000",
            "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
        ),
    ),
    Row(
        "colours",
        r"(?<![\w&])#(?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{3,4})(?!\w)"
        r"|\b(?:rgba?|hsla?|hwb|oklab|oklch|lab|lch|cmyk|color)\([^()\n]{3,100}\)",
        r"#[0-9A-Fa-f]|(?:rgb|hsl|hwb|lab|lch|cmyk|color)a?\(",
        ("#ff0000", "#0A3", "#00ff0080", "rgb(255, 0, 0)", "hsl(120, 100%, 50%)", "rgba(0,0,0,.5)"),
        ("#1 of", "a#b"),
    ),
    Row(
        "versions",
        r"(?<![\w.,-])(?:v\d{1,5}(?:\.\d{1,5}){0,4}|(?!\d{1,2}\.\d{1,2}\.\d{2,4}(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?!\d))\d{1,5}(?:\.\d{1,5}){2,4}|\d{1,5}\.\d{1,5}(?=-?(?:alpha|beta|rc|dev|post)))"
        r"(?:[-.]?(?:alpha|beta|rc|dev|post|pre|SNAPSHOT)(?:[.-]?\d{1,5})?)?(?:\+[\w.-]{1,40}\w)?(?![\w,]|\.\d)",
        r"\bv\d|\.\d{1,5}\.|\d\.\d+-?[a-z]",
        ("v1.2.3-beta.1", "1.2.3", "v2", "2.0-rc1", "10.4.1+build.5", "4.0.0-SNAPSHOT"),
        ("1.234.567,8", "3.5 euros", "5.1 km"),
    ),
    Row(
        "types of media",
        rf"(?<![\w/])(?:{_MEDIA})(?![\w/])(?:;\s?[\w-]{{1,40}}=[\w-]{{1,60}})?",
        "[a-z]/[a-z]",
        ("text/html; charset=utf-8", "application/json", "image/png", "application/vnd.ms-excel"),
        ("a text/image pair", "and/or"),
    ),
    Row("languages with countries", r"(?<![\w-])[a-z]{2}-[A-Z]{2}(?![\w-])", "[a-z]{2}-[A-Z]{2}", ("en-US",)),
    Row(
        "lengths of style sheets",
        r"(?<![\w.,])\d{1,5}(?:\.\d{1,4})?(?:px|rem|em|vh|vw|fr)\b",
        r"\d(?:px|r?em|v[hw]|fr)\b",
        ("12px", "1.5rem", "100vh"),
    ),
    Row(
        "hardware addresses",
        r"(?<![\w:-])[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}(?![\w:-])",
        "[0-9A-Fa-f]{2}[:-][0-9A-Fa-f]{2}[:-]",
        ("00:1B:44:11:3A:B7", "00-1b-44-11-3a-b7"),
    ),
    Row(
        "hashes and identifiers",
        r"(?<!\w)(?=[a-fA-F]{0,20}[0-9])(?:[0-9a-f]{8}(?:-[0-9a-f]{4,12}){2,4}+|[0-9A-F]{8}(?:-[0-9A-F]{4,12}){2,4}+|[0-9a-f]{12,128}+)(?!\w)",
        "[0-9a-f]{8}|[0-9A-F]{8}",
        ("550e8400-e29b-41d4-a716-446655440000", "d41d8cd98f00b204e9800998ecf8427e", "550E8400-E29B-41D4-A716-4466"),
    ),
    Row("hexadecimal numbers", r"(?<!\w)0[xX][0-9A-Fa-f]{2,64}(?!\w)", "0[xX]", ("0xDEADBEEF", "0x1f")),
    Row(
        "base64 and tokens",
        r"(?<![\w+/=])(?=[a-zA-Z]{0,60}[0-9+/])(?=[^a-z\s]{0,60}[a-z])(?=[^A-Z\s]{0,60}[A-Z])[A-Za-z0-9+/_-]{20,4000}+(?:\.[A-Za-z0-9_-]{10,4000}+){0,2}={0,2}(?!\w)"
        r"|(?<![\w+/=])[A-Za-z0-9+/]{6,4000}+={1,2}(?![\w=])",
        "[A-Za-z0-9+/_-]{20}|[A-Za-z0-9+/]{6}=",
        ("aGVsbG8gd29ybGQ=", "eyJhbGciOiJIUzI1NiJ9x0.eyJzdWIiOiIxMjM0In0x", "dGhpcyBpcyBhIHRlc3Qx0A0A"),
    ),
    Row(
        "lines drawn with signs, and blanks to fill in",
        r"={3,}|_{3,}|~{3,}|\*{3,}|#{3,}|\+{3,}|-{4,}",
        r"={3}|_{3}|~{3}|\*{3}|#{3}|\+{3}|-{4}",
        ("====", "________", "~~~", "***", "###", "+++", "-----"),
        ("a -- b", "well--known", "2 ** 3"),
    ),
    Row(
        "ranges of amounts",
        rf"(?<![\w$.,:/{_DASHES}])(?:{_RANGE})(?![\w%/{_DASHES}]|[.,:]\d)",
        rf"\d[^\n]{{0,4}}[{_DASHES}][^\n]{{0,5}}\d",
        (
            "$5m\u2013$7m", "5\u20137 \u20ac", "\u00a33bn-4bn", "10%\u201320%", "5\u201320 %", "\u20ac5-\u20ac7", 
            "US$1.5m \u2013 US$2m",
            "$50-60", "20\u00b0\u201325\u00b0C", "5k-10k", "5\u20137", "1990\u201395", "9am-5pm",
            "10:30\u201312:00",
        ),
        ("5-7 days", "10-year", "$5 - it is", "for $5 - 7 were sold", "between 5 and 7%"),
    ),
    Row(
        "raised and lowered signs of Markdown",
        r"(?<!\w)[^\W\d_]{1,3}(?:\^[\w+-]{1,6}\^|~\d{1,4}~)\w{0,6}",
        r"\w[\^~][\w+-]",
        ("x^2^", "H~2~O", "CO~2~", "m^3^"),
        ("a~b",),
    ),
    Row(
        "letters to choose from",
        r"(?<![\w|\\])[^\W\d_](?:\|[^\W\d_]){1,20}(?![\w|])",
        r"[^\W\d_]\|[^\W\d_]",
        ("a|b|c", "y|n"),
        ("a|ab", "|a|"),
    ),
    Row("regular expressions", r"\A\^[^\s]{1,500}\$\Z", r"\A\^", ("^[A-Za-z0-9]+$",)),
)  # fmt: skip
