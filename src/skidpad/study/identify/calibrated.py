"""A prepared log with the calibration of its sensors taken out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...core.model import Vehicle
from ...units import s
from ..logs.preparation import Prepared
from .observed import Sensors
from .replay import Replay

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
