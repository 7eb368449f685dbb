"""The group `identify`: nine parameters of a car from a log of one minute at 100 Hz.

The alternative is what a user would write: SciPy's `least_squares` with differences, over the same
windows in the same fleet, with the noise of every channel known. It gives neither intervals nor a
check of the start, so the fit is compared with one start and nothing held out; the details have the
time of a fit with all defaults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.model import Vehicle
from ..run.fleet import Fleet
from ..study.identify.fitting import LONGEST_WINDOW, fit
from ..study.identify.replay import Guess, Replay
from ..study.logs.log import Channel, Log
from ..study.logs.preparation import Prepared, prepare
from ..vehicles.registry import get
from .timing import TIME, Budget, Entry, cold_and_cached, interleaved, run_job, seconds, typical
from .work import SEED

DT, DURATION = 0.01, 60.0
FREE = {
    "I_z": 1.2,
    "l_f": 0.95,
    "tyres.front.lateral.K": 0.85,
    "tyres.rear.lateral.K": 1.15,
    "tyres.front.lateral.mu": 1.1,
    "tyres.rear.lateral.mu": 0.9,
    "log.steer_offset": 0.0,
    "log.omega_bias": 0.0,
    "log.a_y_bias": 0.0,
}
"""Free parameters, with the start of those of the car relative to the truth."""
NOISE = {"yaw": 0.002, "v_x": 0.01, "v_y": 0.03, "omega": 0.005, "a_y": 0.1, "steer": 1e-4}
"""Channels of the log, with the standard deviations of their noise in SI units."""
WORK: dict[str, Any] = {"duration": DURATION, "parameters": len(FREE), "asked": 10.0}
"""Length of the log in s, and the target time in s of a fit with all defaults."""


def entries(budget: Budget) -> Iterator[Entry]:
    """A fit in fresh processes, and in this one compared with SciPy."""
    for kind, runs in cold_and_cached(_job, budget.fresh).items():
        yield Entry(f"fit.single_track.{kind}", TIME, typical(runs), details=dict(WORK))
    car, log = first_guess(), drive()
    alike: dict[str, Any] = {"hold_out": 0.0, "starts": 1, "window": LONGEST_WINDOW}
    found: dict[str, Sequence[float]] = {}

    def own() -> None:
        found["own"] = [e.value for e in fit(car, log, list(FREE), **alike).estimates]

    def scipy() -> None:
        found["scipy"] = by_scipy(car, log)

    own()  # compiles
    replay = Replay(car, log, window=LONGEST_WINDOW)
    replay.run([Guess()])
    times = interleaved(
        [own, scipy, lambda: fit(car, log, list(FREE))], max(1, budget.repeats // 3)
    )
    mine, theirs, whole = (typical(each) for each in times)
    yield Entry(
        "fit.single_track",
        TIME,
        mine._replace(error=_error(found["own"])),
        {"scipy": theirs._replace(error=_error(found["scipy"]))},
        details={**WORK, "window": LONGEST_WINDOW, "all_defaults": whole.value},
    )


def _job(cache: str) -> float:
    return run_job("identify", SKIDPAD_CACHE=cache)


def first_fit() -> float:
    """Time in s of a fit with all defaults, of a log that is ready."""
    car, log = first_guess(), drive()
    return seconds(lambda: fit(car, log, list(FREE)))


def first_guess() -> Vehicle:
    """The car with the parameters that a fit starts from."""
    own = {n: share * truth()[n] for n, share in FREE.items() if not n.startswith("log.")}
    return get("single_track")("sports").with_params(own)


def truth() -> dict[str, float]:
    """True values of the free parameters."""
    car = get("single_track")("sports")
    own = dict(zip(record.names(car.Params), record.flatten(car.params), strict=True))
    return {name: float(own.get(name, 0.0)) for name in FREE}


def drive() -> Prepared:
    """A log of random steering at about 18 m/s, prepared."""
    car, rng, steps = get("single_track")("sports"), np.random.default_rng(SEED), 0
    u = np.zeros((round(DURATION / DT), 1, 2))
    while steps < len(u):
        length = int(rng.integers(40, 200))
        u[steps : steps + length, 0, 0] = 0.07 * rng.uniform(-1.0, 1.0)
        steps += length
    u[:, 0, 1] = 400.0 + 800.0 * np.sin(0.3 * DT * np.arange(len(u)))
    fleet = Fleet(car, DT)
    x = fleet.rollout(record.flatten(record.build(car.State, {"v_x": 18.0})), u)
    y = fleet.outputs(x, np.concatenate([u, u[-1:]]))
    known = dict(zip(record.names(car.State), x[:, 0].T, strict=True))
    known |= dict(zip(record.names(car.model.Outputs), y[:, 0].T, strict=True))
    t = DT * np.arange(len(x), dtype=float)
    channels = {
        name: Channel(t, known[name] + sigma * rng.normal(size=len(t)))
        for name, sigma in NOISE.items()
    }
    return prepare(Log("slalom", channels), without=["filter", "imu", "latency"])


def by_scipy(car: Vehicle, log: Prepared) -> list[float]:
    """Values of the free parameters by SciPy's least squares with differences."""
    from scipy.optimize import least_squares as untyped

    least_squares: Any = untyped
    replay = Replay(car, log, window=LONGEST_WINDOW)
    known = dict(zip(record.names(car.Params), record.flatten(car.params), strict=True))
    start = np.array([known.get(name, 0.0) for name in FREE])
    # Units in which a change of 1 is large, as differences need.
    size = np.where(start != 0.0, start, 0.1)
    sigma = np.array([NOISE[name] for name in replay.channels])[:, None, None]

    def errors(x: Array) -> Array:
        values = dict(zip(FREE, (x * size).tolist(), strict=True))
        rows = replay.errors(replay.run([Guess(values)]))[0] / sigma
        return np.nan_to_num(rows, nan=1e3).ravel()

    found = least_squares(errors, start / size, loss="huber", f_scale=1.345)
    return list(found.x * size)


def _error(values: Sequence[float]) -> float:
    """Largest error relative to the true value, of parameters whose value is not 0."""
    true = truth()
    pairs = zip(values, true.values(), strict=True)
    return max(abs(value / own - 1.0) for value, own in pairs if own)


if __name__ == "__main__":
    print(json.dumps(first_fit()))
