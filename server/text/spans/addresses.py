"""Addresses, files, paths and names of programs."""

from server.text.spans.row import Row

_TOP_LEVEL = "com|org|net|edu|gov|io|dev|app|info|eu|de|at|ch|fr|es|it|nl|pl|cz|uk|us|jp|cn|ru|br"
_SUFFIXES = (
    "txt|md|rst|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|xml|html?|css|js|ts|py|rs|go|java|cpp|hpp|sh|bat|exe|dll|"
    "so|zip|gz|tar|png|jpe?g|gif|svg|mp[34]|wav|log|ini|conf|cfg|db|sql|php|po|srt|vtt"
)
_FOLDER = r"[A-Z0-9(][\w.()-]{0,60}+(?: [A-Z0-9(&][\w.()-]{0,60}+){1,4}+"
"""A name of a folder with blanks: each of its words begins with a capital letter, as none of a sentence does."""

ADDRESSES = (
    Row(
        "URLs",  # punctuation that may end a sentence does not end an address
        r"(?:\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://|\bwww\.|\bmailto:|\btel:)(?:[^\s<>\"\u201c\u201d]{0,2000}[\w/=&#%+~$-])",
        r"://|www\.|mailto:|tel:",
        (
            "https://example.org/a/b?q=1&r=%20#top", "www.example.org", "mailto:jane@example.org", "tel:+49-30-1234",
            "ftp://example.org/a.txt",
        ),
    ),
    Row(
        "data in addresses",
        r"\bdata:[\w.+/-]{3,60};base64,[A-Za-z0-9+/]{1,4000}={0,2}",
        "data:",
        ("data:image/png;base64,iVBORw0KGgo=",),
    ),
    Row(
        "addresses of mail",
        r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
        "@",
        ("jane.doe+x@mail.example.org",),
    ),
    Row(
        "names of hosts",
        rf"(?<![\w.@-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,6}}(?:{_TOP_LEVEL})\b(?!\.\w)(?:/[^\s<>\"]{{0,2000}}[\w/=&#%+~-]|/)?",
        r"\w\.[a-z]",
        ("example.com/path", "example.org", "sub.example.de/"),
        ("Mr. Smith vs. Dr. Who",),
    ),
    Row(
        "addresses of networks",
        r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5}|/\d{1,2})?(?![\w.]\d)"
        r"|(?<![\w:])[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){7}(?![\w:])"
        r"|(?<![\w:])(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6}(?![\w:])",
        r"\d\.\d|[0-9A-Fa-f]:[0-9A-Fa-f:]",
        ("192.168.0.1:80", "10.0.0.0/8", "fe80::1", "2001:db8::ff00:42:8329"),
    ),
)  # fmt: skip
FILES = (
    Row(
        "names of files",
        rf"(?<![\w./\\-])[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,5}}\.(?:{_SUFFIXES})\b",
        r"\w\.[a-z]",
        ("report.pdf", "a-b.min.js"),
    ),
    Row(
        "paths of Unix",
        rf"(?<![\w/.~])(?:~|\.{{1,2}}|\$\w{{1,40}})?(?:/(?:{_FOLDER}(?=/)|[\w.@+-]{{1,100}})){{1,40}}/?(?<![.])",
        "/",
        ("/etc/passwd", "~/notes/a.md", "../a/b", "/usr/local/share/My Files/x.txt", "./run", "$1/notes"),
        ("and/or", "km/h"),
    ),
    Row(
        "paths of Windows",
        rf"(?:\b[A-Za-z]:|\\\\[\w.$-]{{1,60}}|%[A-Z]{{2,30}}%)\\(?:(?:{_FOLDER}(?=\\)|[^\s\"<>|\\]{{1,100}})\\){{0,40}}+"
        r"[^\s\"<>|\\]{0,100}(?<![.,;:!?)])",
        r":\\|\\\\|%\\",
        (
            "C:\\Users\\tom\\a.txt", "C:\\Program Files\\Acme\\readme.txt", "\\\\server\\share\\a.doc", "D:\\",
            "C:\\Program Files (x86)\\Acme", "%APPDATA%\\Acme",
        ),
    ),
    Row("options", r"(?<![\w-])--[a-z][\w-]{1,60}(?:=[\w./-]{0,60}\w)?", "--[a-z]", ("--dry-run", "--level=5")),
    Row("calls", r"\b[A-Za-z_]\w{0,100}\(\)", r"\(\)", ("main()",)),
    Row(
        "names with underscores",
        r"\b[A-Za-z][A-Za-z0-9]{0,60}(?:_[A-Za-z0-9]{1,60}){1,20}\b",
        r"\w_\w",
        ("FOO_BAR", "user_id", "de_DE"),
    ),
    Row(
        "names with dots",
        r"(?<![\w.@/-])[a-z]\w{1,40}+(?:\.[A-Za-z]\w{1,40}+){2,10}+(?!\w)|\A[a-z][\w-]{0,60}(?:\.[a-z][\w-]{0,60}){1,10}\Z",
        r"\w\.[A-Za-z]",
        ("com.example.app.MainActivity", "user.profile.title"),
        ("u.s.w. and z.B. so", "The end.of it"),
    ),
    Row(
        "names in camel case",
        r"\b[a-z]{1,40}[a-z0-9]{0,40}[A-Z]\w{1,60}\b",
        "[a-z0-9][A-Z]",
        ("getElementById", "iPhone"),
    ),
    Row(
        "mentions and topics",
        r"(?<![\w&/])[@#][A-Za-z_]\w{1,60}(?:\.[A-Z]\w{0,60}){0,5}+",
        "[@#]",
        ("@jane", "#topic", "@Model.Name"),
    ),
    Row(
        "operators",
        r"(?<![^\s(])(?:\|\||=>|->|<=|>=|[!=]==?)(?![^\s).,])",
        r"\|\||=>|->|<=|>=|!=|==",
        ("->", "=>", "==", "!=", "<=", ">=", "||"),
        ("a < b",),
    ),
    Row("emoticons", r"(?<![^\s(])[:;]-?[)(DP|](?![^\s).,!?])", r"[:;]-?[)(DP|]", (":-)", ":D", ";-)")),
)  # fmt: skip
