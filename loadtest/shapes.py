"""Load shapes: the number of users over time. LOADTEST_SHAPE names one; otherwise `--users` and `--run-time` count.

LOADTEST_USERS: the largest number of users; LOADTEST_SECONDS: the duration.
"""

import os

from locust import LoadTestShape

Tick = tuple[int, float]
"""Number of users, and users that start or stop a second."""


class TimedShape(LoadTestShape):
    """Number of users as a function of the elapsed share of the run."""

    abstract = True

    def __init__(self) -> None:
        super().__init__()
        self.max_users = int(os.environ.get("LOADTEST_USERS", "32"))
        self.seconds = float(os.environ.get("LOADTEST_SECONDS", "60"))

    def tick(self) -> Tick | None:
        elapsed = self.get_run_time() / self.seconds
        return None if elapsed >= 1 else (max(1, round(self.max_users * self.share(elapsed))), float(self.max_users))

    def share(self, elapsed: float) -> float:
        """The share of users that are active when the share `elapsed` of the run is over."""
        raise NotImplementedError


class Steps(TimedShape):
    """Five steps up to all users: shows at which load the server saturates."""

    def share(self, elapsed: float) -> float:
        return (int(5 * elapsed) + 1) / 5


class Spike(TimedShape):
    """A tenth of the users, all in the middle third, then a tenth: shows whether the server recovers."""

    def share(self, elapsed: float) -> float:
        return 1.0 if 1 / 3 <= elapsed < 2 / 3 else 0.1


class Soak(TimedShape):
    """Half of the users for the whole run: shows whether memory grows."""

    def share(self, elapsed: float) -> float:
        return 0.5


SHAPES: dict[str, type[TimedShape]] = {"steps": Steps, "spike": Spike, "soak": Soak}
