"""Estimating dead times, which only whole steps of the replay can tell apart.

First a grid over each dead time and the time constant beside it, one rollout of the fleet. Then
the likelihood profile: at each number of steps everything else is fitted anew.
"""

from __future__ import annotations

from math import floor

import numpy as np

from .least_squares import Solution, loss_of, solve
from .problem import Point, Problem

_LADDER = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
"""Time constants in s tried beside each dead time."""
_MOST_ROUNDS = 4


class DeadTimes:
    """The search over numbers of steps; remembers what it has solved."""

    def __init__(self, problem: Problem, names: list[str], longest: float) -> None:
        self.problem, self.names = problem, names
        self.dt = problem.replay.dt
        self.most = floor(longest / self.dt + 1e-6)
        """Largest number of steps that is tried."""
        self._solved: dict[tuple[int, ...], Solution] = {}

    def rough(self, point: Point) -> Point:
        """The best point of the grids, one dead time after the other, twice."""
        for _ in range(2 if len(self.names) > 1 else 1):
            for name in self.names:
                grid = self._grid(point, name)
                losses = loss_of(self.problem, self.problem.errors(grid))
                point = grid[int(np.argmin(losses))]
        return point

    def _grid(self, point: Point, name: str) -> list[Point]:
        """All numbers of steps, each with a ladder of the time constant if that is free too."""
        delays = self.dt * np.arange(self.most + 1)
        beside = name.replace("_time_delay", "_time_constant")
        free = [f.name for f in self.problem.free]
        ladder = [point.values]
        if beside in free:
            k = free.index(beside)
            for constant in (*_LADDER, point.values[k]):
                ladder.append(point.values.copy())
                ladder[-1][k] = constant
        return [
            point._replace(late={**point.late, name: float(d)}, values=values)
            for d in delays
            for values in ladder
        ]

    def settle(self, point: Point) -> Solution:
        """From a rough guess to the most likely number of steps of every dead time."""
        best = self.at(self._steps(point), point)
        for _ in range(_MOST_ROUNDS):
            before = best.loss
            for k in range(len(self.names)):
                best = self._descend(best, k)
            if best.loss >= before:
                break
        return best

    def _descend(self, best: Solution, k: int) -> Solution:
        """Along one dead time as long as it gets better, looking one step over small humps."""
        for sign in (1, -1):
            misses = 0
            steps = self._steps(best.point)
            while misses < 2:
                steps = _moved(steps, k, sign)
                if not 0 <= steps[k] <= self.most:
                    break
                trial = self.at(steps, best.point)
                if trial.loss < best.loss:
                    best, misses = trial, 0
                else:
                    misses += 1
        return best

    def accepted(self, best: Solution, k: int, threshold: float) -> list[tuple[int, Solution]]:
        """Numbers of steps of one dead time whose loss is within the threshold of the best."""
        middle = self._steps(best.point)
        kept = [(middle[k], best)]
        for sign in (1, -1):
            steps, guess = middle, best
            while 0 <= (steps := _moved(steps, k, sign))[k] <= self.most:
                guess = self.at(steps, guess.point)
                if guess.loss - best.loss > threshold:
                    break
                kept.append((steps[k], guess))
        return sorted(kept, key=lambda pair: pair[0])

    def at(self, steps: tuple[int, ...], guess: Point) -> Solution:
        """The solution at these numbers of steps."""
        if steps not in self._solved:
            late = dict(guess.late)
            # Rounded, as files show these numbers: 0.15 s and not 0.15000000000000002 s.
            late |= {name: round(n * self.dt, 9) for name, n in zip(self.names, steps, strict=True)}
            self._solved[steps] = solve(self.problem, guess._replace(late=late))
        return self._solved[steps]

    def _steps(self, point: Point) -> tuple[int, ...]:
        return tuple(round(point.late[name] / self.dt) for name in self.names)


def _moved(steps: tuple[int, ...], k: int, by: int) -> tuple[int, ...]:
    return (*steps[:k], steps[k] + by, *steps[k + 1 :])
