"""Recorded runs as `fit` and `compare` take them: read, prepared, and without sensor errors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...core.files import CALIBRATION, WITH_FILE, parameter_changes
from ...core.model import Vehicle, vehicle_of
from ...core.record import size, unknown_name
from ...errors import InvalidValue, SkidpadError
from ...vehicles.registry import COMMAND_DRIVEN
from ...vehicles.registry import get as registered
from ..logs.log import Log
from ..logs.preparation import Line, Prepared, prepare
from ..logs.reading import Source, read_log
from .axle_curves import AxleCurves, axle_curves
from .replay import Replay

if TYPE_CHECKING:
    from ...control.estimators.kalman import Estimate

Drives = Source | Prepared | Sequence[Source | Prepared | Sequence[Source]]
"""One run, or a sequence of runs; a run in several files is a sequence in this sequence."""
REPORTED = "out_"
"""Beginning of the names of a simulated vehicle's outputs, in a Trajectory."""


def prepare_logs(
    logs: Drives,
    names: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    *,
    dbc: str | os.PathLike[str] | None = None,
) -> tuple[Prepared, ...]:
    """Read and prepare recorded runs; those that are prepared already are returned as they are.

    Args:
        logs: one run, or a sequence of runs; a run that was recorded in several files with clocks
            of their own is a sequence in this sequence.
        names: names used here for names in the files, see `read_log`.
        without: steps of the preparation to leave out, see `prepare`.
        dbc: definition of the messages of CAN logs, see `read_log`.
    """
    several = cast("Sequence[Any]", logs if isinstance(logs, list | tuple) else [logs])
    if not several:
        raise InvalidValue("no recorded run is given; at least one is needed")
    found: list[Prepared] = []
    for one in several:
        if isinstance(one, Prepared):
            found.append(one)
            continue
        log = reported(read_log(one, names, dbc=dbc))
        prepared = prepare(log, without=without)
        # What reading changed, such as units and clocks, belongs to the report as well.
        parts = [note.partition(": ") for note in log.notes]
        read = [Line("reading", a, b) if b else Line("reading", log.name, a) for a, _, b in parts]
        found.append(replace(prepared, lines=(*read, *prepared.lines)))
    return tuple(found)


def vehicle_named(one: Vehicle | str) -> Vehicle:
    """A vehicle, or that of a name such as `two_track:sports` or `two_track:sports:mine.yaml`."""
    if not isinstance(one, str):
        return vehicle_of(one)
    if own := WITH_FILE.fullmatch(one):
        if own[1] in COMMAND_DRIVEN:
            command_driven: Any = registered(own[1])
            return command_driven([own[2]])
        values = parameter_changes([Path(own[2])])
        values = {n: value for n, value in values.items() if not n.startswith(CALIBRATION)}
        return vehicle_named(own[1]).with_params(values)
    name, _, parameter_set = one.partition(":")
    factory: Any = registered(name)
    return factory(parameter_set) if parameter_set else factory()


def calibration_of(one: Any) -> dict[str, float]:
    """Parameters of sensors and delays in the file of a name such as `two_track:mine.yaml`."""
    own = WITH_FILE.fullmatch(one) if isinstance(one, str) else None
    values = parameter_changes([Path(own[2])]) if own else {}
    return {n: float(v) for n, v in values.items() if n.startswith(CALIBRATION)}


def reported(log: Log) -> Log:
    """Log with the outputs of a simulated vehicle, such as `out_steer`, under their plain names.

    A vehicle may report other values than those of its state, such as an angle with a bias.
    """
    outputs = {
        name.removeprefix(REPORTED): channel
        for name, channel in log.channels.items()
        if name.startswith(REPORTED)
    }
    others = {n: c for n, c in log.channels.items() if not n.startswith(REPORTED)}
    return replace(log, channels={**others, **outputs}) if outputs else log


BIASES = ("omega", "a_x", "a_y", "sideslip")
"""Channels with a bias among the parameters of `Sensors`."""


def calibrated(
    vehicle: Vehicle, drive: Prepared, calibration: Mapping[str, float]
) -> tuple[Prepared, list[str]]:
    """A log as perfect sensors would have written it, and notes about its steering.

    Delays are taken out, biases are subtracted, and a hand-wheel angle becomes the channel `steer`,
    with the ratio of the calibration or else the one with which the vehicle turns as in the log.
    `calibration` has parameters of the sensors (`log.steer_ratio`) and delays (`delay.omega`).
    """
    given = {n[4:]: v for n, v in calibration.items() if n.startswith("log.")}
    channels, noise, notes = dict(drive.channels), dict(drive.noise), list[str]()
    for name, values in drive.channels.items():
        delay = calibration.get(f"delay.{name}", 0.0)
        if delay:  # unknown at one end of the log
            channels[name] = np.interp(drive.t + delay, drive.t, values, left=np.nan, right=np.nan)
        if name in BIASES:
            channels[name] = channels[name] - given.get(f"{name}_bias", 0.0)
        if name in ("v_x", "speed"):
            channels[name] = given.get("speed_ratio", 1.0) * channels[name]
    by_hand = "steer" not in channels and "u_steer" not in drive.commands
    if by_hand and "steering_wheel" in channels and "steer_ratio" not in given:
        found = Replay(vehicle, drive).observed.params.log
        given = {"steer_ratio": found.steer_ratio, "steer_offset": found.steer_offset} | given
        notes.append(
            f"steer is {given['steer_ratio']:.4g} times steering_wheel, with which {vehicle.name} "
            "turns as in the log; a fit finds log.steer_ratio"
        )
    angle = channels.get("steer", channels.get("steering_wheel") if by_hand else None)
    if angle is not None:
        ratio = given.get("steer_ratio", 1.0)
        channels["steer"] = ratio * angle + given.get("steer_offset", 0.0)
        if by_hand and "steering_wheel" in noise:
            noise["steer"] = abs(ratio) * noise["steering_wheel"]
    return replace(drive, channels=channels, noise=noise), notes


def estimate_states(
    vehicle: Vehicle,
    drive: Prepared,
    names: Sequence[str],
    measured: Mapping[str, float] | None = None,
    **options: Any,
) -> Estimate:
    """Estimate states and parameters of a vehicle over a prepared log, see `control.estimate`.

    All channels that were measured and that the vehicle has are used, with the noise that the
    preparation found, but at least a tenth of the default of the filter, since a log without noise
    would make every error of the model a lost estimate; or with that of `measured` by name.
    Commands are held.
    """
    from ...control.estimators.logs import NOISE, estimate
    from ...control.estimators.structure import measurable, measured_leaf

    given = measured or {}
    known = set(measurable(vehicle.model))
    channels = {n: v for n, v in drive.channels.items() if n in known}
    if {"x", "y"} <= drive.noise.keys():  # what was derived from them is not measured twice
        channels = {n: v for n, v in channels.items() if n in drive.noise or n in given}
    for name in given:
        if name not in channels:
            raise InvalidValue(unknown_name(drive.name, name, [*channels], "measured channel"))
    noise: dict[str, float | None] = {}
    for name in channels:
        least = 0.1 * NOISE.get(measured_leaf(vehicle.model, name).unit.symbol, 0.0)
        found = drive.noise.get(name)
        noise[name] = given.get(name, max(found, least) if found else None)
    commands = {
        name: one.values[np.maximum(np.searchsorted(one.t, drive.t + 1e-9, "right") - 1, 0)]
        for name, one in drive.commands.items()
    }
    return estimate(vehicle, {**channels, **commands}, drive.dt, names, measured=noise, **options)


LARGEST_ESTIMATED = 12
"""Largest number of states of a vehicle whose Kalman filter compiles within seconds."""


def logged_axle_curves(
    vehicle: Vehicle, drive: Prepared, calibration: Mapping[str, float]
) -> AxleCurves:
    """Lateral force over slip angle of each axle from a log and its calibration.

    A lateral velocity that was not measured is estimated by an extended Kalman filter of the
    vehicle; for a vehicle with many states it is integrated, see `axle_curves`.
    """
    drive, _ = calibrated(vehicle, drive, calibration)
    v_y, notes = None, tuple[str, ...]()
    if not {"v_y", "sideslip"} & drive.channels.keys():
        try:
            if size(vehicle.State) <= LARGEST_ESTIMATED:
                v_y = estimate_states(vehicle, drive, ["v_y"])["v_y"]
                notes = (f"v_y is estimated by an extended Kalman filter of {vehicle.name}",)
        except SkidpadError:  # the log is integrated instead
            v_y = None
    found = axle_curves(
        vehicle, drive.channels, drive.t, v_y=v_y, noise=drive.noise, name=drive.name
    )
    return replace(found, notes=(*notes, *found.notes))
