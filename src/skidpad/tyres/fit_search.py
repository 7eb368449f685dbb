"""A stage under way: which coefficients are free, which the rows do not tell, the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..arrays import Array
from .fit_problem import LEAST_NOISE, Problem, Solution, beside, best_start, solve, untold
from .fit_stages import usual_size
from .fit_task import Task

_MOST_REFITS = 8
"""How often coefficients may turn out to be untold, and the rest be fitted again."""


class Search:
    """A stage under way: what is free, what is not and why, the best so far."""

    def __init__(self, task: Task, loss: str) -> None:
        self._task, self._loss = task, loss
        self._names = task.names
        self._tried = not task.fresh
        self.free: tuple[int, ...] = ()
        self.why: dict[int, str] = {}
        self.solution: Solution | None = None

    def go_on(
        self,
        start: Array,
        problem: Problem,
        names: Sequence[str],
        tries: Sequence[Mapping[str, float]],
    ) -> None:
        """Fit these coefficients to these rows, from where the pass before ended."""
        task, before = self._task, self.solution
        wanted = task.places(names)
        leaves = start if before is None else before.leaves
        self.why = {k: "fixed by the user" for k in wanted if k in task.fixed}
        noise = 0.0 if before is None else before.noise
        self._leave_untold(problem, beside(leaves, wanted), wanted, noise)
        if not self.free:
            return
        if not self._tried and tries and {n for t in tries for n in t} <= set(names):
            guesses = [_changed(task, leaves, values, self.free) for values in ({}, *tries)]
            leaves, self._tried = best_start(problem, guesses, self.free, task.bounds), True
        solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        for _ in range(_MOST_REFITS):
            free = self.free
            noise = max(solution.noise, LEAST_NOISE)
            self._leave_untold(problem, solution.leaves, free, noise)
            if self.free == free:
                self._leave_vague(solution)
            if not self.free:
                self.solution = None
                return
            if self.free == free:
                break
            leaves = solution.leaves.copy()
            left = [k for k in free if k not in self.free]
            leaves[left] = start[left]
            solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        self.solution = solution

    def _leave_untold(
        self, problem: Problem, leaves: Array, wanted: Sequence[int], noise: float
    ) -> None:
        """Keep those free that the rows tell; `why` says why not the others."""
        # A row more than coefficients: errors must be able to show.
        few = wanted[max(len(problem.measured) - 1, 0) :]
        self.why |= dict.fromkeys(few, "there are too few rows")
        rest = [k for k in wanted if k not in self.why]
        sizes = np.array([self._size(k, leaves) for k in rest])
        for k, (half, other) in (
            untold(problem, leaves, rest, sizes, noise) if rest else {}
        ).items():
            self.why[k] = self._reason(half, other)
        self.free = tuple(k for k in rest if k not in self.why)

    def _leave_vague(self, solution: Solution) -> None:
        """Leave the last of the coefficients that are vague only together, as QBZ9 and QBZ10."""
        halves = dict(zip(self.free, solution.half.tolist(), strict=True))
        vague = [k for k in self.free if halves[k] > self._size(k, solution.leaves)]
        if len(vague) > 1:
            self.why[vague[-1]] = self._reason(halves[vague[-1]], vague[0])
            self.free = tuple(k for k in self.free if k != vague[-1])

    def _reason(self, half: float, other: int | None) -> str:
        if np.isinf(half):
            return "the rows do not depend on it"
        mixed = "" if other is None else f"not told apart from {self._names[other]}"
        vague = "" if np.isnan(half) else f"known to no better than {half:.2g} either way"
        return ", ".join(part for part in (vague, mixed) if part)

    def _size(self, place: int, leaves: Array) -> float:
        """A change of a coefficient that would be large."""
        if self._task.magic:
            return usual_size(self._names[place])
        return 10.0 * max(abs(float(leaves[place])), 1.0)


def _changed(task: Task, start: Array, values: Mapping[str, float], free: tuple[int, ...]) -> Array:
    guess = start.copy()
    for name, value in values.items():
        place = task.place(name)
        if place in free and name not in task.known:
            guess[place] = value
    return guess
