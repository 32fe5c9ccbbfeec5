"""Which decoding threads of this process have work, and on which CPUs."""

import threading

from server.runtime.cpu_affinity import UNKNOWN, allow_all, current_cpu, keep_off


class BusyThreads:
    """Threads enter and leave by themselves; any thread may ask.

    Two of them do not share a CPU for long where there are others. Linux may wake both on one CPU, where they take
    turns for milliseconds, as long as a short sentence takes, while another one is idle: in a virtual machine it often
    did after a pause (loadtest/bench/results/README.md).
    """

    def __init__(self) -> None:
        self._cpus: dict[int, int] = {}
        """Thread -> its CPU when its last step began. Setting, removing, copying and counting are atomic in CPython."""
        self._kept_off: set[int] = set()
        """Threads that do not run on all CPUs of the process."""

    def enter(self, may_move: bool = False) -> None:
        """The calling thread has work: a step begins. If it `may_move`, and another thread that has work was last seen
        on its CPU, it goes to another CPU, and stays off those of the others until it `rests`."""
        thread, cpu = threading.get_ident(), current_cpu()
        if may_move and len(self._cpus) > (thread in self._cpus):
            others = {place for other, place in list(self._cpus.items()) if other != thread}
            if cpu != UNKNOWN and cpu in others and keep_off(others):
                self._kept_off.add(thread)
                cpu = current_cpu()
        self._cpus[thread] = cpu

    def leave(self) -> None:
        """The calling thread has none."""
        self._cpus.pop(threading.get_ident(), None)

    def rest(self) -> None:
        """The calling thread has had no work for long: it may run on any CPU again."""
        thread = threading.get_ident()
        if thread in self._kept_off:
            allow_all()
            self._kept_off.discard(thread)

    @property
    def is_one(self) -> bool:
        """Whether at most one thread has work."""
        return len(self._cpus) <= 1


DECODING = BusyThreads()
"""Of all models: they share the cores."""
