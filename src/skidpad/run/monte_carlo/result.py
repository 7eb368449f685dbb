"""MonteCarlo: what many runs say, and a way back to each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import record
from ...arrays import Array
from ...brief import counted, shortened
from ...checks import finite, whole
from ...errors import InvalidValue
from ...progress import Choice, watching
from ...random.seeds import of_run
from ...trajectory.columns import Column
from ...trajectory.trajectory import Trajectory
from .experiment import Experiment
from .intervals import Probability, mean_bounds, proportion
from .tally import Extreme, Tally


def replayed(experiment: Experiment, run: int, seed: int) -> Trajectory:
    """States, inputs, outputs and disturbances (`w_...`) of one run; it ends where it diverged."""
    runner, dt = experiment.runner, experiment.dt
    plant = runner.plant
    moments = list(experiment.moments(np.array([run])))
    good = [m for m in moments if np.isfinite(m.states).all()]
    states = np.array([m.states[:, 0] for m in good])
    # The last sample has no step of its own: it shows what acted in the one before.
    acted = [m for m in moments if m.inputs is not None and m.disturbances is not None]
    acted = [acted[min(k, len(acted) - 1)] for k in range(len(good))]
    inputs = np.array([m.inputs[0] for m in acted if m.inputs is not None])
    w = np.array([m.disturbances[0] for m in acted if m.disturbances is not None])
    own = experiment.parameters(np.array([run]))
    traj = Trajectory.from_arrays(
        dt * np.arange(len(good)),
        states=(plant.State, states),
        inputs=(plant.Input, inputs),
        outputs=(plant.Outputs, runner.outputs(states, inputs, None, own, w)),
        name=plant.name,
        meta={"seed": seed, "dt": dt},
    )
    leaves = record.fields(plant.Disturbance)
    disturbances = tuple(
        Column(f"w_{leaf.name}", leaf.unit, "disturbance", w[:, k]) for k, leaf in enumerate(leaves)
    )
    return Trajectory(
        traj.t, (*traj.columns, *disturbances), traj.name, traj.meta, None, plant.State
    )


class Case(NamedTuple):
    """One run that stands out."""

    seed: int
    """What `replay` takes; also a seed of `skidpad.Simulation`."""
    run: int
    """Number of the run."""
    value: float
    """Of the quantity that was asked for."""
    time: float
    """When it had that value, in s."""


class MonteCarlo:
    """Bands, probabilities and worst cases of many runs of one vehicle.

    `Fleet.monte_carlo` makes it. Arrays over time have a row per step and one for the start.
    """

    def __init__(self, experiment: Experiment, runs: NDArray[np.int64], tally: Tally) -> None:
        self._experiment, self._tally, self._runs = experiment, tally, runs
        self.final: Array = np.empty((len(runs), 0))
        """The last state of every run, (runs, nx); NaN for runs that diverged."""

    def run(self, progress: Choice = None) -> MonteCarlo:
        """Run everything and count it; returns itself."""
        own, steps = self._experiment.vehicle_states, self._experiment.steps
        states = np.empty((own, 0))
        with watching(steps * self.runs, "steps", "Monte Carlo", progress) as watch:
            for moment in self._experiment.moments(self._runs):
                states = moment.states[:own]
                self._tally.take(moment.step, states)
                if moment.step:
                    watch.advance(self.runs)
        self.final = np.ascontiguousarray(states.T)
        return self

    @property
    def t(self) -> Array:
        """Time of each sample in s, (samples,)."""
        steps = np.arange(self._experiment.steps + 1, dtype=np.float64)
        return self._experiment.dt * steps

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self._runs)

    @property
    def seed(self) -> int:
        """The seed that was given; `case.seed` and `seed_of` are those of single runs."""
        return self._experiment.seed

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of what bands and worst cases are kept of."""
        return tuple(self._tally.quantiles)

    @property
    def events(self) -> tuple[str, ...]:
        """Names of what probabilities are kept of."""
        return tuple(self._tally.happened)

    @property
    def levels(self) -> tuple[float, ...]:
        """Levels of the quantiles that are kept, increasing."""
        return tuple(self._tally.levels.tolist())

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the runs."""
        return tuple(self._runs.tolist())

    @property
    def counted(self) -> NDArray[np.int64]:
        """Runs that have not diverged up to each time, (T + 1,): means, deviations, quantiles and
        their intervals are over these."""
        return self._tally.counted

    @property
    def diverged(self) -> tuple[int, ...]:
        """Numbers of the runs that diverged. Of quantities they have no part after that; what
        happened in them before has happened."""
        lost = ~np.isfinite(self.final).all(axis=1)
        return tuple(self._runs[lost].tolist())

    def mean(self, name: str) -> Array:
        """Mean of a quantity over time, (T + 1,)."""
        return self._of(self._tally.mean, name, "quantity")

    def std(self, name: str) -> Array:
        """Standard deviation of a quantity over time, (T + 1,)."""
        return self._of(self._tally.std, name, "quantity")

    def quantile(self, name: str, level: float) -> Array:
        """A quantile of a quantity over time, (T + 1,); one of the levels that were kept."""
        at = _place("level", level, self._tally.levels, "quantiles")
        return self._of(self._tally.quantiles, name, "quantity")[:, at]

    def band(self, name: str, share: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper end of the middle `share` of the runs over time, (T + 1,) each."""
        tail = (1.0 - finite("share", share)) / 2.0
        return self.quantile(name, tail), self.quantile(name, 1.0 - tail)

    def mean_interval(self, name: str, level: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper end of the interval that holds the true mean, over time, (T + 1,) each.

        By Student's distribution: with the confidence `level` at any one time, exactly for normal
        values and nearly for others if there are some dozens of runs. Infinite for a single run.
        """
        mean = self._of(self._tally.mean, name, "quantity")
        return mean_bounds(mean, self._tally.std[name], self.counted, level)

    def quantile_interval(
        self, name: str, quantile: float, level: float = 0.95
    ) -> tuple[Array, Array]:
        """Lower and upper end of the interval that holds a true quantile, over time, (T + 1,) each.

        Two of the values of the runs, whatever their distribution is: with at least the confidence
        `level` at any one time. Infinite where there are too few runs for so far a quantile. Both
        `quantile` and `level` are among those that were kept.
        """
        ends = self._of(self._tally.intervals, name, "quantity")
        at = _place("quantile", quantile, self._tally.levels, "quantiles")
        sure = _place("level", level, self._tally.confidences, "confidence")
        return ends[:, at, sure, 0], ends[:, at, sure, 1]

    def unit(self, name: str) -> str:
        """Unit symbol of a quantity with the name of a state; empty for other functions."""
        self._of(self._tally.mean, name, "quantity")
        return self._tally.unit(name)

    def along(self, name: str, run: Trajectory) -> Array:
        """A quantity along a run that was replayed, (samples,)."""
        self._of(self._tally.mean, name, "quantity")
        return self._tally.along(name, run)

    def probability(self, event: str, level: float = 0.95) -> Probability:
        """Probability that something happens at any time of a run, with its confidence interval.

        Over all runs: one that diverged counts with what happened before it did.
        """
        happened = self._of(self._tally.happened, event, "event")
        return proportion(int(happened.sum()), self.runs, level)

    def share(self, event: str) -> Array:
        """Share of all runs in which something has happened up to each time, (T + 1,).

        It never falls, and its last is the value of `probability`.
        """
        return self._of(self._tally.share, event, "event")

    def happened(self, event: str) -> tuple[int, ...]:
        """Seeds of the runs in which something happened."""
        runs = self._runs[self._of(self._tally.happened, event, "event")]
        return tuple(self.seed_of(run) for run in runs.tolist())

    def worst(self, name: str, count: int = 5, *, lowest: bool = False) -> tuple[Case, ...]:
        """The runs in which a quantity was highest at any time (or lowest), worst first; those in
        which it was never a number are left out."""
        count = whole("count", count, "not negative", least=0)
        side = self._tally.lowest if lowest else self._tally.highest
        extreme: Extreme = self._of(side, name, "quantity")
        value = extreme.value
        order = np.argsort(value if lowest else -value, kind="stable")
        order = order[extreme.sample[order] >= 0][:count]
        return tuple(
            Case(
                self.seed_of(int(self._runs[i])),
                int(self._runs[i]),
                float(value[i]),
                float(self.t[extreme.sample[i]]),
            )
            for i in order.tolist()
        )

    def seed_of(self, run: int) -> int:
        """The seed of one run by its number."""
        return of_run(self.seed, run)

    def replay(self, seed: int | Case) -> Trajectory:
        """One run again, with the same bits, as a trajectory with its inputs and disturbances.

        Takes a seed of this Monte Carlo or a case of `worst`. Inputs are the controls, or what the
        policy was told; its commands are outputs (`command.steer`), and so are the disturbances
        (`w_v_x`).
        """
        wanted = seed.seed if isinstance(seed, Case) else whole("seed", seed, least=None)
        number = wanted - of_run(self.seed, 0)
        if number not in self._runs:
            raise InvalidValue(
                f"seed = {wanted} is not one of this Monte Carlo; its runs have the seeds "
                f"{self.seed_of(int(self._runs.min()))} to {self.seed_of(int(self._runs.max()))}"
            )
        return replayed(self._experiment, number, wanted)

    def plot(self, *quantities: str, **options: Any) -> Any:
        """Fans of some quantities, all that there are if none are named; options as of
        `skidpad.plots.fan`."""
        from ...plots.figures.fan import fan

        return fan(self, quantities or self.quantities, **options)

    def _repr_html_(self) -> str:
        from ...plots.notebook.monte_carlo import monte_carlo_html

        return monte_carlo_html(self)

    def _of(self, kept: Mapping[str, Any], name: str, noun: str) -> Any:
        if name not in kept:
            raise InvalidValue(record.unknown_name("Monte Carlo", name, tuple(kept), noun))
        return kept[name]

    def __repr__(self) -> str:
        lines = [f"Monte Carlo: {counted(self.runs, 'run')} of {self.t[-1]:g} s, seed {self.seed}"]
        for name in self.quantities:
            low, high = self._tally.quantiles[name][-1][[0, -1]]
            lines.append(f"{name}: {low:.4g} to {high:.4g} at the end")
        lines += [f"{name}: {self.probability(name)}" for name in self.events]
        if self.diverged:
            lines.append(f"{counted(len(self.diverged), 'run')} diverged")
        return shortened(f"<{'; '.join(lines)}>")


def _place(name: str, value: Any, kept: Array, argument: str) -> int:
    """Where a level is among those that were kept."""
    number = finite(name, value)
    at = np.flatnonzero(np.isclose(kept, number, rtol=0.0, atol=1e-12))
    if not at.size:
        raise InvalidValue(
            f"{name} = {number} was not kept; there are {', '.join(f'{q:g}' for q in kept)} "
            f"(argument `{argument}` of monte_carlo)"
        )
    return int(at[0])
