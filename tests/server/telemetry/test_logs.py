"""The log: JSON objects with the request's id, and no user text."""

import datetime
import io
import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.telemetry.logs import JsonLines, TextLines, log_config, request_id
from tests.server.api.conftest import ready, settings_for

SECRET = "Zwiebelkuchen"


def logged(formatter: logging.Formatter, message: str, error: Exception | None = None, **extra: object) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger = logging.Logger("ringmt")
    logger.addHandler(handler)
    logger.error(message, exc_info=error, extra=extra)
    return stream.getvalue()


def test_the_fields_of_a_json_line() -> None:
    token = request_id.set("abc")
    try:
        line = json.loads(logged(JsonLines(), "answered", status=200, seconds=0.5, unknown="x"))
    finally:
        request_id.reset(token)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "error", "logger": "ringmt", "message": "answered", "request_id": "abc", "status": 200, "seconds": 0.5
    }  # fmt: skip


@given(name=st.text() | st.text(st.sampled_from("a\n\r\v\f\x1b\x85\u2028\u2029\u202e\ud800\0")))
def test_a_name_of_a_client_stays_in_one_line(name: str) -> None:
    """No character of the log splits a line or controls a terminal."""
    for record in (logged(TextLines(), f"model '{name}' was not loaded"), logged(TextLines(), "x", model=name)):
        assert record.endswith("\n")
        assert record[:-1].isprintable()
        record.encode("utf-8")
    assert logged(TextLines(), "model 'größe' was loaded") == "ERROR:   model 'größe' was loaded\n"


@pytest.mark.parametrize("formatter", [TextLines(), JsonLines()])
def test_an_exception_is_logged_without_its_message(formatter: logging.Formatter) -> None:
    try:
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise ValueError(f"cannot use {SECRET}") from cause
    except ValueError as error:
        line = logged(formatter, "it failed", error)
    assert "ValueError" in line
    assert "KeyError" in line
    assert "test_logs.py" in line
    assert SECRET not in line.replace("{SECRET}", "")


def test_no_text_of_a_request_is_logged(
    tiny_artifact: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from server.translation.translator import Translator

    settings = settings_for(tiny_artifact, log_level="debug", log_format="json", access_log="on")
    with ready(settings) as server, server.client() as client:
        body = {"text": SECRET, "source": "en", "target": "de"}
        headers = {"X-Request-ID": "mine"}
        assert client.post("/v1/translate", json=body, headers=headers).status_code == 200
        assert client.post(f"/v1/translate?q={SECRET}", json=body).status_code == 422
        assert client.post(f"/{SECRET}").status_code == 404

        def broken(*_: object) -> None:
            raise RuntimeError(SECRET)

        monkeypatch.setattr(Translator, "prepare", broken)
        assert client.post("/v1/translate", json=body, headers={"X-Request-ID": "other"}).status_code == 500
    log = capfd.readouterr().err
    assert SECRET not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    answered = {line["request_id"]: line for line in lines if line["message"] == "answered"}
    assert (answered["mine"]["endpoint"], answered["mine"]["status"]) == ("/v1/translate", 200)
    assert (answered["mine"]["model"], answered["mine"]["method"]) == ("tiny", "POST")
    assert answered["other"]["status"] == 500
    failed = next(line for line in lines if "exception" in line)
    assert failed["request_id"] == "other"
    assert "RuntimeError" in failed["exception"]


def test_the_configuration_names_one_format() -> None:
    assert log_config("warning", "text")["loggers"]["ringmt"]["level"] == "WARNING"
    assert log_config("info", "json")["formatters"]["lines"]["()"] is JsonLines


@pytest.mark.parametrize("created", [0.0, 0.005, 1.05, 1_800_000_000.5])
def test_the_time_of_a_json_line_is_iso_8601_in_utc(created: float) -> None:
    record = logging.LogRecord("ringmt", logging.INFO, "x.py", 1, "answered", None, None)
    record.created, record.msecs = created, created % 1 * 1000
    moment = datetime.datetime.fromisoformat(json.loads(JsonLines().format(record))["time"])
    assert moment.utcoffset() == datetime.timedelta(0)
    assert abs(moment.timestamp() - created) < 0.0011


@pytest.mark.parametrize("is_suppressed", [True, False])
def test_frames_of_an_error_that_was_replaced_are_shown_unless_suppressed(is_suppressed: bool) -> None:
    def replace() -> None:
        try:
            raise KeyError("x")
        except KeyError as error:
            if is_suppressed:
                raise ValueError(SECRET) from None
            raise ValueError(SECRET) from error

    with pytest.raises(ValueError, match=SECRET) as caught:
        replace()
    shown = logged(TextLines(), "failed", caught.value)
    assert ("KeyError" in shown) == (not is_suppressed)
    assert "ValueError" in shown
    assert SECRET not in shown
