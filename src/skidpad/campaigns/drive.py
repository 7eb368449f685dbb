"""A vehicle and what drives it as the experiment of a campaign, with metrics compiled in.

    drive = Drive(
        sp.vehicles.four_wheel(), duration=5.0, dt=0.001, x0={"v_x": 20.0},
        controls={"steer": 0.02},
        metrics={"slip": highest("abs(v_y) / v_x"), "end": last("y")},
        events={"left_lane": "abs(y) > 1.5"},
    )

A run keeps no sample: the numbers of the metrics go along with its state. Draws are those of
`Fleet.monte_carlo`, and so are the bits: run k of a drive is run k of a Monte Carlo with its seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..brief import brief_repr
from ..checks import must_be
from ..compile.cpu import RolloutArrays
from ..run.kept import Kept
from ..signature import Constant
from ..trajectory.trajectory import Trajectory
from ..units import Allowed
from .drive_rows import unit_of
from .drive_settings import DriveSettings
from .drive_setup import ENDED, Setup, setup_of
from .drive_strips import Strips
from .experiment import FAILED, Column, Means, Rows
from .identities import only_adds, plain

MOST_RUNS = {"cpu": 16_384, "cuda": 262_144}
"""Runs that are in memory at a time; a larger chunk is done in parts."""
MOST_SETUPS = 16
"""Drives that are kept compiled."""


@dataclass(frozen=True, eq=False)
class Drive(DriveSettings, Constant):
    """Runs of one vehicle; `DriveSettings` says what can be given.

    Factors may be parameters of the vehicle (`m`, `tyres.D`), `policy.k_p`, `x0.v_x`,
    `input.steer` of held controls or references, and `disturbance.F_y`, held.
    """

    _mark: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        # What cannot be compiled is known here, not in the first chunk.
        assert self._setup().loop.folding.update

    def _setup(self) -> Setup:
        """The drive as it is compiled, once for all chunks of this process."""
        return _SETUPS.get(None, self._mark, lambda: setup_of(self))

    @property
    def block(self) -> int:
        """Any number of runs may be done together."""
        return 1

    @property
    def threaded(self) -> bool:
        """One process keeps all processors busy."""
        return True

    def factor_units(self) -> dict[str, str]:
        """Names that a factor may have, with units."""
        return {name: unit_of(leaf) for name, leaf in self._setup().arrays.factors.items()}

    def columns(self) -> tuple[Column, ...]:
        """When runs ended, where they may end, then metrics and events."""
        setup = self._setup()
        records = setup.loop.folding.records
        named = [
            Column(name, fold.unit_for(records), fold.meaning, fold.kind)
            for name, fold in setup.folds.items()
        ]
        ended = Column(ENDED, "s", "time at which the run ended; NaN where it went on to the end")
        return (*([] if self.until is None else [ended]), *named)

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors that are unknown or whose ends cannot be meant."""
        setup = self._setup()
        for name, pair in ends.items():
            leaf = setup.arrays.check_name(name)
            for end in pair:
                must_be(f"factor {name}", end, leaf.allowed or Allowed(), unit_of(leaf))
        table = _corners(ends)
        count = max(map(len, table.values()), default=1)
        ready = setup.arrays.prepared(Rows(np.arange(count), table, 0))
        names = record.names(setup.loop.runner.plant.Params)
        own = not any(name in names for name in (*ends, *setup.common.params))
        arrays = RolloutArrays(ready.x, ready.u, ready.w, ready.p)
        setup.loop.runner.plausible.check(arrays, own_params=own)

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns, (n,) each, and `failed`: whether a state was not finite at some sample,
        because it diverged or a step found no solution. Of such a run numbers are NaN and nothing
        is true."""
        if not len(rows.runs):
            kinds = {FAILED: "truth", **{column.name: column.kind for column in self.columns()}}
            return {name: np.empty(0, bool if k == "truth" else float) for name, k in kinds.items()}
        most = MOST_RUNS.get(means.device, MOST_RUNS["cpu"])
        whole = [
            self._part(rows.part(slice(begin, begin + most)), means)
            for begin in range(0, len(rows.runs), most)
        ]
        return {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}

    def _part(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        setup = self._setup()
        ready = setup.arrays.prepared(rows)
        strips = Strips(setup.course, setup.arrays, rows, ready, means.threads)
        _, results, failed = setup.loop.run(ready.x, ready.p, strips, means, setup.pending)
        kinds = {ENDED: "number", **{name: fold.kind for name, fold in setup.folds.items()}}
        out: dict[str, AnyArray] = {}
        for (name, kind), column in zip(kinds.items(), results.T, strict=True):
            if kind == "truth":
                out[name] = (column != 0.0) & np.isfinite(column) & ~failed
            else:
                out[name] = np.where(failed, np.nan, column)
        if self.until is None:
            del out[ENDED]
        return {**out, FAILED: failed}

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows` with its states, inputs, outputs and disturbances; it ends where
        the run did."""
        run = self._setup().replayed(rows)
        if self.until is None:
            return run
        ended = float(self.evaluate(rows, Means())[ENDED][0])
        return run if np.isnan(ended) else run[: round(ended / self.dt) + 1]

    def identity(self) -> dict[str, Any]:
        """What it is; Programs, in IEEE operations, stand for functions: that of the motion, and
        that of each metric alone."""
        setup = self._setup()
        plant, common = setup.loop.runner.plant, setup.common
        params = dict(zip(record.names(plant.Params), record.flatten(plant.params), strict=True))
        folding, digests = setup.loop.folding, setup.digests
        return {
            "kind": "drive",
            "vehicle": plant.name,
            "integrator": plant.integrator,
            "dt": self.dt,
            "steps": setup.course.steps,
            "substeps": folding.substeps,
            "precision": self.precision,
            "motion": digests.motion,
            "until": digests.until,
            "metrics": dict(digests.metrics),
            "metric_starts": {name: plain(fold.start) for name, fold in folding.folds.items()},
            "params": plain({**params, **common.params}),
            "x0": plain(setup.start),
            "inputs": plain(common.inputs),
            "pending": plain(setup.pending),
            "disturbance": plain(self.disturbance),
            "noise": plain(self.noise),
            "log": plain(setup.course.log),
        }

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it differs from the drive before in more metrics alone."""
        return only_adds(self.identity(), before, "metrics", "metric_starts")


_SETUPS: Kept[Setup] = Kept(MOST_SETUPS)
"""Drives as they are compiled, by their marks, which go along when a drive is pickled."""


def _corners(ends: Mapping[str, tuple[float, float]]) -> dict[str, AnyArray]:
    """Rows with all factors at their lower ends, all at their upper ends, and each one alone at
    either end with the others half-way."""
    count = 2 + 2 * len(ends)
    table: dict[str, AnyArray] = {}
    for k, (name, (low, high)) in enumerate(ends.items()):
        middle = low + 0.5 * (high - low)
        column = np.full(count, middle)
        column[:2] = low, high
        column[2 + 2 * k : 4 + 2 * k] = low, high
        table[name] = column
    return table
