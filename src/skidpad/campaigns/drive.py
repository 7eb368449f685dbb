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
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..brief import brief_repr
from ..checks import must_be
from ..compile.cpu import RolloutArrays
from ..compile.lower import lower
from ..integrate.base import Integrator
from ..model import Vehicle
from ..policy import Policy
from ..random import UncertaintyModel
from ..signature import Constant, pickled_fields
from ..trajectory.trajectory import Trajectory
from ..units import Allowed
from .drive_rows import unit_of
from .drive_setup import ENDED, Setup, setup_of
from .drive_strips import Strips
from .experiment import FAILED, Column, Means, Rows
from .folds import Fold, Quantity
from .identities import plain

__all__ = ["Drive"]

MOST_RUNS = {"cpu": 16_384, "cuda": 262_144}
"""Runs that are in memory at a time; a larger chunk is done in parts."""
MOST_SETUPS = 16
"""Drives that are kept compiled."""


@dataclass(frozen=True, eq=False)
class Drive(Constant):
    """Runs of one vehicle.

    Factors may be parameters of the vehicle (`m`, `tyres.D`), `policy.k_p`, `x0.v_x`,
    `input.steer` of held controls or references, and `disturbance.F_y`, held.
    """

    vehicle: Vehicle
    _: KW_ONLY
    duration: float | None = None
    """How long a run is, in s; or say `steps`, or give a table of inputs."""
    steps: int | None = None
    dt: float = 0.001
    """Step in s."""
    integrator: str | Integrator = "auto"
    substeps: int | None = None
    precision: str = "float64"
    x0: Any = None
    """Start: a record, a mapping of names, a whole state (nx,), or an `UncertaintyModel`. Dependent
    fields of a start by names fit the parameters of each run."""
    controls: Any = None
    """Held inputs, a record or a mapping; or a table (steps, nu)."""
    pending: Any = None
    """Commands before the first ones, oldest first, (rows, nu): of a model with dead time."""
    policy: Policy | None = None
    references: Any = None
    """What the policy is told: as `controls`."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters of the vehicle that differ from its own: numbers, or models of one number that
    they are drawn from for each run."""
    policy_params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The same of the policy."""
    disturbance: UncertaintyModel | None = None
    """What the model's Disturbance record is drawn from at every step."""
    noise: UncertaintyModel | None = None
    """What is added to the state that the policy sees."""
    metrics: Mapping[str, Fold] = field(default_factory=dict[str, Fold])
    """Columns by name; see `folds`."""
    events: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    """What may happen, by name: a column each that tells whether it did."""
    until: Quantity | None = None
    """A run ends at the first sample at which this happens: that sample counts, and the vehicle
    stays there. The column `ended_at` has the time in s, NaN of a run that went on to the end."""
    log: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Series (steps + 1,) that metrics may compare with, as `log.y`."""
    _mark: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        # What cannot be compiled is known here, not in the first chunk.
        assert self._setup().loop.folding.calling

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a Drive", self, "write quantities as texts")

    def _setup(self) -> Setup:
        """The drive as it is compiled, once for all chunks of this process."""
        setup = _SETUPS.pop(self._mark, None) or setup_of(self)
        _SETUPS[self._mark] = setup
        while len(_SETUPS) > MOST_SETUPS:
            _SETUPS.pop(next(iter(_SETUPS)), None)
        return setup

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
        own = not any(name in names for name in (*ends, *setup.given.params))
        arrays = RolloutArrays(ready.x, ready.u, ready.w, ready.p)
        setup.loop.runner.plausible.check(arrays, own_params=own)

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed`; of runs that failed numbers are NaN and nothing is true."""
        most = MOST_RUNS[means.device]
        whole = [
            self._part(rows.part(slice(begin, begin + most)), means)
            for begin in range(0, len(rows.runs), most)
        ]
        return {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}

    def _part(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        setup = self._setup()
        ready = setup.arrays.prepared(rows)
        strips = Strips(setup.course, setup.arrays, rows, ready)
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
        """What it is; its Program, in IEEE operations, stands for all functions."""
        setup = self._setup()
        plant, given = setup.loop.runner.plant, setup.given
        params = dict(zip(record.names(plant.Params), record.flatten(plant.params), strict=True))
        programs = (setup.loop.plant.step, setup.loop.folding.closing)
        return {
            "kind": "drive",
            "vehicle": plant.name,
            "integrator": plant.integrator,
            "dt": self.dt,
            "steps": setup.course.steps,
            "substeps": setup.loop.folding.substeps,
            "precision": self.precision,
            "programs": [lower(program, self.precision).digest for program in programs],
            "start": plain(np.array(setup.loop.folding.start)),
            "params": plain({**params, **given.params}),
            "x0": plain(setup.start),
            "inputs": plain(given.inputs),
            "pending": plain(setup.pending),
            "disturbance": plain(self.disturbance),
            "noise": plain(self.noise),
            "log": plain(setup.course.log),
        }


_SETUPS: dict[str, Setup] = {}
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
