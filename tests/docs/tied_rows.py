"""Columns and rows of tables that are tied to a computation or a benchmark."""

from __future__ import annotations

from docs.figure_values import (
    VEHICLES,
    Column,
)
from vehicles import car_figures

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

QUICK = ("sports",)
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
