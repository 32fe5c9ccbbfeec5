"""The settings of the server: each is a field of Settings or EngineSettings.

A field `max_waiting` is the flag `--max-waiting` of `ringmt serve`, the environment variable `RINGMT_MAX_WAITING` and
a row of SETTINGS.md. A flag overrides its variable. An unknown name is an error that suggests the nearest known one.

pydantic-settings is not used: importing it takes 0.16 s, while `ringmt translate` starts in 0.38 s, and it does not
reject unknown variables.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_type_hints

from server.runtime.cpu_cores import usable_cores
from server.runtime.nearest_name import nearest
from server.runtime.setting_fields import ENV_PREFIX, Setting, SettingsError, check, parse, setting

KEYS_IN_STORE = "store"
"""The setting `api_keys` of a server whose keys are all in its store."""
BUNDLED_MODELS = Path(__file__).parent / "bundled"


@dataclass(frozen=True)
class EngineSettings:
    """The settings of the engine, for every model."""

    slots: int = setting(32, "sentences that a model decodes at the same time", at_least=1)
    max_waiting: int = setting(
        4096, "sentences of requests that wait for a slot, per model and key; more are refused with 429", at_least=1
    )
    max_waiting_tokens: int = setting(
        262_144,
        "source tokens of requests that wait for a slot, per model and key; more are refused with 429",
        at_least=1,
    )
    num_workers: int = setting(
        min(4, usable_cores()),
        "decoding threads of each model; threads without work sleep",
        at_least=1,
        shown="usable cores, at most 4",
    )
    intra_threads: str = setting(
        "auto",
        "threads that compute a step together while one decoding thread has work and all others sleep, on the CPU with "
        "the backend onnx; auto: 2 for models with 1,024 dimensions or more (512 at fp32) or, without a shortlist, "
        "many words (8,192 for 512 dimensions), else 1",
        matches=r"auto|[1-9]\d?",
    )
    backend: Literal["onnx", "torchscript"] = setting("onnx", "runtime that executes the graphs")
    device: str = setting(
        "cpu",
        "device that executes the graphs: cpu; cuda; with the backend torchscript also cuda:1 and so on, mps, or "
        "several: cuda:0,cuda:1",
        matches=r"(cpu|mps|cuda(:\d+)?)(,(cpu|mps|cuda(:\d+)?))*",
    )
    precision: Literal["int8", "fp32", "fp16", "bf16"] = setting(
        "int8", "precision of the graphs that are loaded; fp16 and bf16 with the backend torchscript"
    )
    shortlist: Literal["auto", "on", "off"] = setting(
        "auto", "score only the words that a sentence is likely to need; auto: if the artifact has a shortlist"
    )
    translation_cache_bytes: int = setting(
        67_108_864,
        "bytes of the cache of translations, per model; 0 disables it",
        at_least=0,
    )
    max_beam_size: int = setting(8, "largest beam size that a request may choose", at_least=1)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Settings:
    """All settings of the server. Lengths of text are in characters, sizes in bytes, times in seconds."""

    engine: EngineSettings = dataclasses.field(default_factory=EngineSettings)
    host: str = setting("127.0.0.1", "address to listen on; 0.0.0.0 for every interface, :: for IPv6 as well")
    port: int = setting(8000, "port to listen on; 0 takes a free one", at_least=0)
    processes: str = setting(
        "1",
        "processes that are this server, N or auto: one for every 4 cores. More than one need Linux, and a "
        "context_store that they share",
        matches=r"auto|[1-9]\d{0,2}",
    )
    root_path: str = setting("", "path prefix under which a proxy publishes the server, such as /mt", shown="none")
    forwarded_allow_ips: str = setting(
        "127.0.0.1,::1",
        "addresses or networks of proxies, separated by commas, whose X-Forwarded-Proto, -Host and -Prefix are "
        "believed; * for all",
    )
    models: tuple[Path, ...] = setting(
        (BUNDLED_MODELS,),
        "folders, separated by commas or in several flags: artifacts, or folders with artifacts anywhere below them",
    )
    load_models: Literal["auto", "start", "background", "demand"] = setting(
        "auto",
        "when models are loaded: start, before the first request; demand, each for its first request; background, for "
        "that or one after the other; auto: up to 8 at the start, more on demand",
    )
    max_model_memory: int = setting(
        0,
        "bytes of all models in memory; for another one, models that no request uses are unloaded; 0 for any number. "
        "With a limit, auto loads on demand",
        at_least=0,
    )
    max_body_bytes: int = setting(
        4_194_304, "largest request body without a file, in bytes; a larger one is refused with 413", at_least=1
    )
    max_file_bytes: int = setting(
        33_554_432,
        "largest file in bytes, with its pictures; a larger one is refused with 413. Its text is limited by "
        "max_total_chars",
        at_least=1,
    )
    max_bodies_bytes: int = setting(
        67_108_864,
        "bytes of all request bodies without files in memory, at least max_body_bytes; further bodies wait, then get "
        "429",
        at_least=1,
    )
    max_connections: int = setting(
        1024,
        "open connections; a further one closes an idle one, or gets 503 if none is idle",
        at_least=1,
    )
    max_texts: int = setting(256, "texts in one request", at_least=1)
    max_text_chars: int = setting(100_000, "characters of one text", at_least=1)
    max_total_chars: int = setting(
        500_000,
        "characters of all texts of one request or file. A file may also have 1,000 texts (paragraphs, cells, cues, "
        "messages) and one more for every 16 of these characters; its XML, tags and lines are limited in proportion",
        at_least=1,
    )
    default_beam_size: int = setting(4, "beam size of requests that choose none", at_least=1)
    request_timeout: float = setting(
        60.0, "seconds that a request may take; then it gets 504 and its slots are free", at_least=0.001
    )
    drain_timeout: float = setting(20.0, "seconds that running requests have to finish at shutdown", at_least=0)
    context_store: str = setting(
        "memory://",
        "store of documents, glossaries and translation memories: memory://, sqlite:///PATH or redis://HOST:PORT/DB",
    )
    context_cache_bytes: int = setting(
        268_435_456, "bytes of the cache of encoded document sentences; other sentences are encoded again", at_least=0
    )
    document_ttl: float = setting(86400.0, "seconds after its last change until a document is deleted", at_least=1)
    document_lease: float = setting(
        15.0, "seconds until another process continues the document of a process that died", at_least=0.1
    )
    max_document_sentences: int = setting(
        2000,
        "sentences of one document, with parts of long sentences counted; a longer one is refused with 413",
        at_least=1,
    )
    max_documents: int = setting(10_000, "stored documents", at_least=1)
    max_documents_per_key: int = setting(
        0,
        "stored documents of one API key; 0: a quarter of max_documents (half if there are two keys, all if there is "
        "one)",
        at_least=0,
    )
    max_queued_documents_per_key: int = setting(
        1000, "documents of one API key that wait or are being translated", at_least=1
    )
    max_documents_bytes: int = setting(
        0,
        "bytes of all stored documents; 0: 268435456 (256 MiB) in memory://, 17179869184 (16 GiB) elsewhere. A "
        "document that is not translated yet counts three times",
        at_least=0,
    )
    max_documents_bytes_per_key: int = setting(
        0, "bytes of the stored documents of one API key; 0: a share as in max_documents_per_key", at_least=0
    )
    max_glossaries: int = setting(1000, "stored glossaries of one API key", at_least=1)
    max_glossary_bytes: int = setting(16_777_216, "bytes of the stored glossaries of one API key", at_least=1)
    max_translation_memories: int = setting(100, "translation memories of one API key", at_least=1)
    max_translation_memory_entries: int = setting(
        100_000, "entries of the translation memories of one API key", at_least=1
    )
    max_translation_memory_bytes: int = setting(
        33_554_432, "bytes of the translation memories of one API key", at_least=1
    )
    max_translation_memories_bytes: int = setting(268_435_456, "bytes of all translation memories", at_least=1)
    suggestions: Literal["on", "off"] = setting(
        "on",
        "on: suggestions of clients of LibreTranslate's API are kept, in translation memories of their API keys (one "
        "for all without keys)",
    )
    max_files: int = setting(128, "files of one API key that are being translated or wait to be fetched", at_least=1)
    max_files_bytes: int = setting(
        67_108_864,
        "bytes of these files, uploads and translations; as many bytes of files may be received at the same time",
        at_least=1,
    )
    file_timeout: float = setting(
        3600.0, "seconds that a file may take that is translated after its request", at_least=0.001
    )
    file_ttl: float = setting(3600.0, "seconds that a translated file is kept until it is fetched", at_least=0.001)
    api_keys: str = setting(
        "",
        "file of API keys, or its lines, or `store` if the context_store alone has them; without keys, every client "
        "may do everything",
        shown="none",
    )
    metrics_by_key: Literal["off", "on"] = setting(
        "off", "on: ringmt_characters_accepted_total in /metrics has the names of API keys"
    )
    file_processes: int = setting(2, "processes that parse and write files; further files wait", at_least=1)
    file_cpu_seconds: float = setting(10.0, "seconds of processor time to parse or write a file; then 413", at_least=1)
    file_memory_bytes: int = setting(268_435_456, "bytes of memory to parse or write a file; then 413", at_least=1)
    pivot: Literal["on", "off"] = setting("on", "translate through a third language if no model translates directly")
    open_admin: Literal["off", "on"] = setting(
        "off", "on: every client may load and unload models if there are no api_keys"
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting("info", "lowest level that is logged")
    log_format: Literal["text", "json"] = setting(
        "text", "plain lines, or one JSON object a line; neither contains text of users"
    )
    access_log: Literal["off", "on"] = setting(
        "off", "on: log one line for each request, with its id, route, status and seconds"
    )

    def __post_init__(self) -> None:
        check(self)
        if self.port > 65535:
            raise SettingsError(f"port must be at most 65535, not {self.port}")
        if self.default_beam_size > self.engine.max_beam_size:
            raise SettingsError(
                f"default_beam_size {self.default_beam_size} is larger than max_beam_size {self.engine.max_beam_size}"
            )
        if not self.models:
            raise SettingsError("models names no folder")
        if self.load_models == "start" and self.max_model_memory:
            raise SettingsError("max_model_memory needs load_models auto, background or demand: start loads all models")
        if self.api_keys == KEYS_IN_STORE and self.context_store == "memory://":
            raise SettingsError(
                f"api_keys {KEYS_IN_STORE} needs a context_store that keeps keys: sqlite:///PATH or redis://HOST"
            )

    @staticmethod
    def describe() -> list[tuple[str, str, str, str]]:
        """Rows (flag, variable, default, meaning) of the table in SETTINGS.md; defaults as in a command line."""
        return [(setting.flag, setting.env, setting.default, setting.meaning) for setting in SETTINGS]

    @classmethod
    def load(cls, environ: Mapping[str, str], flags: Mapping[str, str | None] | None = None) -> "Settings":
        """Read variables RINGMT_X of `environ` and `flags` (field name to text, None for a missing flag).

        Raises SettingsError for an unknown RINGMT_ variable and for an invalid value.
        """
        texts = _from_environment(environ)
        for name, text in (flags or {}).items():
            if text is not None:
                texts[name] = (f"--{name.replace('_', '-')}", text)
        origin, keys = texts.get("api_keys", ("", "none"))
        if not keys.strip():  # an empty secret must not open the server to every client
            raise SettingsError(
                f"{origin} is empty: give the keys (`ringmt key NAME` makes a line) or their file, or leave it out "
                "to give every client full access"
            )
        values = {name: parse(origin, text, SETTINGS_BY_NAME[name].kind) for name, (origin, text) in texts.items()}
        engine = {name: value for name, value in values.items() if SETTINGS_BY_NAME[name].is_engine}
        rest = {name: value for name, value in values.items() if not SETTINGS_BY_NAME[name].is_engine}
        return cls(engine=EngineSettings(**engine), **rest)


def _settings_of_class(owner: type[EngineSettings] | type[Settings]) -> list[Setting]:
    kinds = get_type_hints(owner)
    return [
        Setting(
            field.name,
            kinds[field.name],
            field.metadata["shown"] or _as_text(field.default),
            field.metadata["meaning"],
            owner is EngineSettings,
        )
        for field in dataclasses.fields(owner)
        if "meaning" in field.metadata
    ]


def _as_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join("server/bundled" if part == BUNDLED_MODELS else str(part) for part in value)
    return str(value)


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Field name -> (variable, text)."""
    texts = {}
    by_env = {setting.env: setting.name for setting in SETTINGS}
    for variable, text in environ.items():
        if variable.startswith(ENV_PREFIX):
            if variable not in by_env:
                raise SettingsError(f"unknown environment variable {variable}: {nearest(variable, by_env)}")
            texts[by_env[variable]] = (variable, text)
    return texts


SETTINGS = tuple(_settings_of_class(Settings) + _settings_of_class(EngineSettings))
SETTINGS_BY_NAME = {setting.name: setting for setting in SETTINGS}
