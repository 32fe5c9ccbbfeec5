"""Rows of measurements as Markdown and JSON, with the environment."""

import importlib.metadata
import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One comparison. `peer` and `ratio` are None without a peer; ratio = ours / peer."""

    name: str
    ours: float
    peer: float | None
    ratio: float | None
    unit: str


def environment() -> dict[str, str | int | float]:
    """Hardware, versions, commit, and the load average before the run."""
    values: dict[str, str | int | float] = {
        "cpu": cpu_name(),
        "cores": os.cpu_count() or 1,
        "load_before": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "commit": commit(),
    }
    for package in ("onnxruntime-gpu", "onnxruntime", "ctranslate2"):
        try:
            values[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return values


def cpu_name() -> str:
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    try:
        result = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
        return result.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def markdown(rows: list[Row], peer: str) -> str:
    lines = [f"| | ours | {peer} | ours / {peer} | unit |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {number(row.ours)} | {number(row.peer)} | {number(row.ratio)} | {row.unit} |" for row in rows
    ]
    return "\n".join(lines)


def write_json(path: Path, measured_on: dict[str, str | int | float], rows: list[Row]) -> None:
    content = {"environment": measured_on, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


MAX_LOSS = 0.25
"""Share of a ratio that may be lost before a run fails; single runs differ by a tenth."""


def find_regressions(rows: list[Row], baseline: Path) -> list[str]:
    """Rows whose ratio is more than a quarter below the ratio of the same name in `baseline` (a file of write_json).

    Only ratios are compared: single figures depend on the machine.
    """
    before = {row["name"]: row["ratio"] for row in json.loads(baseline.read_text(encoding="utf-8"))["rows"]}
    return [
        f"{row.name}: ratio {row.ratio:.2f}, was {before[row.name]:.2f}"
        for row in rows
        if row.ratio is not None and before.get(row.name) and row.ratio < (1 - MAX_LOSS) * before[row.name]
    ]
