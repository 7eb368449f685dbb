"""`estimate`: states and parameters of a vehicle over a log, in one call.

result = estimate(car, channels, dt=0.01, names=("v_y", "sideslip", "mu"))
low, high = result.interval("mu")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Pose, Velocity
from ...core.checks import array, one_of
from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from .horizon import MovingHorizonEstimator
from .kalman import Estimate, ExtendedKalmanFilter, KalmanFilter, UnscentedKalmanFilter
from .structure import DEMAND, INPUT, inputs_of_demands, measurable, measured_leaf

METHODS: dict[str, type[KalmanFilter]] = {
    "ekf": ExtendedKalmanFilter,
    "ukf": UnscentedKalmanFilter,
    "mhe": MovingHorizonEstimator,
}
NOISE = {"m": 0.1, "rad": 0.005, "m/s": 0.1, "rad/s": 0.01, "m/s²": 0.3, "1": 0.02}
"""Default standard deviations of measurements by unit."""
LOST, LOST_TIME = 20.0, 1.0
"""An estimate is lost where measurements differ from their predictions by this number of standard
deviations over this time in s."""
DOUBTFUL = 3.0
"""Innovations over the declared noise above which an estimate has a warning among its notes."""


def estimate(
    vehicle: Vehicle,
    channels: Mapping[str, Any],
    dt: float,
    names: Sequence[str] | None = None,
    *,
    measured: Mapping[str, float | None] | Sequence[str] | None = None,
    parameters: Mapping[str, float | None] | Sequence[str] = (),
    method: str = "ekf",
    smooth: bool = True,
    start: Mapping[str, float] | None = None,
    **options: Any,
) -> Estimate:
    """Estimate states and parameters of a vehicle over a log.

    Args:
        vehicle: any vehicle.
        channels: arrays (n,) on a grid of `dt`, NaN where nothing is known, in SI units. `u_NAME`
            is the command to input NAME of the vehicle, held until the next sample; other names are
            measurements (see `ExtendedKalmanFilter`). Channels that the vehicle does not have are
            not used. Inputs without a channel are estimated: as the demand of a driver
            (`demand_a`, `demand_steer`) if the vehicle has a body, else as `u_NAME`.
        dt: period of the channels in s.
        names: states, parameters and measurable quantities (such as "sideslip") to return; by
            default all estimated ones. A parameter named here is estimated.
        measured: channels to use as measurements, with their standard deviations or None for a
            default by unit; by default all that the vehicle has.
        parameters: further parameters to estimate, as of `ExtendedKalmanFilter`.
        method: "ekf", "ukf" or "mhe".
        smooth: use the whole log for every moment; otherwise only what was measured before.
        start: start values by name, instead of the first measurements.
        **options: further arguments of the estimator.

    Returns:
        An `Estimate` with n moments; its `notes` say what was done with the channels, and warn if
        the innovations are three times as large as the noise says or more.

    Raises:
        InvalidValue: where measurements differ from their predictions by 20 standard deviations for
            a second, as for a channel that is late or has a wrong sign: the estimate is lost then.
    """
    source, model = vehicle_of(vehicle), vehicle_of(vehicle).model
    one_of("method", method, METHODS)
    table = _checked(channels)
    own = [INPUT + name for name in record.names(model.Input)]
    inputs = {name: values for name, values in table.items() if name in own}
    noise = _noise(source, table, measured)
    notes = [f"{name} is not used" for name in table if name not in (*noise, *inputs)]
    walks = dict(parameters if isinstance(parameters, Mapping) else dict.fromkeys(parameters))
    walks |= {name: None for name in _unknown_inputs(source, inputs) if name not in walks}
    wanted = tuple(names or ())
    states, quantities = record.names(model.State), measurable(model)
    walks |= {name: None for name in wanted if name not in (*quantities, *walks)}
    estimator = METHODS[method](source, dt, noise, parameters=walks, **options)
    more = [name for name in wanted if name in states and name not in estimator.names]
    if more and "states" not in options:
        options["states"] = [name for name in estimator.names if name in states] + more
        estimator = METHODS[method](source, dt, noise, parameters=walks, **options)
    u, held = _held(source, inputs, len(next(iter(table.values()))))
    notes += held + [f"{name} is estimated" for name in walks]
    given: dict[str, Any] = dict(start or {})
    first = _start(source, table, given, walks)
    estimator.reset(first, **{name: given[name] for name in given if name in walks})
    seen = np.stack([table[name] for name in estimator.measured], axis=-1)
    log = (estimator.smooth if smooth else estimator.run)(u[:-1], seen[1:])
    _check_scores(log, dt)
    result = log if names is None else estimator.select(log, wanted, u[:-1])
    result.notes = (*notes, *_warnings(log))
    return result


def _check_scores(log: Estimate, dt: float) -> None:
    """Raise InvalidValue if the estimate is lost."""
    squares = np.nan_to_num(log.moments.scores, nan=0.0) ** 2
    width = min(max(round(LOST_TIME / dt), 1), len(squares))
    kernel = np.ones(width)
    sums = np.stack([np.convolve(each, kernel, "valid") for each in squares.T], axis=-1)
    counts = np.convolve(log.degrees.astype(float), kernel, "valid")
    off = np.sqrt(sums.sum(axis=-1) / np.maximum(counts, 1.0))
    if (lost := off > LOST).any():
        row = int(np.argmax(lost))
        name = log.measured[int(np.argmax(sums[row]))]
        raise InvalidValue(
            f"the estimate is lost {row * dt:.3g} s after the start: over {width * dt:.3g} s "
            f"measurements are {off[row]:.3g} standard deviations from their predictions, most of "
            f"all {name}. Check its sign, unit and delay, or give it a larger standard deviation "
            "(measured); gate=5.0 ignores measurements that far off"
        )


def _warnings(log: Estimate) -> list[str]:
    """Warning where innovations are much larger than their noise, over the log as a whole."""
    ratio = float(np.sqrt(log.nis.sum() / max(int(log.degrees.sum()), 1)))
    if ratio < DOUBTFUL:
        return []
    squares = np.nan_to_num(log.moments.scores, nan=0.0) ** 2
    name = log.measured[int(np.argmax(squares.sum(axis=0)))]
    return [
        f"warning: innovations are {ratio:.2g} times as large as the noise says, most of all those "
        f"of {name}: the vehicle does not follow this log, and values and deviations are not to be "
        "trusted. Fit the vehicle's parameters first, give larger noise (measured, process), or "
        "estimate no parameters such as mu"
    ]


def _checked(channels: Mapping[str, Any]) -> dict[str, Array]:
    """Channels as arrays of one length."""
    table = {name: array(name, values, ("n",), None) for name, values in channels.items()}
    lengths = {values.size for values in table.values()}
    if len(lengths) != 1 or min(lengths) < 2:
        raise InvalidValue(
            f"channels have lengths {sorted(lengths)}; all must have the same, at least 2"
        )
    return table


def _noise(vehicle: Vehicle, table: Mapping[str, Array], measured: Any) -> dict[str, float]:
    """Standard deviations of the measurements to use."""
    known = measurable(vehicle.model)
    if measured is None:
        measured = [name for name in table if name in known]
    sds: dict[str, Any] = dict(
        measured if isinstance(measured, Mapping) else dict.fromkeys(measured)
    )
    record.check_names("channels", sds, table, "channel")
    for name, sd in sds.items():
        if sd is None and name in known:
            unit = measured_leaf(vehicle.model, name).unit.symbol
            sds[name] = NOISE.get(unit, 0.02 * float(np.nanstd(table[name])) or 1.0)
    return sds


def _unknown_inputs(vehicle: Vehicle, inputs: Mapping[str, Array]) -> list[str]:
    """Parameters that stand for the inputs without a channel."""
    names = record.names(vehicle.Input)
    missing = {k for k, name in enumerate(names) if INPUT + name not in inputs}
    found: list[str] = []
    for field in ("steer", "a") if vehicle.model.body is not None else ():
        moved = set(inputs_of_demands(vehicle, (field,)))
        if moved and moved <= missing:
            found.append(DEMAND + field)
            missing -= moved
    if vehicle.model.body is not None:
        return found
    return [INPUT + names[k] for k in sorted(missing)]


def _held(vehicle: Vehicle, inputs: Mapping[str, Array], count: int) -> tuple[Array, list[str]]:
    """Inputs (n, nu), where a missing sample is the one before it, and notes about these."""
    names, notes = record.names(vehicle.Input), list[str]()
    rows = np.tile(record.flatten(record.build(vehicle.Input)), (count, 1)).astype(float)
    for k, name in enumerate(names):
        values = inputs.get(INPUT + name)
        if values is None:
            continue
        there = np.isfinite(values)
        if not there.any():
            raise InvalidValue(f"{INPUT + name} has no value")
        last = np.maximum.accumulate(np.where(there, np.arange(count), -1))
        rows[:, k] = values[np.maximum(last, int(np.argmax(there)))]
        if not there.all():
            notes.append(f"{INPUT + name}: {count - int(there.sum())} missing samples are held")
    return rows, notes


def _start(
    vehicle: Vehicle, table: Mapping[str, Array], given: dict[str, Any], walks: Mapping[str, Any]
) -> Any:
    """State of the vehicle at the start, by the first measurements."""
    model = vehicle.model
    fields, x = record.names(model.State), record.at_rest(model.State)
    record.check_names("start", given, (*fields, *walks))
    first = {n: float(v[np.isfinite(v)][0]) for n, v in table.items() if np.isfinite(v).any()}
    first |= given
    if model.body is not None:
        read = first.get
        pose = Pose(read("x", 0.0), read("y", 0.0), read("yaw", 0.0))
        speed = read("v_x", read("speed", 0.0))
        velocity = Velocity(speed, read("v_y", 0.0), read("omega", 0.0))
        x = model.body.placed(x, pose, velocity, vehicle.params)
    values = {name: value for name, value in first.items() if name in fields}
    return record.build(model.State, x, **values)
