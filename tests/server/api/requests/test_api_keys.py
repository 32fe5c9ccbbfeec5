"""Keys as the server reads and counts them."""

import pytest

from server.api.requests.api_keys import Key, KeyRing, LimitReached, new_key, read_keys
from server.settings import SettingsError


def key(**limits: float) -> tuple[Key, list[float]]:
    """A key with limits, and the clock that it reads."""
    now = [0.0]
    return Key("a", frozenset({"translate"}), ("0" * 64,), clock=lambda: now[0], **limits), now  # type: ignore[arg-type]


def test_a_new_key_is_found_and_no_other() -> None:
    secret, line = new_key("shop", ("translate", "documents"))
    other, other_line = new_key("desk", ("admin",))
    ring = KeyRing.load(f"# ours\n{line} concurrency=2 rate=1.5\n\n{other_line}")
    result = ring.find(secret)
    assert result is not None
    assert (result.name, result.concurrency, result.rate) == ("shop", 2, 1.5)
    assert result.may("translate")
    assert not result.may("admin")
    desk = ring.find(other)
    assert desk is not None
    assert desk.may("documents")
    for wrong in ("", secret[:-1], secret + "x", line, result.hashes[0], "\udcff"):
        assert ring.find(wrong) is None
    assert secret not in repr(ring), "a secret is not kept"
    assert secret not in line


def test_a_file_and_a_variable_say_the_same(tmp_path: object) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "keys"
    _, first = new_key("a", ("translate",))
    _, two = new_key("b", ("documents",))
    file.write_text(f"{first}\n{two}\n")
    assert [k.hashes for k in KeyRing.load(str(file)).keys] == [k.hashes for k in KeyRing.load(f"{first}; {two}").keys]


@pytest.mark.parametrize(
    ("line", "said"),
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
def test_a_line_that_cannot_be_used_says_why(line: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_keys(line.splitlines(), "keys")


def test_a_file_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match="ringmt key NAME"):
        KeyRing.load("/nowhere/keys")


def test_concurrency_counts_what_is_in_work() -> None:
    limited, _ = key(concurrency=2)
    limited.enter()
    limited.enter()
    with pytest.raises(LimitReached, match="2 requests in work"):
        limited.enter()
    assert limited.in_work == 2
    limited.release()
    limited.enter()


def test_a_rate_allows_a_burst_and_then_one_at_a_time() -> None:
    limited, now = key(rate=5.0)
    for _ in range(10):
        limited.enter()
    with pytest.raises(LimitReached) as refused:
        limited.enter()
    assert refused.value.seconds == 1
    now[0] += 0.2
    limited.enter()
    with pytest.raises(LimitReached):
        limited.enter()
    now[0] += 1000
    for _ in range(10):
        limited.enter()
    with pytest.raises(LimitReached):
        limited.enter()


def test_a_slow_rate_says_when_to_come_back() -> None:
    limited, _ = key(rate=0.1)
    limited.enter()
    with pytest.raises(LimitReached) as refused:
        limited.enter()
    assert refused.value.seconds == 10


def test_an_owner_is_a_name_whatever_the_secret() -> None:
    old, line = new_key("shop", ("documents",))
    new, newer = new_key("shop", ("documents",))
    ring = KeyRing.load(f"{line} concurrency=1\n{newer} concurrency=1")
    results = [ring.find(secret) for secret in (old, new)]
    assert results[0] is not None
    assert results[0] is results[1]
    assert (results[0].owner, len(ring.keys)) == ("shop", 1)
    results[0].enter()
    with pytest.raises(LimitReached):  # the limits are those of both together
        results[1].enter()


def test_former_owners_are_those_of_every_secret() -> None:
    """As they were made of it before: the hash of "owner " and the secret's hash."""
    ring = KeyRing.load(f"a documents sha256:{'0' * 64}\na documents sha256:{'1' * 64}\nb admin sha256:{'2' * 64}")
    assert ring.former_owners == {"c669795bf442": "a", "d908ebefd00a": "a", "aaf6fdc06ead": "b"}


def refused_for(limited: Key) -> float:
    """Send requests until one is refused: the seconds after which it may be sent again."""
    while True:
        try:
            limited.enter()
        except LimitReached as limit:
            return limit.seconds


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0, 2.5, 40.0])
def test_a_client_that_waits_for_retry_after_is_admitted(rate: float) -> None:
    """And who waits a second less is not, where that is more than a second."""
    limited, now = key(rate=rate)
    for _ in range(3):
        seconds = refused_for(limited)
        if seconds > 1:
            now[0] += seconds - 1
            with pytest.raises(LimitReached):
                limited.enter()
            now[0] += 1
        else:
            now[0] += seconds
        limited.enter()
