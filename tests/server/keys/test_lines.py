"""Lines of keys."""

import pytest

from server.keys.lines import read_keys
from server.runtime.setting_fields import SettingsError


@pytest.mark.parametrize(
    ("line", "expected_message"),
    [
        ("a translate sha256:12", "line 1 is not 'NAME SCOPES"),
        (f"a translat sha256:{'0' * 64}", "unknown scope 'translat': did you mean 'translate'"),
        (f"a translate sha256:{'0' * 64} rates=1", "unknown limit 'rates': did you mean 'rate'"),
        (f"a translate sha256:{'0' * 64} rate=0", "rate must be a number above 0"),
        (f"a translate sha256:{'0' * 64} concurrency=1.5", "concurrency must be a number above 0"),
        (
            f"a translate sha256:{'0' * 64}\na admin sha256:{'1' * 64}",
            "line 2: 'a' has other scopes on an",
        ),
        (f"a translate sha256:{'0' * 64} rate=1\na translate sha256:{'1' * 64}", "line 2: 'a' has other rate"),
        (f"a translate sha256:{'0' * 64}\nb translate sha256:{'0' * 64}", "line 2: the same secret .* of 'a'"),
        ("# nothing", "holds no key"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(line: str, expected_message: str) -> None:
    with pytest.raises(SettingsError, match=expected_message):
        read_keys(line.splitlines(), "keys")
