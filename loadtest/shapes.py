"""How many users there are at which moment. LOADTEST_SHAPE names one of these; without, `--users` for `--run-time`.

LOADTEST_USERS is how many there are at most, LOADTEST_SECONDS how long it takes.
"""

import os

from locust import LoadTestShape

Tick = tuple[int, float]
"""Users, and how many of them come or go a second."""


class TimedShape(LoadTestShape):
    """Users by the share of the run that is over."""

    abstract = True

    def __init__(self) -> None:
        super().__init__()
        self.most = int(os.environ.get("LOADTEST_USERS", "32"))
        self.seconds = float(os.environ.get("LOADTEST_SECONDS", "60"))

    def tick(self) -> Tick | None:
        over = self.get_run_time() / self.seconds
        return None if over >= 1 else (max(1, round(self.most * self.share(over))), float(self.most))

    def share(self, over: float) -> float:
        """The share of all users who are there when this share of the time is over."""
        raise NotImplementedError


class Steps(TimedShape):
    """Five steps up to all users: shows where the server saturates."""

    def share(self, over: float) -> float:
        return (int(5 * over) + 1) / 5


class Spike(TimedShape):
    """A tenth, then all at once in the middle third, then a tenth: shows whether the server recovers."""

    def share(self, over: float) -> float:
        return 1.0 if 1 / 3 <= over < 2 / 3 else 0.1


class Soak(TimedShape):
    """Half of the users for the whole run: shows whether anything grows."""

    def share(self, over: float) -> float:
        return 0.5


SHAPES: dict[str, type[TimedShape]] = {"steps": Steps, "spike": Spike, "soak": Soak}
