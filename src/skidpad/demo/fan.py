"""`fan`: a bend on tyres of unknown grip, as a Monte Carlo.

The driver plans 12.5 m/s for a bend of 13 m radius, which takes 1.2 g. The grip of the tyres is
unknown: uniform between 0.75 and 1.65 g. A fleet drives the bend five hundred times, car and driver
compiled together, each time with another grip. The replay shows thirty of these runs, and the lines
between which 90 % of the cars are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import vehicles
from ..control import pure_pursuit
from ..control.reference import Reference
from ..core import record
from ..core.arrays import Array
from ..core.model import Vehicle
from ..core.policy import Policy
from ..run.fleet import Fleet
from ..run.monte_carlo import MonteCarlo
from ..run.trajectory import Trajectory
from ..units import m, m_s, one, rad, s
from ..view import plots
from ..view.colours import CONES
from ..view.recording.reading import Recording
from ..view.stage import Disc, Line, Polygon, as_points
from .eight import gripping
from .shows import TrajectoryShow, finished_show

DT: s = 0.02
SUBSTEPS = 5
SPEED: m_s = 12.5
GRIP: tuple[one, one] = (0.45, 1.0)
"""Range of the friction relative to the standard tyre's."""
RUNS, SHOWN = 500, 30
DURATION: s = 5.6
RADIUS: m = 13.0
TURN: rad = np.deg2rad(135.0)
HALF_WIDTH: m = 2.0
SPARE: m = HALF_WIDTH - 0.7
"""Largest distance in m of a car from the middle at which it is still within its lane."""
LITTLE, MUCH = (232, 89, 12), (38, 110, 220)


def bend() -> Array:
    """Centre line of the lane: straight, a left bend, straight; points (n, 2) in m."""
    before = [(x, 0.0) for x in np.arange(0.0, 24.0, 0.5).tolist()]
    angle = np.linspace(0.0, TURN, round(RADIUS * TURN / 0.5))
    middle = np.column_stack([24.0 + RADIUS * np.sin(angle), RADIUS - RADIUS * np.cos(angle)])
    out = np.array([np.cos(TURN), np.sin(TURN)])
    return np.vstack([before, middle, middle[-1] + np.arange(0.5, 24.0, 0.5)[:, None] * out])


def driver(car: Vehicle, road: Reference) -> Policy:
    """Policy of the driver: pure pursuit with cruise control, independent of the grip."""
    return pure_pursuit.policy(
        car, road, knots=48, t_ahead=0.3, l_least=2.0, speed={"k_p": 4.0, "k_i": 2.0, "limit": 9.0}
    )


def run_many(car: Vehicle, road: Reference, grip: Array) -> MonteCarlo:
    """Simulate one run for each grip (runs,); returns the statistics of all."""
    return Fleet(car, DT, substeps=SUBSTEPS, on_diverge="mask").monte_carlo(
        x0={"v_x": SPEED},
        policy=driver(car, road),
        runs=len(grip),
        duration=DURATION,
        params=gripping(car, grip),
        quantities={
            "left": lambda x: road.nearest(x.x, x.y).left,
            "along": lambda x: road.nearest(x.x, x.y).s,
        },
        events={"off": lambda x: np.abs(road.offset(x.x, x.y)) > SPARE},
        quantiles=(0.05, 0.5, 0.95),
    )


def driven(car: Vehicle, road: Reference, grip: Array) -> list[Trajectory]:
    """Repeat the runs for these grips, identical to the bit, and return their trajectories."""
    loop = Fleet(car, DT, substeps=SUBSTEPS, on_diverge="mask").closed_loop(driver(car, road))
    start = np.zeros((len(grip), record.size(loop.plant.State)))
    settle = car.model.settle
    assert settle is not None
    start[:, : record.size(car.State)] = settle(car.State(v_x=SPEED), car.params)
    params = gripping(car, grip)
    steps = round(DURATION / DT)
    states = loop.rollout(start, steps=steps, params=params)
    outputs = loop.outputs(states, params=params)
    names = record.names(loop.plant.Outputs)
    commands = [names.index(f"command.{name}") for name in record.names(car.Input)]
    own = [names.index(name) for name in record.names(car.model.Outputs)]
    return [
        Trajectory.from_arrays(
            DT * np.arange(steps + 1),
            states=(car.State, states[:, k, : record.size(car.State)]),
            inputs=(car.Input, outputs[:, k, commands]),
            outputs=(car.model.Outputs, outputs[:, k, own]),
            name=car.name,
        )
        for k in range(len(grip))
    ]


def show(seed: int) -> TrajectoryShow:
    """Show of runs with the grips that the seed draws."""
    car, road = vehicles.formula_student(), Reference.along(bend(), SPEED)
    grip = np.random.default_rng(seed).uniform(*GRIP, RUNS)
    many = run_many(car, road, grip)
    furthest = many.worst("left", 1, lowest=True)[0].run
    numbers = sorted({*range(SHOWN), furthest}, key=lambda k: float(-grip[k]))
    names = [f"run {k + 1} ({100.0 * grip[k]:.0f} %)" for k in numbers]
    runs = dict(zip(names, driven(car, road, grip[numbers]), strict=True))

    colours: dict[str, str] = {}
    for name, k in zip(names, numbers, strict=True):
        share = (grip[k] - GRIP[0]) / (GRIP[1] - GRIP[0])
        mixed = [round(a + share * (b - a)) for a, b in zip(LITTLE, MUCH, strict=True)]
        colours[name] = "#{:02x}{:02x}{:02x}".format(*mixed)

    def picture(recording: Recording, path: Path) -> None:
        edges, units = (-SPARE, SPARE), {"left": "m"}
        title = "A bend on unknown grip"
        plots.fan(many, "left", lines=10, rules=edges, units=units, path=path, title=title)

    return finished_show(
        runs,
        dict.fromkeys(runs, car),
        title=f"A bend on unknown grip, {RUNS} times",
        duration=DURATION,
        colours=colours,
        listed=tuple(names[:: SHOWN // 6]),
        remarks=(f"off the lane: {many.probability('off')}",),
        picture=picture,
        **ground(road),
        lines=(Line(as_points(bend()), "centre"), *bands(many, road)),
    )


def bands(many: MonteCarlo, road: Reference) -> list[Line]:
    """Lines at the 5 % and 95 % quantiles of the lateral offset, drawn at the median distance for
    each time.
    """
    here: Any = road.at_distance(many.quantile("along", 0.5))
    lines: list[Line] = []
    for level in (0.05, 0.95):
        lines.append(Line(as_points(beside(here, many.quantile("left", level))), "band"))
    return lines


def beside(here: Any, left: Any) -> Array:
    """Points (n, 2) at offsets `left` (in m, positive to the left) from points of a road."""
    x, y = here.x - left * np.sin(here.heading), here.y + left * np.cos(here.heading)
    return np.column_stack([x, y])


def ground(road: Reference) -> dict[str, Any]:
    """Lane polygon and cones of the road, as keyword arguments of a show."""
    edges: list[Array] = []
    cones: list[Disc] = []
    for side, colour in ((HALF_WIDTH, "blue"), (-HALF_WIDTH, "yellow")):
        edges.append(beside(road.at_distance(np.arange(0.0, road.length, 0.5)), side))
        cones += [Disc(*place, 0.114, "cone", CONES[colour]) for place in as_points(edges[-1][::7])]
    lane = Polygon(as_points(np.vstack([edges[0], edges[1][::-1]])), "lane")
    return {"polygons": (lane,), "discs": tuple(cones)}
