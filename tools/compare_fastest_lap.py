"""Compare laps of fastest-lap with ours: `python tools/compare_fastest_lap.py FOLDER`.

FOLDER has `catalunya.xml` and the laps `f1_optimal_laptime_catalunya_discrete*.xml` of
github.com/juanmanzanero/fastest-lap. The stored laps are evaluated with `bench.lap`, and the
flat one is solved anew from a steady drive at 50 km/h.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from skidpad.bench.lap import CAR, problem, steady_start
from skidpad.control.optimal.solver import Evaluations, solve
from skidpad.control.optimal.transcription import PointFunctions, Transcription, mesh_of

LAP = "f1_optimal_laptime_catalunya_discrete"
COLUMNS = (
    *(f"{axle}-axle.{side}-tire.kappa" for axle in ("front", "rear") for side in ("left", "right")),
    *("chassis.velocity.x", "chassis.velocity.y", "chassis.omega.z"),
    *("road.lateral-displacement", "road.track-heading-angle"),
    *(f"chassis.force_z_{wheel}_g" for wheel in ("fl", "fr", "rl", "rr")),
    "control_variables/front-axle.steering-angle/values",
    "control_variables/chassis.throttle/values",
)


def numbers(root: Any, name: str) -> Any:
    return np.array([float(part) for part in root.find(name).text.split(",")])


def main(folder: Path) -> None:
    root = ElementTree.parse(folder / "catalunya.xml").getroot()
    s, curvature, left, right = (
        numbers(root, f"data/{name}") for name in ("arclength", "yaw_dot", "nl", "nr")
    )
    mesh = mesh_of(s, float(root.findtext("header/track_length") or 0.0), closed=True, order=2)
    functions = PointFunctions(problem(at_points=False, scaled=False))
    data = np.column_stack([curvature, left, right])
    transcription = Transcription(functions, mesh, data, np.zeros(0))
    for name, inertias in ((LAP, (0.0, 0.0)), (f"{LAP}_with_wheel_inertia", (1.0, 1.55))):
        lap = ElementTree.parse(folder / f"{name}.xml").getroot()
        x = np.column_stack([numbers(lap, column) for column in COLUMNS]).ravel()
        car = CAR | dict(zip(("I_f", "I_r"), inertias, strict=True))
        made = Evaluations(transcription, np.array(list(car.values())))
        rows, (low, high) = made.rows(x), transcription.row_bounds
        excess = np.maximum(low - rows, rows - high)
        print(f"{name}: time {made.time(x):.6f} s, stored {lap.findtext('laptime')} s, cost "
              f"{made.cost(x):.6f} s, largest residual {excess[low == high].max():.1e}, largest "
              f"violation of a range {excess[low < high].max():.1e}")  # fmt: skip
    made = Evaluations(transcription, np.array(list(CAR.values())))
    variables = functions.problem.variables
    bounds = np.array([[v.low for v in variables], [v.high for v in variables]])
    low, high = (np.tile(side, (len(s), 1)) for side in bounds)
    low[:, functions.problem.index("n")], high[:, functions.problem.index("n")] = -left, right
    start = np.tile(steady_start(50.0 / 3.6), len(s))
    options = {"tol": 1e-10, "constr_viol_tol": 1e-10, "nlp_scaling_method": "gradient-based"}
    found = solve(made, start, low.ravel(), high.ravel(), options=options)
    print(f"solved anew: time {found.time:.6f} s, cost {found.cost:.6f} s, {found.status}, "
          f"{found.iterations} iterations, {found.seconds:.2f} s, of which evaluation "
          f"{found.evaluation_seconds:.2f} s")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
