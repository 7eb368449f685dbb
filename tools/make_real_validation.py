"""Writes docs/validation_real.md: cars fitted to public recordings, judged on what was left out.

    python tools/make_real_validation.py FOLDER     # or: make validation-real DATA=FOLDER

The folder holds the published files in `dart` and `f1tenth`; `real_data/recordings.py` says which,
and where they come from. They are not part of skidpad.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import skidpad as sp
from real_data.cars import dart_cars, f1tenth_cars
from real_data.recordings import dart, f1tenth
from skidpad.core import record
from skidpad.study.identify import fit
from skidpad.study.identify.replay import Guess, Replay
from skidpad.study.logs.preparation import Prepared, prepare

PAGE = Path(__file__).parents[1] / "docs" / "validation_real.md"
SOURCES = (
    "DART, Lorenzo Lyons and others, MIT licence, commit 4b52523: `30_step_steering_data`, "
    "`40_sinusoidal_steering_data`, `81_throttle_ramps_only_steer03`",
    "FrictionMaps, Ahmad Amine and others, MIT licence, commit 6a1b907: an F1TENTH car",
)
WINDOW = 2.0
"""Length of the free runs in s."""
LINEAR = ["tyres.front.C_y", "tyres.rear.C_y"]
TYRES = [f"tyres.{axle}.lateral.{name}" for axle in ("front", "rear") for name in ("mu", "K")]
SHAPES = [f"tyres.{axle}.lateral.{name}" for axle in ("front", "rear") for name in ("C", "E")]
SLIDES: dict[str, list[str]] = {
    "single_track, linear tyres": LINEAR,
    "single_track": TYRES,
    "two_track": TYRES,
}
"""Unknowns of the cars that slide, besides those of servo and motor."""
PRIORS = {
    "tyres.front.C_y": (9.0, 5.0),
    "tyres.rear.C_y": (9.0, 5.0),
    "tyres.front.lateral.mu": (0.7, 0.15),
    "tyres.rear.lateral.mu": (0.7, 0.15),
    "servo.trim": (0.01, 0.02),
    **{name: (1.2, 0.2) if name.endswith("C") else (0.0, 1.0) for name in SHAPES},
}
"""Usual values of rubber on smooth floors: the yaw rate alone hardly tells those of the rear
tyres."""
SERVO = ["servo.gain", "servo.left", "servo.right", "servo.trim", "t_dead"]
MOTOR = {"motor.F_0": (30.0, 15.0), "motor.slope": (20.0, 15.0)}
"""Unknowns of the motor with priors: at one speed the data tell the force, not its parts."""
BOUNDS = {name: (0.02, 0.3) for name in ("t_steer",)}
"""Shorter time constants do not show in these recordings."""
INTRODUCTION = """
Cars of skidpad are fitted to public recordings, and predict recordings that were left out of the
fit. `make validation-real DATA=folder` computes this page for anyone who has the recordings, which
are not part of skidpad.
"""
DRIVES = """
{count} runs with steps and sines of the steering at 1 m/s, of which every other one is left out of
the fit. The recorded commands to servo and motor drive the cars; nothing else does. The table has
root mean square errors of free runs of {window:g} s, and the errors on the runs that were left out
relative to those of the kinematic car. The gyroscope shakes with the car: its noise is 0.1 rad/s.
"""
RAMPS = """
Two throttle ramps have the wheels held at 0.3 rad. The turn to the left is fitted, the one to the
right is left out; the recorded speed and the wheel angle drive the cars. The tables have the error
of the curvature.
"""
PIECES = """
{count} pieces of one drive, of which every other one is left out of the fit. The recorded steering
command and speed drive the cars. The table has root mean square errors of the yaw rate in free runs
of {window:g} s, in rad/s.
"""
A_Y = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5, 7.0, 7.5)
"""Lateral accelerations in m/s² at which curvatures are compared."""
NEAR = 0.35
"""Half width in m/s² of the range around each of them."""


class Errors(NamedTuple):
    """Root mean square errors of free runs by channel, on fitted and on left-out recordings."""

    fitted: Mapping[str, float]
    left_out: Mapping[str, float]


def only(drive: Prepared, *channels: str) -> Prepared:
    """A log with some of its channels, measured or derived: they are compared, no others."""
    chosen = {name: drive.channels[name] for name in channels}
    return replace(drive, channels=chosen, derived=())


def errors_of(
    car: sp.Vehicle,
    drives: Sequence[Prepared],
    delays: Mapping[str, float] | None = None,
    **options: Any,
) -> dict[str, float]:
    """Root mean square errors of all windows, by channel."""
    found: dict[str, list[Any]] = {}
    for drive in drives:
        replay = Replay(car, drive, window=WINDOW, longest=0.3, **options)
        errors = replay.errors(replay.run([Guess(delays=delays or {})]))[0]
        for channel, values in zip(replay.channels, errors, strict=True):
            found.setdefault(channel, []).append(values.ravel())
    return {
        channel: float(np.sqrt(np.nanmean(np.concatenate(values) ** 2)))
        for channel, values in found.items()
    }


def curvatures(car: sp.Vehicle, ramp: Prepared) -> dict[float, tuple[float, float, float]]:
    """Measured a_y and curvature near some accelerations, and the relative error of the car's, in
    free runs with the logged speed and wheel angle."""
    replay = Replay(
        car, ramp, window=WINDOW, steer="prescribed", speed="prescribed", channels=["omega"]
    )
    turning = replay.run([Guess()])[0][0]
    speed = ramp.channels["v_x"][replay.rows]
    # The first half of a run still starts from the measured state.
    second = slice(turning.shape[1] // 2, None)
    rates, found, v = (x[:, second].mean(axis=1) for x in (replay.measured[0], turning, speed))
    a_y, curvature = np.abs(rates * v), np.abs(rates / v)
    result: dict[float, tuple[float, float, float]] = {}
    for level in A_Y:
        near = np.abs(a_y - level) < NEAR
        if near.any():
            wrong = float(np.mean(found[near] / rates[near] - 1.0))
            result[level] = float(a_y[near].mean()), float(curvature[near].mean()), wrong
    return result


def fit_dart(
    name: str, car: sp.Vehicle, runs: Sequence[Prepared], ramps: Sequence[Prepared]
) -> sp.Vehicle:
    """DART fitted to every other steering run and to the ramp to the left.

    First servo, tyres and inertia at the logged speed, then the motor by its commands.
    """
    tyres = SLIDES.get(name, [])
    # The ramps reach the limit of grip, with the lateral velocity measured.
    tyres = [*tyres, *SHAPES] if "tyres.front.lateral.mu" in tyres else tyres
    logs = [*runs[::2], *(ramps[:1] if tyres else ())]
    held = [*runs[1::2], *(ramps[1:] if tyres else ())]
    first = fit(
        car,
        logs,
        [*SERVO, *tyres],
        hold_out=held,
        window=WINDOW,
        longest=0.3,
        priors={key: prior for key, prior in PRIORS.items() if key in (*SERVO, *tyres)},
        speed="prescribed",
    )
    second = fit(
        first.vehicle,
        runs[::2],
        list(MOTOR),
        hold_out=runs[1::2],
        window=WINDOW,
        longest=0.3,
        priors=MOTOR,
    )
    return second.vehicle


def starting_at(simpler: sp.Vehicle | None, car: sp.Vehicle) -> sp.Vehicle:
    """A car that starts its fit from what was found for a simpler one."""
    if simpler is None:
        return car
    found, own = values_of(simpler), values_of(car)
    names = (*SERVO, *MOTOR, *TYRES, *SHAPES)
    return car.with_params({name: found[name] for name in names if name in found and name in own})


def values_of(car: sp.Vehicle) -> dict[str, float]:
    """Parameters by dotted name."""
    return dict(zip(record.names(type(car.params)), record.flatten(car.params), strict=True))


def dart_part(folder: Path) -> list[str]:
    """Tables of DART's part of the page."""
    logs = dart(folder / "dart")
    # The noise of the gyroscope is the vibration of the car, which no filter removes.
    runs = [prepare(log, period=0.1, without=["filter"]) for log in logs.steering]
    ramps = [only(prepare(log, period=0.05), "v_x", "v_y", "omega", "steer") for log in logs.ramps]
    before: sp.Vehicle | None = None
    rows, turns = list[str](), dict[str, list[dict[float, tuple[float, float, float]]]]()
    baseline: dict[str, float] = {}
    for name, start in dart_cars().items():
        begin = time.perf_counter()
        car = before = fit_dart(name, starting_at(before, start), runs, ramps)
        errors = Errors(errors_of(car, runs[::2]), errors_of(car, runs[1::2]))
        baseline = baseline or dict(errors.left_out)
        turns[name] = [curvatures(car, ramp) for ramp in ramps]
        cells = [name]
        for channel in ("omega", "v_x"):
            cells += [f"{part[channel]:.3f}" for part in errors]
            cells.append(f"{100.0 * (errors.left_out[channel] / baseline[channel] - 1.0):+.0f} %")
        rows.append(row(cells))
        print(rows[-1], f"{time.perf_counter() - begin:.0f} s", flush=True)
    relative = "to kinematic"
    lines = [
        "## DART: a car of 1.6 kg under motion capture",
        "",
        paragraph(DRIVES.format(count=len(runs), window=WINDOW)),
        "",
        *head(
            "car",
            *("yaw rate, fitted (rad/s)", "left out", relative),
            *("speed, fitted (m/s)", "left out", relative),
        ),
        *rows,
        "",
        paragraph(RAMPS),
        "",
    ]
    for ramp, side in enumerate(("left (fitted)", "right (left out)")):
        reference = next(iter(turns.values()))[ramp]
        lines += head(f"turn to the {side}: a_y (m/s²)", "curvature (1/m)", *turns)
        for level, (a_y, curvature, _) in reference.items():
            shares = [f"{100.0 * found[ramp][level][2]:+.1f} %" for found in turns.values()]
            lines.append(row([f"{a_y:.2f}", f"{curvature:.3f}", *shares]))
        lines.append("")
    return lines


def f1tenth_part(folder: Path) -> list[str]:
    """Table of the F1TENTH part of the page."""
    pieces = [prepare(log, period=0.025, without=["filter"]) for log in f1tenth(folder / "f1tenth")]
    fast = [piece for piece in pieces[1::2] if piece.name.startswith("fast")]
    slow = [piece for piece in pieces[1::2] if not piece.name.startswith("fast")]
    rows = list[str]()
    options: Mapping[str, Any] = {"speed": "prescribed", "channels": ["omega"]}
    for name, start in f1tenth_cars().items():
        begin = time.perf_counter()
        tyres = SLIDES.get(name, [])
        # Of a car that does not slide the wheelbase is fitted.
        free = ["delay.u_steer", "t_steer", "steer_rate_max"]
        free += [*tyres, "I_z"] if tyres else ["l_f"]
        found = fit(
            start,
            pieces[::2],
            free,
            hold_out=pieces[1::2],
            window=WINDOW,
            longest=0.2,
            bounds=BOUNDS,
            priors={key: prior for key, prior in PRIORS.items() if key in tyres},
            **options,
        )
        delay = found.guess.delays
        parts = (pieces[::2], pieces[1::2], slow, fast)
        numbers = [errors_of(found.vehicle, part, delay, **options)["omega"] for part in parts]
        rows.append(row([name, *(f"{number:.3f}" for number in numbers)]))
        print(rows[-1], f"{time.perf_counter() - begin:.0f} s", flush=True)
    return [
        "## F1TENTH: a car of 3.7 kg, driven by hand up to 5 m/s",
        "",
        paragraph(PIECES.format(count=len(pieces), window=WINDOW)),
        "",
        *head("car", "fitted", "left out", "left out: weaving at 1.5 m/s", "left out: 3 to 5 m/s"),
        *rows,
        "",
    ]


def paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100)


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def head(*names: str) -> list[str]:
    return [row(names), row(["---"] * len(names))]


def page(folder: Path) -> str:
    lines = [
        "# Validation with recordings of real cars",
        "",
        paragraph(INTRODUCTION),
        "",
        f"Written on {date.today().isoformat()} by skidpad {sp.__version__}, from",
        "",
        *(f"- {source}" for source in SOURCES),
        "",
        *dart_part(folder),
        *f1tenth_part(folder),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Compute the tables and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder with dart/ and f1tenth/")
    folder = parser.parse_args().folder
    missing = [name for name in ("dart", "f1tenth") if not (folder / name).is_dir()]
    if missing:
        print(f"{folder} has no folder {' and no folder '.join(missing)}", file=sys.stderr)
        return 1
    PAGE.write_text(page(folder), "utf-8")
    print(f"written: {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
