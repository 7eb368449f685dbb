"""Recorded runs as the arguments of `fit` and `compare` name them, read and prepared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...units import s
from ...vehicles.registry import get as registered
from ..logs.log import Log
from ..logs.preparation import Prepared, prepare
from ..logs.reading import Source, read_log
from .observed import Sensors
from .replay import Replay

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
    return tuple(
        one
        if isinstance(one, Prepared)
        else prepare(reported(read_log(one, names, dbc=dbc)), without=without)
        for one in several
    )


def vehicle_named(one: Vehicle | str) -> Vehicle:
    """A vehicle, or that of a name such as `two_track:sports`."""
    if not isinstance(one, str):
        return vehicle_of(one)
    name, _, parameter_set = one.partition(":")
    factory: Any = registered(name)
    return factory(parameter_set) if parameter_set else factory()


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


BIASES = {"omega": "omega_bias", "a_x": "a_x_bias", "a_y": "a_y_bias", "sideslip": "sideslip_bias"}
"""Channels with the parameter of `Sensors` that is their bias."""


def calibrated(
    vehicle: Vehicle, drive: Prepared, calibration: Mapping[str, float]
) -> tuple[Prepared, list[str]]:
    """A log as perfect sensors would have written it, and notes about its steering.

    Delays are taken out, biases are subtracted, and a hand-wheel angle becomes the channel `steer`,
    with the ratio of the calibration or else the one with which the vehicle turns as in the log.
    `calibration` has parameters of the sensors (`log.steer_ratio`) and delays (`delay.omega`).
    """
    params = {n[4:]: v for n, v in calibration.items() if n.startswith("log.")}
    delays = {n[6:]: v for n, v in calibration.items() if n.startswith("delay.")}
    channels = {n: _earlier(drive, n, delays.get(n, 0.0)) for n in drive.channels}
    for name, bias in BIASES.items():
        if name in channels and bias in params:
            channels[name] = channels[name] - params[bias]
    notes: list[str] = []
    given = {n: v for n, v in params.items() if n in ("steer_ratio", "steer_offset")}
    if "steer" in channels:
        log = Sensors(**given)
        channels["steer"] = log.steer_ratio * channels["steer"] + log.steer_offset
    elif "steering_wheel" in channels and "u_steer" not in drive.commands:
        if "steer_ratio" not in given:
            found = Replay(vehicle, drive).observed.params.log
            given = {"steer_ratio": found.steer_ratio, "steer_offset": found.steer_offset} | given
            notes.append(
                f"steer is {given['steer_ratio']:.4g} times steering_wheel, with which "
                f"{vehicle.name} turns as in the log; a fit finds log.steer_ratio"
            )
        log = Sensors(**given)
        channels["steer"] = log.steer_ratio * channels["steering_wheel"] + log.steer_offset
    return replace(drive, channels=channels, noise=_noise(drive, channels, given)), notes


def _earlier(drive: Prepared, name: str, delay: s) -> np.ndarray:
    """A channel with a delay taken out; unknown at the end of the log."""
    values = drive.channels[name]
    if delay == 0.0:
        return values
    return np.interp(drive.t + delay, drive.t, values, left=np.nan, right=np.nan)


def _noise(
    drive: Prepared, channels: Mapping[str, np.ndarray], given: Mapping[str, float]
) -> dict[str, float]:
    """Noise of the channels, that of `steer` from the hand wheel."""
    noise = dict(drive.noise)
    if "steer" in channels and "steer" not in noise and "steering_wheel" in noise:
        noise["steer"] = abs(given.get("steer_ratio", 1.0)) * noise["steering_wheel"]
    return noise
