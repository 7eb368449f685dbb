"""What computes the figures of the pages, for `tied_figures.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from math import atan, ceil, degrees, log, sin, tan
from runpy import run_path
from typing import Any, NamedTuple

import numpy as np

import skidpad as sp
from pages import ROOT
from printed import rounds_to
from skidpad import integrate
from skidpad.compat.truck.model_file import truck_model
from skidpad.control import keyboard
from skidpad.demo import drift
from skidpad.learn.tasks.park import ParkParams
from skidpad.ros2 import Exchange, Loop, SingleVehicle
from skidpad.run.stability import stable_steps
from skidpad.study.manoeuvres import (
    ConstantSpeed,
    FormulaAcceleration,
    FormulaSkidpad,
    SlowRamp,
    Subject,
    perform,
)
from skidpad.study.manoeuvres.steady_state import ConstantRadius, ConstantSteer
from skidpad.tyres import Contact
from vehicles import car_figures

RESULTS = ROOT / "benchmarks" / "results"
NUMBER = r"\d+(?:\.\d+)?"


class Sentence(NamedTuple):
    """Words of a page, with `{}` for each number, and what the numbers are."""

    page: str
    words: str
    values: Callable[[], Sequence[float]] = tuple
    """The numbers, to the digits shown."""
    holds: Callable[..., bool] | None = None
    """Where a page gives bounds: whether they hold, told the numbers."""


def fastest(car: sp.Vehicle) -> float:
    """The fastest mode in 1/s at any speed of a vehicle."""
    return max(abs(at.eigenvalue) for at in stable_steps(car, integrate.get("rk4")))


def longest(car: sp.Vehicle) -> float:
    """The longest step in ms that RK4 takes at every speed of a vehicle."""
    return 1e3 * min(at.longest for at in stable_steps(car, integrate.get("rk4")))


def takes(*cars: sp.Vehicle) -> Callable[[float], bool]:
    """Whether RK4 takes a step in ms, and at most a fifth more, with all of these."""
    return lambda step: step <= min(map(longest, cars)) < 1.2 * step


def takes_at(car: sp.Vehicle, v: float) -> Callable[[float], bool]:
    """Whether RK4 takes a step in ms at a speed, and at most a fifth more."""
    table = stable_steps(car, integrate.get("rk4"))
    most = 1e3 * float(np.interp(v, *np.transpose([(at.speed, at.longest) for at in table])))
    return lambda step: step <= most < 1.2 * step


def commonroad(name: str) -> sp.Vehicle:
    return sp.vehicles.get(f"commonroad_{name}")()


def mode_at(car: sp.Vehicle, v: float) -> float:
    """The fastest mode in 1/s of a car at a speed in m/s, without those of its actuators."""
    A = np.asarray(car.linearise_continuous(car.State(v_x=v), car.Input()).A)
    motion = [car.State._fields.index(name) for name in ("v_y", "omega")]
    return float(np.abs(np.linalg.eigvals(A[np.ix_(motion, motion)])).max())


def creep_of_steady_slip() -> float:
    """In mm/s of a braked `two_track` on 20 %: the slip that holds its weight times 3/8 v_low."""
    p = sp.vehicles.two_track().params
    loads = [0.5 * p.m * p.g * arm / (p.l_f + p.l_r) for arm in (p.l_r, p.l_f)]
    K = 2.0 * sum(p.tyres.tyre.stiffness(Contact(F_z=load)).K_x for load in loads)
    return 1e3 * p.m * p.g * sin(atan(0.2)) / K * 0.375 * p.slip.v_low


def creep_of_brakes() -> float:
    """In mm/s of a `four_wheel` with brakes on 20 %, with all of them."""
    car = sp.vehicles.with_brakes(sp.vehicles.four_wheel())
    sim = sp.Simulator(car, dt=0.001)
    sim.disturb(F_x=-car.params.m * 9.81 * sin(atan(0.2)))
    sim.reset()
    full = {f"tau_{wheel}": -car.params.tau_max for wheel in car_figures.WHEELS}
    return -1e3 * float(sim.run(full, duration=0.5)["v_x"][-1])


def rounded(value: float, number: str) -> bool:
    """Whether a page shows a value as this number; zeros at the end of a whole one do not count."""
    digits = number.rstrip("0") if "." not in number else number
    if not digits:
        return value == 0.0
    return rounds_to(repr(value * 10.0 ** (len(digits) - len(number))), digits)


def default(function: Callable[..., Any], name: str) -> Any:
    """The default of an argument."""
    return signature(function).parameters[name].default


def wheel_hop(car: sp.Vehicle) -> float:
    """The fastest oscillation in 1/s of a car at rest."""
    A = np.asarray(car.linearise_continuous(car.State(), car.Input()).A)
    return float(max(abs(mode) for mode in np.linalg.eigvals(A) if abs(mode.imag) > 1.0))


@cache
def results() -> dict[tuple[str, str], Any]:
    """The kept entries of the benchmarks by name and machine, of each the latest."""
    found: dict[tuple[str, str], Any] = {}
    for file in sorted(RESULTS.glob("*.json")):  # names begin with the date, then the machine
        machine = file.stem.split("-")[3]
        for entry in json.loads(file.read_text("utf-8"))["entries"]:
            found[entry["name"], machine] = entry
    return found


def kept(name: str, machine: str = "epyc_avx512") -> Any:
    """An entry that a benchmark left."""
    return results()[name, machine]


def last_row(path: str) -> list[float]:
    """The last row of a learning curve in `benchmarks/learning`."""
    lines = (ROOT / "benchmarks" / "learning" / path).read_text("utf-8").split()
    return [float(number) for number in lines[-1].split(",")]


def private(owner: Any, name: str) -> Any:
    """A constant that only its own file uses."""
    return getattr(owner, name)


@cache
def race_example() -> dict[str, Any]:
    """The constants of `examples/learn/race_tasks.py`."""
    return run_path(str(ROOT / "examples" / "learn" / "race_tasks.py"))


@cache
def drift_radii() -> list[float]:
    """The smallest and the largest circle in m of the demo `drift`."""
    cars = map(drift.car, drift.GRIPS)
    radii = [drift.balance(car, drift.SPEED, drift.SLIP).radius for car in cars]
    return [min(radii), max(radii)]


def holds_of_clover(v: float, curvature: float, friction: float, share: float) -> bool:
    """Whether the tightest bend of r = 30 m + 6 m cos 3φ, where r'' = -54 m, takes this friction,
    and this share of the roads in % has less."""
    tightest = (36.0 + 54.0) / 36.0**2
    needed = tightest * v**2 / 9.81
    return (
        rounded(tightest, f"{curvature:g}")
        and rounded(needed, f"{friction:g}")
        and rounded(100.0 * (needed - 0.3) / (1.6 - 0.3), f"{share:g}")
    )


def recorded_by_page() -> float:
    """Bytes that a recording in the page may take."""
    text = (ROOT / "src/skidpad/view/pages/driving/run_log.js").read_text("utf-8")
    return float(re.findall(r"MOST_BYTES = (\S+);", text)[0])


def runs_for_quantile(share: float, confidence: float) -> int:
    """Runs from which on one beyond the quantile is likely enough, both ends being looked at."""
    return ceil(log(0.5 * (1.0 - confidence)) / log(share))


FOUR, MOTORS = sp.vehicles.four_wheel().params, sp.vehicles.formula_student().params
BICYCLE = commonroad("dynamic_bicycle").params
PARK = ParkParams()
VEHICLES = "docs/vehicles.md"
EVENTS = "docs/proving_ground.md"
PROVING_GROUND = "docs/proving_ground.md"
COMMONROAD = "docs/commonroad_vehicles.md"

SKIDPAD = FormulaSkidpad()
DELAYED = sp.vehicles.get("DELAY_STEER_ACC_GEARED")().params
ERRATA, TRUCK = "docs/errata.md", truck_model().params
FOUR_STATES = sp.vehicles.four_wheel().State._fields
LEARNING, CAMPAIGNS = "docs/tutorials/learning.md", "docs/campaigns.md"
CURVES = "race_ppo/curve.csv", "race_stable_baselines.csv"


@cache
def flying_start() -> Any:
    """The task of the race that is learned, on one track."""
    return race_example()["race"]([0], width=3.0, standing=False, duration=30.0)


def front_angles(width: float, base: float, alpha: float) -> list[float]:
    """Of the outer and the inner wheel in rad: the wrong ones without sign, then the right ones."""
    wrong = [atan(1.0 / tan(alpha + side * width / (2.0 * base))) for side in (1.0, -1.0)]
    right = [atan(1.0 / (1.0 / tan(alpha) + side * width / (2.0 * base))) for side in (1.0, -1.0)]
    return [wrong[0], -wrong[1], *right]


def stable_baselines() -> list[float]:
    """Episode and period in s of the script on the page of tasks that uses Stable-Baselines3."""
    script = re.search(
        r'stable_baselines_env\("race", 64, duration=([\d.]+), dt=([\d.]+)',
        (ROOT / "docs" / "learn.md").read_text("utf-8"),
    )
    assert script is not None
    return [float(number) for number in script.groups()]


def waiting_loop() -> Loop:
    """A loop of nodes as it is made."""
    node = Exchange().node("car", simulates_time=True)
    return Loop(node, SingleVehicle(node, sp.vehicles.kinematic_bicycle()))


def first_whole(curve: str) -> float:
    """When all laps of a judgement were whole for the first time, in s."""
    lines = (ROOT / "benchmarks" / "learning" / curve).read_text("utf-8").splitlines()
    rows = [line.split(",") for line in lines if line[0].isdigit()]
    return next(float(row[0]) for row in rows if float(row[3]) == 1.0)


def runs_a_second() -> float:
    """Of the 100 machines on the page of campaigns."""
    entry = kept("campaign.local")
    return 100.0 * entry["value"] / entry["details"]["steps"]


def fast_deviations() -> dict[str, float]:
    """By which fields in fast mode deviate on a GPU."""
    entry = kept("fleet.four_wheel.rk4.float32.cuda.fast", "h200")
    return entry["details"]["deviation_from_exact"]


def policy_gradient() -> dict[str, Any]:
    """What `examples/learn/policy_gradient.py` left."""
    text = (ROOT / "benchmarks" / "learning" / "policy_gradient.json").read_text("utf-8")
    return json.loads(text)


def in_browser(name: str) -> list[float]:
    """A step fused, exact and native in µs, and the size of the fused module in kB."""
    fused, exact = kept(f"export.wasm.fused.{name}"), kept(f"export.wasm.exact.{name}")
    native = fused["value"] * fused["ratios"]["llvm"]
    return [
        *(1e6 * value for value in (fused["value"], exact["value"], native)),
        fused["details"]["module_kB"],
    ]


def moved(steps: keyboard.Steps) -> list[float]:
    """How far a key press moves speed in m/s and yaw rate in °/s."""
    return [steps.v, degrees(steps.omega)]


def acceleration_time() -> float:
    """Of the car of the page in s."""
    (result,) = perform([FormulaAcceleration()], [Subject(sp.vehicles.formula_student())])
    return float(result["time"][0])


def beyond_steady(car: sp.Vehicle) -> list[float]:
    """By how many per cent the limit of a car is beyond the largest steady lateral acceleration of
    turns of one radius, speed and angle."""
    tests = [SlowRamp(), ConstantRadius(), ConstantSpeed(), ConstantSteer()]
    ramp, *turns = perform(tests, [Subject(car)])
    limit = float(ramp["max_lateral_acceleration"][0])
    steady = [float(turn["largest_steady_lateral_acceleration"][0]) for turn in turns]
    return [100.0 * (limit / a - 1.0) for a in steady]


def ranges_beyond_steady() -> list[float]:
    """The ends for turns of one radius or speed, then for turns of one angle, of the road cars that
    have them."""
    cars = sp.vehicles.full_car(), sp.vehicles.two_track("sports"), sp.vehicles.single_track("suv")
    found = [beyond_steady(car) for car in cars]
    held = [share for radius, speed, _ in found for share in (radius, speed)]
    angle = [share for _, _, share in found]
    return [min(held), max(held), min(angle), max(angle)]


class Column(NamedTuple):
    """A column of a table of a page, and its figure in the row of a name."""

    page: str
    head: tuple[str, ...]
    """How the head of the table begins."""
    title: str
    value: Callable[[str], float]
