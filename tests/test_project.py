"""Rules for the whole tree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run_python(code: str, **environment: str) -> str:
    """Standard output of a fresh interpreter; fails with its error."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def text_files() -> list[Path]:
    suffixes = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".sh", ".json"}
    skipped = {".git", ".venv", "build", "node_modules"}
    files = (path for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.relative_to(ROOT).parts))
    return [path for path in files if path.suffix in suffixes or path.name in {"Makefile", "Dockerfile", "run"}]


def test_nothing_names_a_machine_or_a_registry() -> None:
    forbidden = re.compile(r"(?<![\w.])/(?:wor" r"k|far" r"m|ro" r"ot|op" r"t)/|pypi\.or" r"g|files\.pythonhoste" r"d")
    results = [str(path) for path in text_files() if forbidden.search(path.read_text(encoding="utf-8"))]
    assert len(text_files()) > 60
    assert results == []


ONE_HOME = {
    "what may not be chosen": (r"-1e9\b", "model/masks.py"),
    "finish reasons": (r"""["']eos["'], ["']length["']""", "server/telemetry/labels.py"),
    "states of documents": (r"""["']running["'], ["']done["']""", "server/telemetry/labels.py"),
    "our special ids": (r"PAD_ID, UNK_ID, BOS_ID, EOS_ID = ", "model/config.py"),
    "the ONNX opset": (r"opset\w*\s*=\s*\d|make_opsetid\(\"\", \d", "export/onnx_graph/builder.py"),
}
"""Constant -> (pattern of its definition, the only file that defines it)."""


@pytest.mark.parametrize("constant", ONE_HOME)
def test_a_constant_has_one_home(constant: str) -> None:
    pattern, home = ONE_HOME[constant]
    written = re.compile(pattern, re.IGNORECASE)
    files = [path for room in ("server", "model", "export") for path in (ROOT / room).rglob("*.py")]
    results = {path.relative_to(ROOT).as_posix() for path in files if written.search(path.read_text(encoding="utf-8"))}
    assert results == {home}


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_telemetry_is_off_before_onnxruntime_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys, builtins, os\n"
        "original = builtins.__import__\n"
        "def watching(name, *rest):\n"
        "    if name == 'onnxruntime' and 'onnxruntime' not in sys.modules:\n"
        "        assert os.environ.get('ORT_DISABLE_TELEMETRY') == '1'\n"
        "        print('seen')\n"
        "    return original(name, *rest)\n"
        "builtins.__import__ = watching\n"
        "import server.backends.onnx.backend\n"
    )
    assert "seen" in run_python(code, HOME=str(tmp_path))
    assert list(tmp_path.rglob("*")) == []


def test_onnxruntime_is_imported_where_telemetry_is_off() -> None:
    """By the backends, whose package switches it off, and by tests, whose conftest imports the backends first."""
    importing = re.compile(r"^\s*(?:import|from) onnxruntime\b", re.MULTILINE)
    files = [path for path in text_files() if path.suffix == ".py"]
    results = {path.relative_to(ROOT).parent for path in files if importing.search(path.read_text(encoding="utf-8"))}
    outside = {folder for folder in results if folder != Path("server/backends/onnx") and folder.parts[0] != "tests"}
    assert Path("server/backends/onnx") in results
    assert not outside
    code = "import os, tests.conftest; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    assert run_python(code, HOME=str(ROOT / ".no-home"), PYTHONPATH=str(ROOT)).strip() == "1"


def test_the_server_needs_no_torch() -> None:
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "import server.cli.main, server.api.app, server.backends.onnx.backend\n"
        "print('model' in sys.modules or 'export' in sys.modules)\n"
    )
    assert run_python(code).strip() == "False"


@pytest.mark.parametrize("module", ["server.api.app", "server.engine.worker"])
def test_runtimes_are_imported_on_demand(module: str) -> None:
    code = (
        f"import sys, {module}\nprint([name for name in ('onnxruntime', 'torch', 'mcp_types') if name in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


def test_the_container_installs_the_servers_dependencies() -> None:
    """docker/requirements-*.txt are pyproject's list with the image's own onnxruntime, and these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[><=; ]", line)[0] for line in project["dependencies"]} - {"onnxruntime-gpu", "onnxruntime"}
    extras = project["optional-dependencies"]
    in_image = [line for extra in ("redis", "otel", "mcp", "moses") for line in extras[extra]]
    also = {re.split(r"[><=; ]", line)[0] for line in in_image}
    for image, runtime in (("cpu", "onnxruntime"), ("cuda", "onnxruntime-gpu[cuda,cudnn]")):
        lines = (ROOT / f"docker/requirements-{image}.txt").read_text(encoding="utf-8").splitlines()
        assert {line for line in lines if not line.startswith("#")} == wanted | also | {runtime}


def test_every_artifact_is_small_enough() -> None:
    for folder in (ROOT / "server/bundled").iterdir():
        if folder.is_dir():
            assert sum(path.stat().st_size for path in folder.iterdir()) <= 16 * 2**20
            assert (folder / "ATTRIBUTION.md").is_file()
