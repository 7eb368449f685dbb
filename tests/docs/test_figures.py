"""Figures on the pages are what the tool computes, or what the kept benchmarks measured.

A figure is tied to a computation in one of three tables:

* `SENTENCES`: words of a page with `{}` for each number, and what computes the numbers,
* `COLUMNS`: a table of a page, and what computes a column from the first cell of a row,
* `BENCHMARKS`: rows of the README and the entries in `benchmarks/results` that they round. Rows
  whose first cell is the name of an entry are tied by it.

On the pages of `WATCHED` every number with a unit is tied, or listed in `GIVEN` as one that is set
or quoted rather than computed. So a new figure there fails here until it is one or the other.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from math import atan, cos, degrees, sin
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from pages import PAGES, ROOT, blocks, tables
from printed import rounds_to
from skidpad import integrate
from skidpad.control import stanley
from skidpad.geometry.maps import cones
from skidpad.learn import tasks
from skidpad.learn.tasks.park import ParkParams
from skidpad.learn.tasks.race_others import SIGHT
from skidpad.run.stability import stable_steps
from skidpad.study import manoeuvres
from skidpad.study.identify import fitting
from skidpad.study.manoeuvres import (
    ConstantSpeed,
    FormulaAcceleration,
    FormulaSkidpad,
    SlowRamp,
    Subject,
    autocross,
    cone_courses,
    events,
    frequency_response,
    logs,
    on_centre,
    perform,
    sine_with_dwell,
)
from skidpad.study.manoeuvres.autocross import Autocross
from skidpad.study.manoeuvres.cone_courses import LongSlalom
from skidpad.study.manoeuvres.hill import HillHold, HillStart
from skidpad.study.manoeuvres.on_centre import Transition, Weave
from skidpad.study.manoeuvres.ride import Bump, RoughRoad
from skidpad.study.manoeuvres.sine_with_dwell import SineWithDwell
from skidpad.study.manoeuvres.single_sine import SingleSine
from skidpad.study.manoeuvres.steady_state import ConstantRadius, ConstantSteer
from skidpad.tyres import Contact
from skidpad.vehicles.command_driven import NAMES as COMMAND_DRIVEN
from skidpad.vehicles.parts import FirstOrderSlip
from skidpad.vehicles.parts.load_transfer import UPRIGHT
from skidpad.vehicles.twin_track.sets import SETS
from skidpad.vehicles.twin_track.trailers import CARAVAN
from skidpad.view.live import messages as live_messages
from skidpad.view.live import room as live_room
from skidpad.view.live import server as live_gate
from skidpad.view.recording import mcap
from vehicles import car_figures

RESULTS = ROOT / "benchmarks" / "results"
NUMBER = r"\d+(?:\.\d+)?"
UNIT = (
    "%|°|deg/g|deg|km/h|[mc]?m/s²|[mc]?m/s|1/s|rad/s|rad|kg·m²|kg|kW|kN|N·m|N|Hz|kHz|ms|µs|s|mm|cm"
    "|km|m|[kMG]B|bytes|million|billion"
)
FIGURE = re.compile(rf"(?<![\w.,/^-])(?P<number>{NUMBER}) ?(?P<unit>{UNIT})(?![\w·²/])")


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


FOUR, MOTORS = sp.vehicles.four_wheel().params, sp.vehicles.formula_student().params
BICYCLE = commonroad("dynamic_bicycle").params
PARK = ParkParams()
VEHICLES = "docs/vehicles.md"
EVENTS = "docs/proving_ground.md"
PROVING_GROUND = "docs/proving_ground.md"
COMMONROAD = "docs/commonroad_vehicles.md"

SKIDPAD = FormulaSkidpad()


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


SENTENCES = [
    Sentence(
        PROVING_GROUND,
        "`slow_ramp` finds {} to {} % more than turns of one radius or speed, and {} to {} % more "
        "than turns of one angle",
        holds=lambda *shown: np.abs(np.subtract(shown, ranges_beyond_steady())).max() < 0.6,
    ),
    Sentence(
        PROVING_GROUND, "near its top speed there, and the ramp finds {} % more",
        lambda: [beyond_steady(sp.vehicles.formula_student())[0]],
    ),
    Sentence(
        PROVING_GROUND, "has more downforce there, and the ramp finds {} % less",
        lambda: [-beyond_steady(sp.vehicles.two_track("race"))[0]],
    ),
    Sentence(VEHICLES, "on a slope of 20 % it creeps by {} mm/s", lambda: [creep_of_brakes()]),
    Sentence(
        VEHICLES, "what the forces move: {} % for the default car",
        lambda: [car_figures.wheel_moments(sp.vehicles.two_track())],
    ),
    Sentence(
        VEHICLES, "under the default car at {} rad is {} % of the moment",
        lambda: [0.05, car_figures.overturning()],
    ),
    Sentence(
        VEHICLES, "| m, I_z | {} kg, {} kg·m² | t_tau, t_steer | {} ms, {} ms |",
        lambda: [FOUR.m, FOUR.I_z, 1e3 * FOUR.t_tau, 1e3 * FOUR.t_steer],
    ),
    Sentence(
        VEHICLES, "| l_f, l_r, track, z_cg | {}, {}, {}, {} m | tau_max | {} N·m |",
        lambda: [FOUR.l_f, FOUR.l_r, FOUR.track, FOUR.z_cg, FOUR.tau_max],
    ),
    Sentence(
        VEHICLES, "| C_m0 | 1 / {} m | steer_max, steer_rate_max | {} rad, {} rad/s |",
        lambda: [1.0 / FOUR.C_m0, FOUR.steer_max, FOUR.steer_rate_max],
    ),
    Sentence(
        VEHICLES, "| C_r0, C_r1, C_r2 | {} N, {} N·s/m, {} N·s²/m² | v_0 | {} m/s |",
        lambda: [FOUR.C_r0, FOUR.C_r1, FOUR.C_r2, FOUR.v_0],
    ),
    Sentence(
        VEHICLES, "| C_down | {} N·s²/m² | tyre B, C, D, E | {}, {}, {}, {} |",
        lambda: [FOUR.C_down, *FOUR.tyre[:4]],
    ),
    Sentence(
        VEHICLES, "goes like 1/v ({} 1/s at 1 m/s, {} at 0.1 m/s)",
        lambda: [mode_at(sp.vehicles.four_wheel(), v) for v in (1.0, 0.1)],
    ),
    Sentence(
        VEHICLES, "draw {} kW at most (`powertrain.P_max`, rule EV 2.2), with an efficiency of {}",
        lambda: [1e-3 * MOTORS.powertrain.P_max, MOTORS.powertrain.efficiency],
    ),
    Sentence(
        VEHICLES, "drives its wheel up to {} rad/s (`powertrain.speed`), {} km/h",
        lambda: [
            MOTORS.powertrain.speed.spin_max,
            3.6 * MOTORS.powertrain.speed.spin_max
            * sp.vehicles.formula_student().geometry.wheels[0].radius,
        ],
    ),
    Sentence(
        VEHICLES, "RK4 takes steps of up to {} ms", holds=takes(sp.vehicles.formula_student())
    ),
    Sentence(
        VEHICLES, "stiff dampers ({} 1/s)", lambda: [fastest(sp.vehicles.two_track())]
    ),
    Sentence(VEHICLES, "3/8 `v_low`, {} mm/s on 20 %", lambda: [creep_of_steady_slip()]),
    Sentence(
        VEHICLES, "nothing is faster than {} 1/s, so RK4 takes {} ms",
        holds=lambda mode, step: (
            fastest(sp.vehicles.two_track(slip=FirstOrderSlip())) <= mode * (1.0 + 1e-9)
            and takes(sp.vehicles.two_track(slip=FirstOrderSlip()))(step)
        ),
    ),
    Sentence(
        VEHICLES, "RK4 takes {} ms, cars of the sets {} ms as they stop",
        holds=lambda own, sets: (
            takes(sp.vehicles.full_car())(own)
            and takes(*(sp.vehicles.full_car(name) for name in SETS))(sets)
        ),
    ),
    Sentence(
        VEHICLES, "mode of the default car is {} 1/s at rest: RK4 takes {} ms",
        holds=lambda mode, step: (
            rounds_to(str(fastest(sp.vehicles.single_track())), f"{mode:g}")
            and step <= longest(sp.vehicles.single_track())
        ),
    ),
    Sentence(
        VEHICLES, "a motor at each wheel, {} kW, brakes", lambda: [1e-3 * MOTORS.powertrain.P_max]
    ),
    Sentence(
        VEHICLES, "since brains2's {} N + {} N·s/m v are no air", lambda: [FOUR.C_r0, FOUR.C_r1]
    ),
    Sentence(VEHICLES, "3/8 of `rate_max` ({} 1/s)", lambda: [MOTORS.slip.low.rate_max]),
    Sentence(VEHICLES, "Below `v_low` ({} m/s)", lambda: [MOTORS.slip.low.v_low]),
    Sentence(
        VEHICLES, "the tyres' slip ({} 1/s), then wheel hop (about {} 1/s)",
        lambda: [
            sp.vehicles.full_car().params.slip.low.rate_max, wheel_hop(sp.vehicles.full_car()),
        ],
    ),
    Sentence(VEHICLES, "end at a roll or pitch of {} rad", lambda: [UPRIGHT]),
    Sentence(
        "docs/getting_started.md", "the motors of this car have time constants of {} ms",
        lambda: [1e3 * FOUR.t_tau],
    ),
    Sentence(
        "docs/getting_started.md", "with actuators of {} ms", lambda: [1e3 * FOUR.t_tau]
    ),
    Sentence(
        "docs/trailers.md", "of {} ms behind the default car and of {} ms with the sets below",
        holds=lambda own, sets: (
            takes(sp.vehicles.two_track(slip=FirstOrderSlip(), trailers=CARAVAN))(own)
            and takes(sp.vehicles.two_track("suv", slip=FirstOrderSlip(), trailers=CARAVAN))(sets)
        ),
    ),
    Sentence(
        EVENTS, "circles of {} m and {} m, centres {} m apart",
        lambda: [SKIDPAD.inner, SKIDPAD.outer, 2.0 * SKIDPAD.middle],
    ),
    Sentence(
        EVENTS, "stays `margin` ({} m) away", lambda: [SKIDPAD.margin],
    ),
    Sentence(
        EVENTS, "the centre of mass is on R = {} m, where the middle of the lane is {} m",
        lambda: [
            SKIDPAD.line_radius(Subject(sp.vehicles.formula_student())), SKIDPAD.middle,
        ],
    ),
    Sentence(
        EVENTS, "is driven at {} % of this speed", lambda: [1e2 * events.SHOWN],
    ),
    Sentence(
        EVENTS, "for `formula_student` it is {} s at a slip", lambda: [acceleration_time()],
    ),
    Sentence(
        EVENTS, "{} m from rest, the clock starts after {} m",
        lambda: [manoeuvres.FormulaAcceleration().way, manoeuvres.FormulaAcceleration().before],
    ),
    Sentence(
        EVENTS, "flying lap of {} m on a track of skidpad's own, {} m wide",
        lambda: [autocross.middle().length, Autocross().width],
    ),
    Sentence(
        EVENTS, "to a resolution ({} km/h, {} % in a slalom, {} % of the speeds in the autocross",
        lambda: [
            3.6 * cone_courses.RESOLUTION, 1e2 * cone_courses.SLALOM_RESOLUTION,
            1e2 * autocross.RESOLUTION,
        ],
    ),
    Sentence(
        EVENTS, "six cones {} m or {} m apart",
        lambda: [manoeuvres.Slalom().spacing, LongSlalom().spacing],
    ),
    Sentence(
        EVENTS, "parked with the handbrake on {} %",
        lambda: [100.0 * HillHold().gradient],
    ),
    Sentence(EVENTS, "from rest up {} %", lambda: [100.0 * HillStart().gradient]),
    Sentence(EVENTS, "class C, at {} km/h", lambda: [3.6 * RoughRoad().speed]),
    Sentence(
        EVENTS, "half sine of {} mm and {} m at {} km/h",
        lambda: [
            1e3 * Bump().height, Bump().length,
            3.6 * Bump().speed,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "ISO 7401, {} km/h, one period of {} Hz, {} m/s²",
        lambda: [
            3.6 * SingleSine().speed, SingleSine().frequency,
            SingleSine().a_y,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "interpolated over at most {} s",
        lambda: [logs.LONGEST_GAP],
    ),
    Sentence(
        "docs/proving_ground.md", "stays within {} % of its median",
        lambda: [100.0 * frequency_response.STEADY_SPEED],
    ),
    Sentence(
        "docs/proving_ground.md", "a speed within {} % of the median",
        lambda: [100.0 * frequency_response.STEADY_SPEED],
    ),
    Sentence(
        "docs/proving_ground.md", "circle of {} m that ISO 4138",
        lambda: [ConstantRadius().radius],
    ),
    Sentence(
        "docs/proving_ground.md", "ISO 13674-1, {} Hz at {} km/h, up to {} m/s²",
        lambda: [
            Weave().frequency, 3.6 * Weave().speed, Weave().a_y,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "until {} m/s² and a little more",
        lambda: [Transition().a_y],
    ),
    Sentence(
        "docs/proving_ground.md", "({} to {} m/s²) and where it turns ({} to {} m/s²)",
        lambda: [
            share * Transition().a_y
            for share in (*on_centre.CENTRE, *on_centre.TURNING)
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "between {} and {} g of slow ramps to both sides at {} km/h",
        lambda: [
            *(a_y / sine_with_dwell.G for a_y in sine_with_dwell.REGRESSION),
            3.6 * SineWithDwell().speed,
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "the larger of {} A and {}° of the steering wheel, at most {}°",
        lambda: [
            SineWithDwell().factors[-1],
            *(degrees(angle) for angle in sine_with_dwell.LAST_ANGLES),
        ],
    ),
    Sentence(
        "docs/proving_ground.md", "how fast lateral acceleration grows to {} m/s²",
        lambda: [Transition().a_y],
    ),
    Sentence(
        "docs/proving_ground.md", "{} s of its sine",
        lambda: [(on_centre.FIRST + Weave().periods) / Weave().frequency],
    ),
    Sentence(
        "docs/learn_tasks.md", "near the wall, to {} m and {}°",
        lambda: [PARK.near, degrees(PARK.aligned)],
    ),
    Sentence(
        "docs/learn_tasks.md", "a hitch beyond {} rad has jack-knifed", lambda: [PARK.folded]
    ),
    Sentence(
        "docs/learn_tasks.md", "with the nose {} rad inside",
        lambda: [default(tasks.drift, "sideslip")],
    ),
    Sentence(
        "docs/learn_tasks.md", "`speeds` ({} m/s to {} m/s)",
        lambda: default(tasks.lane_change, "speeds"),
    ),
    Sentence(
        "docs/learn_tasks.md", "`ice` ({} to {} of that of the road",
        lambda: default(tasks.lane_change, "ice"),
    ),
    Sentence("docs/learn_tasks.md", "and {} m for each radian", lambda: [PARK.arm]),
    Sentence(
        "docs/tutorials/formula_student.md", "a motor at each wheel, {} kW in all",
        lambda: [1e-3 * MOTORS.powertrain.P_max],
    ),
    Sentence(
        "docs/tutorials/formula_student.md", "{} m from rest, with the clock started after {} m",
        lambda: [manoeuvres.FormulaAcceleration().way, manoeuvres.FormulaAcceleration().before],
    ),
    Sentence("docs/learn_tasks.md", "none within {} m", lambda: [SIGHT]),
    Sentence(
        COMMONROAD,
        "(`l_f` {} m, `l_r` {} m, `m` {} kg, `I_z` {} kg·m², `C_f` = `C_r` = {} per rad and load, "
        "`z_cg` {} m)",
        lambda: [getattr(BICYCLE, name) for name in ("l_f", "l_r", "m", "I_z", "C_f", "z_cg")],
    ),
    Sentence(COMMONROAD, "rolling speed below `v_blend` ({} m/s)", lambda: [BICYCLE.v_blend]),
    Sentence(
        COMMONROAD,
        "below `v_kin` ({} m/s) and their tyres above `v_dyn` (ST {} m/s, STD and MB {} m/s)",
        lambda: [
            commonroad("st").params.v_kin, commonroad("st").params.v_dyn,
            commonroad("std").params.v_dyn,
        ],
    ),
    Sentence(
        COMMONROAD,
        "with {} ms (bicycles, KS, KST, ST; the dynamic bicycle needs {} ms to start or stop at "
        "its limit), {} ms (STD) and {} ms (MB); above {} m/s with {} ms (STD) and {} ms (MB)",
        holds=lambda most, dynamic, std, mb, speed, std_fast, mb_fast: (
            all(most <= longest(commonroad(name)) for name in ("ks", "kst", "st"))
            and most <= longest(commonroad("kinematic_bicycle"))
            and takes(commonroad("dynamic_bicycle"))(dynamic)
            and takes(commonroad("std"))(std)
            and takes(commonroad("mb"))(mb)
            and takes_at(commonroad("std"), speed)(std_fast)
            and takes_at(commonroad("mb"), speed)(mb_fast)
        ),
    ),
    Sentence(
        "docs/interop.md", "stable only for steps below {} ms; `formula_student` takes {} ms",
        holds=lambda four, motors: (
            rounded(longest(sp.vehicles.four_wheel()), f"{four:g}")
            and takes(sp.vehicles.formula_student())(motors)
        ),
    ),
    Sentence(
        "docs/interop.md", "have a lag of {} ms, so that `rk4`", lambda: [1e3 * FOUR.t_tau]
    ),
    Sentence(
        "docs/architecture.md", "a time constant of {} ms make an explicit method take steps below "
        "{} ms",
        holds=lambda lag, step: rounded(1e3 * FOUR.t_tau, f"{lag:g}") and longest(
            sp.vehicles.four_wheel()
        ) <= step < 1.2 * longest(sp.vehicles.four_wheel()),
    ),
    Sentence(
        "docs/simulator.md", "`Model.slowest`; {} m/s for `four_wheel`",
        lambda: [sp.vehicles.four_wheel().model.slowest],
    ),
    Sentence(
        "docs/sensors.md",
        "At a steady {} m/s on a circle of {} m the yaw rate is v/R = {} rad/s and the centre of "
        "mass is accelerated by v²/R = {} m/s²",
        holds=lambda v, R, rate, a: (
            rounded(v / R, f"{rate:g}") and rounded(v**2 / R, f"{a:g}")
        ),
    ),
    Sentence(
        "docs/sensors.md", "nose up on a slope of {} % reads f_x = {} · sin(atan({})) = {} m/s²",
        holds=lambda slope, g, tangent, a: (
            0.01 * slope == tangent and rounded(g * sin(atan(tangent)), f"{a:g}")
        ),
    ),
    Sentence(
        "docs/world.md", "up a slope of {} % a robot at {} m/s comes {} m/s far on the map",
        holds=lambda slope, v, far: rounded(v * cos(atan(0.01 * slope)), f"{far:g}"),
    ),
    Sentence(
        "docs/live.md", "reads nothing for {} s is dropped", lambda: [live_room.STUCK]
    ),
    Sentence(
        "docs/live.md", "complete request within {} s is ended", lambda: [live_gate.ASKING]
    ),
    Sentence(
        "docs/live.md", "a `type`, at most {} bytes", lambda: [live_messages.MOST_BYTES]
    ),
    Sentence(
        "docs/errors.md", "recordings that claim more than {} MiB",
        lambda: [mcap.LARGEST_CHUNK / 2**20],
    ),
    Sentence(
        "docs/maps.md", "Formula Student's ({} mm, the orange ones {} mm)",
        lambda: [2e3 * cones.CONE_RADII[colour] for colour in ("blue", "orange")],
    ),
    Sentence(
        "docs/identify.md", "into windows of {} s (`window`)", lambda: [fitting.WINDOW]
    ),
    Sentence(
        "docs/identify.md", "Up to {} s is tried (`longest`)", lambda: [fitting.LONGEST]
    ),
    Sentence(
        "docs/proving_ground.md", "moved by the step ({} %), by half of it",
        lambda: [100.0 * default(manoeuvres.sensitivity, "step")],
    ),
    Sentence(
        "docs/proving_ground.md", "counts as reached within {} % (`tolerance`)",
        lambda: [100.0 * default(manoeuvres.tune, "tolerance")],
    ),
    Sentence(
        "docs/controllers.md", "with the defaults, k = {} and k_yaw = {} s, none",
        lambda: [stanley.Gains().k, stanley.Gains().k_yaw],
    ),
    Sentence("README.md", "its thirteen models", holds=lambda: len(COMMAND_DRIVEN) == 13),
    Sentence(
        "docs/coming_from/autoware.md", "thirteen models", holds=lambda: len(COMMAND_DRIVEN) == 13
    ),
    Sentence(
        "docs/planning_simulator.md", "has thirteen vehicle models",
        holds=lambda: len(COMMAND_DRIVEN) == 13,
    ),
]  # fmt: skip


class Column(NamedTuple):
    """A column of a table of a page, and its figure in the row of a name."""

    page: str
    head: tuple[str, ...]
    """How the head of the table begins."""
    title: str
    value: Callable[[str], float]


SET_TABLE = ("name", "after", "understeer")
COLUMNS = [
    Column(VEHICLES, SET_TABLE, title, value)
    for title, value in {
        "understeer": lambda name: car_figures.understeer(car_figures.car_of(name), name),
        "top speed": car_figures.top_speed,
        "0-100 km/h": car_figures.launch,
        "100-0 km/h": car_figures.stopped_by_anti_lock,
        "skidpad test: 0-100 km/h": lambda name: car_figures.launch(name, plain=True),
        "skidpad test: 100-0 km/h": car_figures.stopped,
        "wheel moments": lambda name: car_figures.wheel_moments(car_figures.car_of(name)),
    }.items()
]

QUICK = ("sports", "formula_student")
"""Sets whose rows are computed in every run of the tests; the others in the slow ones."""

BENCHMARKS = {
    "fleet, RK4, float64, one thread": ("fleet.four_wheel.rk4.float64.threads1",),
    "fleet, RK4, float32, one thread": ("fleet.four_wheel.rk4.float32.threads1",),
    "fleet, Radau, float64, one thread": ("fleet.four_wheel.radau.float64.threads1",),
    "gradient of 100 steps, float64, one thread": ("gradient.four_wheel.float64.threads1",),
    "one step from Python, RK4 / Radau": ("step.four_wheel.rk4", "step.four_wheel.radau"),
    "command-driven fleet, dead times and gears, one thread": (
        "fleet.DELAY_STEER_ACC_GEARED.float64.threads1",
    ),
    "lidar, 1000 segments, exact, one thread": ("lidar.segments1000",),
    "H200, 4096 lidars × 1080 rays, bits of the CPU": ("lidar.cuda.segments1000",),
    "world of 100 robots, one thread: free / in a grid / with lidars": (
        "world.differential100", "world.differential100.grid", "world.differential100.lidar",
    ),
    "`simulate` 0.1 s, dynamic bicycle, SciPy's RK45 / own RK4": (
        "simulate.dynamic.scipy", "simulate.dynamic.skidpad",
    ),
    "Monte Carlo, dynamic bicycle, 100 000 runs of 10 s, two threads": ("monte_carlo.dynamic100k",),
    "page with 1000 vehicles and 20 lidars, software rendering": ("viewer.canvas",),
    "first step of a new model, compiled / from the cache": (
        "compile.four_wheel.cold", "compile.four_wheel.cached",
    ),
    "`import skidpad`": ("import",),
    "H200, RK4, float32 exact / fast": (
        "fleet.four_wheel.rk4.float32.cuda", "fleet.four_wheel.rk4.float32.cuda.fast",
    ),
    "H200, RK4, float64 exact": ("fleet.four_wheel.rk4.float64.cuda",),
    "H200, gradient of 100 steps, float32": ("gradient.four_wheel.float32.cuda",),
}  # fmt: skip
"""Entries behind the rows of the README, one for each number of the second cell."""
MEASURED = re.compile(r"(?P<numbers>\d[\d .]*(?: / \d[\d .]*)*) (?P<unit>billion|million|µs|ms|s)?")
PLAIN = {name.replace("`", ""): entries for name, entries in BENCHMARKS.items()}
UNITS = {"billion": 1e9, "million": 1e6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, None: 1.0}


@cache
def text_of(page: str) -> str:
    """A page without its fenced blocks, with one blank wherever it has several, or a new line."""
    text = (ROOT / page).read_text("utf-8")
    lines = text.splitlines()
    for block in blocks(text):
        lines[block.line - 1 : block.line - 1 + len(block.text)] = [""] * len(block.text)
    return " ".join(" ".join(lines).split())


def spans(sentence: Sentence) -> list[re.Match[str]]:
    words = re.escape(" ".join(sentence.words.split())).replace(r"\{\}", f"({NUMBER})")
    return list(re.finditer(words, text_of(sentence.page)))


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: f"{one.page}: {one.words}"[:70])
def test_figures_in_sentences_are_those_of_the_tool(sentence: Sentence) -> None:
    found = spans(sentence)
    assert len(found) == 1, f"{sentence.page} has these words {len(found)} times: {sentence.words}"
    numbers = found[0].groups()
    if sentence.holds is not None:
        assert sentence.holds(*map(float, numbers))
        return
    values = sentence.values()
    assert len(values) == len(numbers)
    stale = [(n, v) for n, v in zip(numbers, values, strict=True) if not rounded(v, n)]
    assert not stale, f"{sentence.page}: shown and computed are {stale}"


def rows_of(column: Column) -> dict[str, str]:
    """The cells of a column by the first cells of their rows."""
    text = (ROOT / column.page).read_text("utf-8")
    (table,) = [t for t in tables(text) if tuple(t[0][: len(column.head)]) == column.head]
    at = [cell.replace("`", "") for cell in table[0]].index(column.title)
    return {row[0]: row[at] for row in table[1:]}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SETS],
)
@pytest.mark.parametrize("column", COLUMNS, ids=lambda one: one.title)
def test_figures_in_tables_are_those_of_the_tool(column: Column, name: str) -> None:
    cells = rows_of(column)
    assert list(cells) == list(SETS)
    number, value = cells[name].split()[0], column.value(name)
    assert rounds_to(repr(value), number), f"{name}: shown {number}, computed {value:.4g}"


def latest() -> dict[str, dict[str, float]]:
    """Values by entry and machine; files are named by date and machine."""
    values: dict[str, dict[str, float]] = {}
    for file in sorted(RESULTS.glob("*.json")):
        machine = file.stem.split("-")[3]
        for entry in json.loads(file.read_text("utf-8"))["entries"]:
            values.setdefault(entry["name"], {})[machine] = entry["value"]
    return values


def measured() -> list[tuple[str, tuple[str, ...], list[str], str | None]]:
    """Page, entries, numbers and unit of every row that tells what a benchmark measured."""
    known, found = latest(), list[tuple[str, tuple[str, ...], list[str], str | None]]()
    for page in PAGES:
        rows = (row for table in tables(page.read_text("utf-8")) for row in table)
        for row in (row for row in rows if len(row) > 1):
            figure = MEASURED.match(f"{row[1]} ")
            entry = re.split(r"[`,]", row[0])[0]
            names = PLAIN.get(row[0].replace("`", ""), (entry,) if entry in known else ())
            if figure and names and (figure["unit"] or page.name == "README.md"):
                numbers = [n.replace(" ", "") for n in figure["numbers"].split(" / ")]
                found.append((page.name, names, numbers, figure["unit"]))
    return found


def test_speeds_are_those_of_the_latest_results() -> None:
    values, rows = latest(), measured()
    assert {names for _, names, *_ in rows} >= set(BENCHMARKS.values())
    stale = [
        (page, name, f"{number} {unit}", values[name])
        for page, names, numbers, unit in rows
        for name, number in zip(names, numbers, strict=False)
        if not any(rounded(v / UNITS[unit], number) for v in values[name].values())
    ]
    assert not stale


def test_every_row_of_the_readme_is_tied_to_a_benchmark() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (table,) = [t for t in tables(text) if t[0][:2] == ["what", "figure"]]
    assert [row[0].replace("`", "") for row in table[1:]] == [
        name.replace("`", "") for name in BENCHMARKS
    ]


WATCHED = {
    "README.md",
    "docs/commonroad_vehicles.md",
    "docs/controllers.md",
    "docs/driver_aids.md",
    "docs/getting_started.md",
    "docs/learn_tasks.md",
    "docs/proving_ground.md",
    "docs/trailers.md",
    "docs/tutorials/formula_student.md",
    "docs/vehicles.md",
}
GIVEN = {
    "docs/commonroad_vehicles.md": (
        "0.14 s, 0.14 s, 0.02 s, 0.02 s, 0.0025 s, "
        "2 s, 4 s, 1.6 million, 10 ms, 1 ms, 6 µs, 9 µs, 50 µs, 70 µs"
    ),
    "docs/controllers.md": (
        "40 ms, 40 ms, 1.2 s, 44 ms, 2 ms, 4 m, 22 m/s, 42 ms, 108 ms, 5 ms, 14 s, 1.42 m, 0.96 m, "
        "20 m/s, 0.1 s, 0.1 m, 30 m/s, 90 %, 4 ms, 1.3 ms"
    ),
    "docs/driver_aids.md": ("25 m/s, 80 km/h, 35 %, 1.75 s, 20 %, 1.07 s, 1.83 m"),
    "docs/getting_started.md": ("10 ms, 10 ms, 10 m/s"),
    "docs/proving_ground.md": (
        "5 %, 0.01 %, 20 %, 0.05 %, 25 %, 10 m, "
        "2 m, 1 m, 1 %, 1 %, 1 %, 0.01 %, 0.2 %, 3 %, 3 %, 15 m, 30 m, 62 km/h, "
        "72 km/h, 80 km/h, 91 km/h, 124 km/h, 15 s, 15 s, 3 s, 270 °, 5 %, 10 %, "
        "10 %, 4 m/s², 95 %"
    ),
    "docs/trailers.md": ("70 kg, 0.6 m"),
    "docs/vehicles.md": (
        "1 ms, 1 ms, 1 ms, 1 ms, 0.15 m/s, 1 cm/s, 95 %, 0.1 m/s, 20 %, 2 s, 8 s, 1 mm/s, 4 s"
    ),
}
"""Figures of the watched pages that are set, quoted or bounds of another test, by page."""


def untied(page: str) -> Counter[str]:
    """Figures of a page that no table of this file ties to a computation."""
    text = list(text_of(page))
    for sentence in (one for one in SENTENCES if one.page == page):
        for match in spans(sentence):
            text[match.start() : match.end()] = "_" * (match.end() - match.start())
    rest = "".join(text)
    for column in (one for one in COLUMNS if one.page == page):
        for cell in rows_of(column).values():
            rest = rest.replace(f"| {cell} ", "| ", 1)
    if page == "README.md":
        rest = re.sub("<!-- figures:begin -->.*<!-- figures:end -->", "", rest)
    return Counter(f"{found['number']} {found['unit']}" for found in FIGURE.finditer(rest))


@pytest.mark.parametrize("page", sorted(WATCHED))
def test_a_figure_is_tied_to_a_computation_or_listed_as_given(page: str) -> None:
    listed = Counter(filter(None, (one.strip() for one in GIVEN.get(page, "").split(","))))
    new = untied(page) - listed
    assert not new, (
        f"{page} has figures that nothing computes: {', '.join(new)}. Tie them in SENTENCES or "
        "COLUMNS of this test, or list them in GIVEN if they are set or quoted"
    )


def test_a_new_figure_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "docs/vehicles.md"
    before = untied(page)
    text = text_of(page) + " It has 431.5 kW. | `compact` | 12.34 s |"
    monkeypatch.setitem(globals(), "text_of", lambda _: text)
    assert untied(page) - before == Counter(["431.5 kW", "12.34 s"])
