"""What the server says of itself before and after a run."""

import re
import urllib.request
from dataclasses import dataclass

SECONDS = 30.0


@dataclass(frozen=True)
class MetricsSnapshot:
    """From /metrics: `totals` by the name of the series without labels, summed."""

    totals: dict[str, float]

    @classmethod
    def of(cls, base: str) -> "MetricsSnapshot":
        """Raises OSError when the server does not answer."""
        with urllib.request.urlopen(f"{base}/metrics", timeout=SECONDS) as answer:
            text = answer.read().decode()
        totals: dict[str, float] = {}
        for name, value in re.findall(r"^(\w+)(?:\{.*\})? (\S+)$", text, flags=re.M):
            totals[name] = totals.get(name, 0.0) + float(value)
        return cls(totals)

    @property
    def resident_bytes(self) -> float:
        return self.totals.get("process_resident_memory_bytes", 0.0)

    def since(self, before: "MetricsSnapshot") -> dict[str, float]:
        """What was done between two readings, for people."""

        def done(name: str) -> float:
            return self.totals.get(f"ringmt_{name}", 0.0) - before.totals.get(f"ringmt_{name}", 0.0)

        steps, tokens = done("decode_steps_total"), done("target_tokens_total")
        return {
            "requests": done("requests_total"),
            "refused": done("requests_rejected_total"),
            "cancelled sentences": done("requests_cancelled_total"),
            "tokens": tokens,
            "rows a step": round(done("decode_batch_rows_sum") / max(1.0, steps), 1),
            "memory grown by MiB": round((self.resident_bytes - before.resident_bytes) / 2**20, 1),
        }
