from pathlib import Path

import pytest

from server.runtime.setting_fields import SettingsError
from server.settings import SETTINGS, EngineSettings, Settings


def test_defaults() -> None:
    settings = Settings.load({"PATH": "/bin"})
    assert settings == Settings()
    assert settings.engine.num_workers <= 4
    assert settings.models[0].name == "bundled"


def test_environment_and_flags() -> None:
    settings = Settings.load({"RINGMT_SLOTS": "3", "RINGMT_PORT": "9000"}, {"port": "1", "host": None})
    assert (settings.engine.slots, settings.port) == (3, 1)


def test_folders() -> None:
    assert Settings.load({"RINGMT_MODELS": "/a, /b"}).models == (Path("/a"), Path("/b"))


def test_every_setting_is_a_variable_and_a_flag() -> None:
    values = {
        "backend": "torchscript",
        "device": "cuda",
        "precision": "fp32",
        "log_level": "error",
        "log_format": "json",
        "access_log": "on",
        "open_admin": "on",
        "metrics_by_key": "on",
        "pivot": "off",
        "suggestions": "off",
        "shortlist": "off",
        "models": "/a",
        "load_models": "demand",
        "host": "::",
        "api_keys": "keys",
        "context_store": "sqlite:///documents.db",
    }
    for setting in SETTINGS:
        text = values.get(setting.name, "7")
        from_variable = Settings.load({setting.env: text})
        assert from_variable == Settings.load({}, {setting.name: text})
        assert from_variable != Settings()


def test_rows_describe_every_setting() -> None:
    rows = Settings.describe()
    assert [row[0] for row in rows] == [setting.flag for setting in SETTINGS]
    assert all(all(row) for row in rows)
    assert ("--max-waiting", "RINGMT_MAX_WAITING", "4096") in [row[:3] for row in rows]
    assert len({row[1] for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"RINGMT_SLOT": "3"}, "unknown environment variable RINGMT_SLOT: did you mean 'RINGMT_SLOTS'"),
        ({"RINGMT_SLOTS": "many"}, "RINGMT_SLOTS must be a whole number, not 'many'"),
        ({"RINGMT_SLOTS": "0"}, "slots must be at least 1"),
        ({"RINGMT_REQUEST_TIMEOUT": "nan"}, "request_timeout must be at least"),
        ({"RINGMT_REQUEST_TIMEOUT": "soon"}, "must be a number"),
        ({"RINGMT_LOAD_MODELS": "start", "RINGMT_MAX_MODEL_MEMORY": "1"}, "max_model_memory needs load_models"),
        ({"RINGMT_BACKEND": "onyx"}, "backend must be one of onnx, torchscript"),
        ({"RINGMT_PORT": "70000"}, "at most 65535"),
        ({"RINGMT_CONTEXT_CACHE_BYTES": "-1"}, "context_cache_bytes must be at least 0"),
        ({"RINGMT_DOCUMENT_TTL": "0"}, "document_ttl must be at least 1"),
        ({"RINGMT_MODELS": ","}, "models names no folder"),
        ({"RINGMT_API_KEYS": "store"}, "needs a context_store that keeps keys"),
        ({"RINGMT_MAX_BEAM_SIZE": "2"}, "default_beam_size 4 is larger than max_beam_size 2"),
    ],
)
def test_what_does_not_fit_is_told(environ: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.load(environ)


def test_fields_are_checked_without_a_reader() -> None:
    with pytest.raises(SettingsError, match="max_waiting"):
        EngineSettings(max_waiting=0)
