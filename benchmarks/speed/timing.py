"""Times of several functions, taken in turn: a disturbance of the machine meets them all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Timed:
    """A function to time and how often; ``seconds`` fills up as it runs.

    ``warm_up`` calls come first, untimed: they compile, and it takes three until the heap has
    grown to its final size.
    """

    name: str
    run: Callable[[], object]
    repetitions: int
    warm_up: int = 3
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median time of a call, in seconds."""
        return statistics.median(self.seconds)

    @property
    def fastest(self) -> float:
        """Shortest time of a call: the one that was disturbed least."""
        return min(self.seconds)

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {
            "median_seconds": self.median,
            "fastest_seconds": self.fastest,
            "seconds": self.seconds,
        }


def interleave(cases: list[Timed], report: Callable[[str], None] = lambda line: None) -> None:
    """Time every case ``repetitions`` times, spread evenly over the whole run."""
    for case in cases:
        report(f"warming up: {case.name}")
        for _ in range(case.warm_up):
            case.run()
    rounds = max(case.repetitions for case in cases)
    for done in range(rounds):
        if done % 10 == 0:
            report(f"round {done + 1} of {rounds}")
        for case in cases:
            if (done + 1) * case.repetitions // rounds > done * case.repetitions // rounds:
                began = time.perf_counter()
                case.run()
                case.seconds.append(time.perf_counter() - began)
