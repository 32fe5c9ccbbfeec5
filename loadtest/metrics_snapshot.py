"""The server's metrics before, during and after a run."""

import re
import urllib.request
from dataclasses import dataclass

TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True)
class MetricsSnapshot:
    """Values of /metrics, summed over labels: `totals` by the name of the metric."""

    totals: dict[str, float]

    @classmethod
    def read(cls, base: str) -> "MetricsSnapshot":
        """Raises OSError if the server does not answer."""
        with urllib.request.urlopen(f"{base}/metrics", timeout=TIMEOUT_SECONDS) as response:
            text = response.read().decode()
        totals: dict[str, float] = {}
        for name, value in re.findall(r"^(\w+)(?:\{.*\})? (\S+)$", text, flags=re.M):
            totals[name] = totals.get(name, 0.0) + float(value)
        return cls(totals)

    @property
    def resident_bytes(self) -> float:
        return self.totals.get("process_resident_memory_bytes", 0.0)

    def since(self, before: "MetricsSnapshot") -> dict[str, float]:
        """Differences to an earlier snapshot, for the report."""

        def difference(name: str) -> float:
            return self.totals.get(f"ringmt_{name}", 0.0) - before.totals.get(f"ringmt_{name}", 0.0)

        steps, tokens = difference("decode_steps_total"), difference("target_tokens_total")
        return {
            "requests": difference("requests_total"),
            "refused": difference("requests_rejected_total"),
            "cancelled sentences": difference("requests_cancelled_total"),
            "tokens": tokens,
            "rows a step": round(difference("decode_batch_rows_sum") / max(1.0, steps), 1),
            "memory grown by MiB": round((self.resident_bytes - before.resident_bytes) / 2**20, 1),
        }
