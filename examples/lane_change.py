"""A lane change of a regulated car, as planned and a thousand times under disturbance and noise.

A linear-quadratic regulator drives CommonRoad's dynamic bicycle. Gusts push the car, the engine
does not give quite what it is asked for, and the regulator sees positions that are wrong by
centimetres. A fleet runs the manoeuvre a thousand times, each with draws of its own, and shows what
to expect: where nine cars in ten are, how many leave their lane, and the worst run of all.

    python examples/lane_change.py --out lane_change.png
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import skidpad as sp
from skidpad.control import Reference, lqr
from skidpad.random import Gaussian, OrnsteinUhlenbeck, UncertaintyModel, by_name
from skidpad.run import MonteCarlo
from skidpad.view.plots.style import STYLE

DT = 0.05
"""Time between two commands and between two draws, s."""
SPEED = 25.0
"""m/s."""
LANE = 3.5
"""Width of a lane, m."""
CAR_WIDTH = 1.61
"""m; the BMW 320i of CommonRoad's parameter set 2."""

SPARE = 0.5 * (LANE - CAR_WIDTH)
"""How far off the line the car may be and still be within its lane, m."""

INK, BLUE, ORANGE, GOLD, ASPHALT = "#222222", "#0072B2", "#D55E00", "#F0B800", "#C6CACF"


def manoeuvre() -> Reference:
    """One lane to the left within 60 m, on a quintic: no jump in curvature."""
    x = np.linspace(0.0, 160.0, 321)
    t = np.clip((x - 30.0) / 60.0, 0.0, 1.0)
    return Reference.along(
        np.column_stack([x, LANE * t**3 * (10.0 - 15.0 * t + 6.0 * t**2)]), SPEED
    )


def disturbances(car: sp.Vehicle) -> UncertaintyModel:
    """What is added to the rates: gusts that last about a second, and an uneven engine."""
    return by_name(
        car.model.Disturbance,
        v_x=Gaussian(0.0, 0.5),  # m/s², new at every step
        v_y=OrnsteinUhlenbeck(0.0, 2.4, time_constant=1.0),  # m/s²
        omega=OrnsteinUhlenbeck(0.0, 0.6, time_constant=0.5),  # rad/s²
    )


def measurement_noise(car: sp.Vehicle) -> UncertaintyModel:
    """Errors of the position that the regulator sees, m."""
    return Gaussian(std={"x": 0.075, "y": 0.075}, fields=car.State)


class Drive(NamedTuple):
    """What was run."""

    road: Reference
    nominal: sp.Trajectory
    runs: MonteCarlo
    some: list[sp.Trajectory]
    worst: sp.Trajectory


def drive(runs: int, seed: int) -> Drive:
    """The nominal run, the sampled ones, and some of these again as trajectories."""
    car, road = sp.vehicles.commonroad_dynamic_bicycle(), manoeuvre()
    regulator = lqr.policy(
        car,
        DT,
        SPEED,
        Q={"x": 0.05, "y": 1.0, "yaw": 10.0, "v_x": 0.3},
        R={"a": 0.5, "steer_rate": 30.0},
        limits={"a": 6.0, "steer_rate": car.params.steer_rate_max},
    )
    fleet = sp.Fleet(car, DT, substeps=10)
    settings: dict[str, Any] = {
        "x0": {"v_x": SPEED},
        "controls": road.rows(round(road.duration / DT), DT)[:, 0],
        "policy": regulator,
        "quantities": {
            "y": lambda x: x.y,
            "offset": lambda x: road.offset(x.x, x.y),
            "steer": lambda x: x.steer,
            "v_x": lambda x: x.v_x,
        },
    }
    many = fleet.monte_carlo(
        runs=runs,
        seed=seed,
        disturbance=disturbances(car),
        noise=measurement_noise(car),
        events={"leaves its lane": lambda x: np.abs(road.offset(x.x, x.y)) > SPARE},
        **settings,
    )
    alone = fleet.monte_carlo(runs=1, **settings)
    left, right = many.worst("offset", 1)[0], many.worst("offset", 1, lowest=True)[0]
    return Drive(
        road,
        alone.replay(alone.seed_of(0)),
        many,
        [many.replay(many.seed_of(run)) for run in range(min(runs, 10))],
        many.replay(left if left.value > -right.value else right),
    )


def figure(run: Drive) -> Any:
    """The road from above, and offset, steering and speed over time."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        fig = plt.figure(figsize=(11.0, 6.6), layout="constrained")
        road, *panels = fig.subplot_mosaic(
            [["road"] * 3, ["offset", "steer", "speed"]], height_ratios=[1.2, 1.0]
        ).values()
        draw_road(road, run)
        draw_panels(panels, run)
        risk = run.runs.probability("leaves its lane")
        title = (
            f"Lane change at {3.6 * SPEED:.0f} km/h: {run.runs.runs} runs under gusts and noisy "
            f"positions, {risk.happened} of which leave their lane"
        )
        fig.suptitle(title, x=0.008, ha="left", fontweight="bold", color=INK, fontsize=11.0)
    return fig


def draw_road(axes: Any, run: Drive) -> None:
    """Lanes with their markings, the band of the runs and some of them."""
    low, high = run.runs.band("y")
    x = run.nominal["x"]
    axes.axhspan(-0.5 * LANE - 0.4, 1.5 * LANE + 0.4, color=ASPHALT, lw=0.0)
    for edge in (-0.5, 1.5):
        axes.axhline(edge * LANE, color="white", lw=3.0)
    # Broken lines are 6 m long with gaps of 12 m.
    for begin in np.arange(0.0, x[-1], 18.0):
        axes.plot(
            [begin, begin + 6.0], [0.5 * LANE] * 2, color="white", lw=3.0, solid_capstyle="butt"
        )
    axes.fill_between(x, low, high, color=BLUE, alpha=0.4, lw=0.0, label="90 % of the runs")
    for one in run.some:
        axes.plot(one["x"], one["y"], color=BLUE, lw=0.6, alpha=0.8)
    axes.plot([], [], color=BLUE, lw=0.8, label="some of them")
    axes.plot(run.worst["x"], run.worst["y"], color=ORANGE, lw=1.3, label="furthest off")
    axes.plot(x, run.nominal["y"], color=INK, lw=1.8, label="nominal")
    line = run.road.points
    axes.plot(line.x, line.y, color=GOLD, lw=1.3, ls=(0, (1, 1.5)), label="line to follow")
    axes.set(xlim=(0.0, x[-1]), ylim=(-0.5 * LANE - 0.4, 1.5 * LANE + 0.4))
    axes.set(xlabel="x [m]", ylabel="y [m]", title="Path of the centre of mass, stretched sideways")
    axes.grid(False)
    axes.legend(loc="lower right", ncols=5, bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1)


def draw_panels(panels: Sequence[Any], run: Drive) -> None:
    """Band, nominal, furthest off and some runs over time."""

    def offset(one: sp.Trajectory) -> Any:
        return run.road.offset(one["x"], one["y"])

    shown: list[tuple[str, str, float, Callable[[sp.Trajectory], Any]]] = [
        ("offset", "Distance to the left of the line [m]", 1.0, offset),
        ("steer", "Steering angle [°]", 180.0 / np.pi, lambda one: one["steer"]),
        ("v_x", "Speed [km/h]", 3.6, lambda one: one["v_x"]),
    ]
    t = run.runs.t
    for axes, (name, title, scale, values) in zip(panels, shown, strict=True):
        low, high = run.runs.band(name)
        axes.fill_between(t, scale * low, scale * high, color=BLUE, alpha=0.35, lw=0.0)
        for one in run.some:
            axes.plot(t, scale * values(one), color=BLUE, lw=0.5, alpha=0.55)
        axes.plot(t, scale * values(run.worst), color=ORANGE, lw=1.1)
        axes.plot(t, scale * values(run.nominal), color=INK, lw=1.6)
        axes.set(xlim=(0.0, t[-1]), xlabel="t [s]", title=title)
    for edge in (-SPARE, SPARE):
        panels[0].axhline(edge, color="#888888", lw=0.9, ls=(0, (6, 4)))
    panels[0].text(
        0.1, SPARE + 0.02, "edge of its lane", va="bottom", color="#666666", fontsize=7.5
    )
    panels[0].set_ylim(-1.25, 1.25)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the figures and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="lane_change.png")
    options = parser.parse_args(arguments)
    run = drive(options.runs, options.seed)
    print(run.runs)
    figure(run).savefig(options.out, dpi=150)
    print(f"plot: {options.out}")


if __name__ == "__main__":
    main()
