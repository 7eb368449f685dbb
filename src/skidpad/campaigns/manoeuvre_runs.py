"""Manoeuvres of a vehicle as the experiment of a campaign.

    runs = ManoeuvreRuns(sp.vehicles.two_track(), ["step_steer", "slalom_18_m"])
    Campaign(experiment=runs, factors={"m": Range(1200.0, 1800.0), "step_steer.speed": ...}, ...)

A run is what `manoeuvres.perform` gives for the vehicle with the parameters of the run, alone, to
the bit: limits, linear theory and searches are those of this vehicle. Compiled drives of several
runs share rollouts, in which vehicles do not see each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, get_type_hints

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..brief import brief_repr
from ..checks import must_be, vehicle_of
from ..compile.lower import lower
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..manoeuvres import (
    CaseRun,
    Kernels,
    Manoeuvre,
    Result,
    Subject,
    chosen,
    perform,
    perform_each,
)
from ..model import Vehicle
from ..signature import Constant, pickled_fields
from ..trajectory.trajectory import Trajectory
from ..units import Allowed
from .drive_rows import unit_of
from .experiment import FAILED, Column, Means, Rows
from .functions import FAILURES, argument_marks, function_identity
from .identities import only_adds, plain

TOGETHER = 16
"""Runs that are driven side by side."""


@dataclass(frozen=True, eq=False)
class ManoeuvreRuns(Constant):
    """Runs of one or several manoeuvres, each with the vehicle of the run.

    Factors are parameters of the vehicle (`m`, `tyres.D`) and numbers that a manoeuvre is set by
    (`step_steer.speed`). Columns are metrics: `step_steer.yaw_rate_overshoot`. They are those of
    the vehicle as it is, which drives everything once when this is made; a metric that a run does
    not have is NaN. A manoeuvre has failed where it cannot be driven or gives no number, as where
    the vehicle spins; a run, where one of its manoeuvres has.
    """

    vehicle: Vehicle
    manoeuvres: str | Manoeuvre | Sequence[str | Manoeuvre] | Mapping[str, str | Manoeuvre]
    """Names of standard ones or own objects; a mapping gives them other names in columns, so that
    one manoeuvre can be there with several settings."""
    _: KW_ONLY
    dt: float = 0.001
    """Step of the simulation in s; ten of them are from sample to sample."""
    replayed: str = ""
    """The manoeuvre whose drive a replay gives; the first if empty."""
    known: tuple[Column, ...] = field(default=(), repr=False)
    """The columns; found by a drive of the vehicle if there are none."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        vehicle_of(self.vehicle)
        object.__setattr__(self, "manoeuvres", _by_name(self.manoeuvres))
        if self.replayed not in ("", *self._all):
            raise InvalidValue(
                record.unknown_name("replayed", self.replayed, tuple(self._all), "manoeuvre")
            )
        if not self.known:
            object.__setattr__(self, "known", self._trial_columns())

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a ManoeuvreRuns", self, "take one of skidpad's manoeuvres")

    @property
    def block(self) -> int:
        """Any number of runs may be done together: each is computed for itself."""
        return 1

    @property
    def threaded(self) -> bool:
        """Metrics are computed by Python, on one processor."""
        return False

    @property
    def _all(self) -> dict[str, Manoeuvre]:
        made: Any = self.manoeuvres
        return made

    def factor_units(self) -> dict[str, str]:
        """Parameters of the vehicle, then settings of manoeuvres."""
        own = {leaf.name: unit_of(leaf) for leaf in record.fields(self.vehicle.model.Params)}
        settings = {
            f"{name}.{setting}": argument_marks(type(one), setting)[0]
            for name, one in self._all.items()
            for setting in _settings(one)
        }
        return own | settings

    def columns(self) -> tuple[Column, ...]:
        """Metrics of all manoeuvres."""
        return self.known

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors whose ends the vehicle or a manoeuvre does not take."""
        leaves = {leaf.name: leaf for leaf in record.fields(self.vehicle.model.Params)}
        settings = {f"{name}.{one}": m for name, m in self._all.items() for one in _settings(m)}
        for name, pair in ends.items():
            if name in leaves:
                unit, allowed = unit_of(leaves[name]), leaves[name].allowed or Allowed()
            else:
                setting = name.rpartition(".")[2]
                unit, allowed = argument_marks(type(settings[name]), setting)
            for end in pair:
                must_be(f"factor {name}", end, allowed, unit)
        for side in (0, 1):
            self.vehicle.with_params({n: float(p[side]) for n, p in ends.items() if n in leaves})

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each; of a manoeuvre that failed all numbers are NaN."""
        kernels = _kernels(self.dt, means)
        numbers = {column.name: np.full(len(rows.runs), np.nan) for column in self.known}
        failed = np.zeros(len(rows.runs), dtype=bool)
        for begin in range(0, len(rows.runs), TOGETHER):
            places = range(begin, min(begin + TOGETHER, len(rows.runs)))
            for k, results in zip(places, self._driven(rows, places, kernels), strict=True):
                for name in self._all:
                    own = _numbers(name, results.get(name))
                    failed[k] |= not np.isfinite(list(own.values())).any()
                    for column in own.keys() & numbers.keys():
                        numbers[column][k] = own[column]
        return {**numbers, FAILED: failed}

    def replay(self, rows: Rows) -> Trajectory:
        """A drive of one manoeuvre, as the run of `rows` made it: of those that were driven last
        the first that came through, or the last of all that did. Of a run that could not be driven
        the start alone."""
        name = self.replayed or next(iter(self._all))
        requests = _attempt(self._requests, rows, 0)
        pair = () if requests is None else ([one] for one in requests[name])
        results = requests and _attempt(perform, *pair, _kernels(self.dt, Means()))
        if not results or not results[0].runs:
            return self._standing(name, results[0].unfit if results else "")
        (result,) = results
        tried = (*result.last, *result.runs[::-1])
        run = next((run for run in tried if run.done[0]), result.last[0])
        return _trajectory(result.car.vehicle, run, f"{name}: {run.label}")

    def identity(self) -> dict[str, Any]:
        """Vehicle with its parameters and Program, manoeuvres with their settings and code."""
        names = record.names(self.vehicle.model.Params)
        values = record.flatten(self.vehicle.params)
        step = Plant.of(self.vehicle, integrate.get("rk4")).step
        return {
            "kind": "manoeuvres",
            "vehicle": self.vehicle.name,
            "params": plain(dict(zip(names, values, strict=True))),
            "program": lower(step, "float64").digest,
            "dt": self.dt,
            "manoeuvres": {
                name: function_identity(f"manoeuvre {name}", one) for name, one in self._all.items()
            },
        }

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it only has other manoeuvres beside those before."""
        return only_adds(self.identity(), before, "manoeuvres")

    def _driven(
        self, rows: Rows, places: Sequence[int], kernels: Kernels
    ) -> list[dict[str, Result]]:
        """Results by manoeuvre of some of the rows; nothing of one that cannot be meant."""
        requests = [_attempt(self._requests, rows, k) or {} for k in places]
        places_of = [(k, name) for k, row in enumerate(requests) for name in row]
        pairs = [requests[k][name] for k, name in places_of]
        results = _attempt(perform_each, pairs, kernels)
        if results is None:  # each alone, to the same bits
            alone = [_attempt(perform_each, [pair], kernels) for pair in pairs]
            results = [one[0] if one else None for one in alone]
        out: list[dict[str, Result]] = [{} for _ in requests]
        for (k, name), result in zip(places_of, results, strict=True):
            if result is not None:
                out[k][name] = result
        return out

    def _requests(self, rows: Rows, k: int) -> dict[str, tuple[Manoeuvre, Subject]]:
        """The manoeuvres of a run, each with a subject of its own."""
        names = record.names(self.vehicle.model.Params)
        values = {name: float(column[k]) for name, column in rows.factors.items()}
        vehicle = self.vehicle.with_params({n: v for n, v in values.items() if n in names})
        return {
            name: (_set(one, name, values), Subject(vehicle, name=self.vehicle.name))
            for name, one in self._all.items()
        }

    def _trial_columns(self) -> tuple[Column, ...]:
        """By a drive of the vehicle as it is; raises where it cannot do a manoeuvre."""
        pairs = [(one, Subject(self.vehicle)) for one in self._all.values()]
        columns: list[Column] = []
        try:
            results = perform_each(pairs, _kernels(self.dt, Means()))
        except _BEYOND as error:
            what = str(error) or type(error).__name__
            raise InvalidValue(
                f"{', '.join(self._all)}: the settings cannot be driven: {what:.200}"
            ) from error
        for name, result in zip(self._all, results, strict=True):
            if result.findings is None:
                raise InvalidValue(f"{name}: {result.unfit}")
            columns += [
                Column(f"{name}.{metric.name}", metric.unit, metric.definition)
                for metric in result.findings.metrics
            ]
        return tuple(columns)

    def _standing(self, name: str, why: str) -> Trajectory:
        model = self.vehicle.model
        start = np.array([record.flatten(record.build(model.State))])
        error = InvalidValue(f"{name}: {why or 'the vehicle of this run cannot be driven'}")
        return Trajectory.from_arrays(np.zeros(1), (model.State, start), name=name, error=error)


def _by_name(manoeuvres: Any) -> dict[str, Manoeuvre]:
    """Manoeuvres by the names of their columns."""
    if isinstance(manoeuvres, Mapping):
        return {str(name): _manoeuvre(one) for name, one in manoeuvres.items()}
    listed = (
        [manoeuvres]
        if isinstance(manoeuvres, str) or not isinstance(manoeuvres, Sequence)
        else list(manoeuvres)
    )
    made = [_manoeuvre(one) for one in listed]
    names = [one.name for one in made]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not made:
        raise InvalidValue(
            f"manoeuvres has {twice} more than once: give them names, {{'slow': ..., 'fast': ...}}"
            if made
            else "manoeuvres is empty; name at least one"
        )
    return dict(zip(names, made, strict=True))


def _manoeuvre(one: Any) -> Manoeuvre:
    return chosen([one])[0] if isinstance(one, str) else one


def _settings(one: Any) -> list[str]:
    """Fields of a manoeuvre that are one real number."""
    hints = get_type_hints(type(one))
    return [setting.name for setting in fields(one) if hints[setting.name] is float]


def _set(one: Any, name: str, values: Mapping[str, float]) -> Manoeuvre:
    """A manoeuvre with the settings of a run."""
    wanted = {setting: values.get(f"{name}.{setting}") for setting in _settings(one)}
    changes = {setting: value for setting, value in wanted.items() if value is not None}
    return replace(one, **changes) if changes else one


def _attempt(work: Any, *arguments: Any) -> Any:
    """What a function returns; None where it raises for what it was given."""
    try:
        return work(*arguments)
    except FAILURES:
        return None


def _numbers(name: str, result: Result | None) -> dict[str, float]:
    """By column; none of a manoeuvre that failed."""
    if result is None or result.findings is None:
        return {}
    return {f"{name}.{one.name}": float(one.value[0]) for one in result.findings.metrics}


def _trajectory(vehicle: Vehicle, run: CaseRun, name: str) -> Trajectory:
    assert run.states is not None
    assert run.inputs is not None
    states, inputs = run.states[:, 0], run.inputs[:, 0]
    model = vehicle.model
    return Trajectory.from_arrays(run.t, (model.State, states), (model.Input, inputs), name=name)


_BEYOND = (ArithmeticError, LookupError, MemoryError, TypeError)
"""What settings cause that a manoeuvre did not expect: a duration for which there is no memory, a
speed of which the square is infinite, a side that there is not."""
_KERNELS: dict[Any, Kernels] = {}
"""Compiled vehicles of this process, by step, threads and device."""


def _kernels(dt: float, means: Means) -> Kernels:
    key = dt, means
    if key not in _KERNELS:
        _KERNELS[key] = Kernels(dt=dt, threads=means.threads, device=means.device)
    return _KERNELS[key]
