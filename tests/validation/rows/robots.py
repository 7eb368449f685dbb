"""Robots and bodies that collide beside recordings of MVSim, simulator_2d and Box2D."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compat.truck.recordings import recording, replay
from validation.rows.row import Row, recorded
from vehicles.wheeled.recordings import scenarios
from vehicles.wheeled.test_wheeled_recordings import MOTION, rerun
from world.test_joints import SCENES, recorded_scene

MVSIM = "MVSim 1.2.0 with Box2D, recorded"
TRUCK = "simulator_2d of robotics-laboratory/truck, commit 332ff42, recorded"
BOX2D = "Box2D 2.4.1, recorded"
SINGLE = 1e-3
"""Of runs of MVSim, in SI units: Box2D computes in float32."""
SATURATED = 5e-3
"""Of those with the friction ellipse, as those who recorded them advise."""
KINDS = {
    "diff": "wheeled differential",
    "diff4": "wheeled differential_4_wheels",
    "ack": "wheeled ackermann",
    "drv": "wheeled ackermann_drivetrain",
}


def mvsim_runs() -> Iterator[Row]:
    """Every recorded run: pose, velocity and yaw rate."""
    for name in scenarios():
        told, ours = rerun(name)
        want, got = (np.column_stack([part[c] for c in MOTION]) for part in (told, ours))
        kind, _, rest = name.partition("_")
        quantity = f"pose and velocity, {rest.replace('_', ' ')} (SI)"
        tolerance = SATURATED if "ellipse" in name else SINGLE
        yield recorded(KINDS[kind], quantity, MVSIM, want, got, tolerance, scale=1.0)


def truck_runs() -> Iterator[Row]:
    """Pose, steering, wheels and IMU of four runs, in double precision as the program has them."""
    hidden = ("ctl_v", "ctl_a", "ctl_c", "time_ns", "status")
    for name in ("s01_accelerate_straight", "s02_brake", "s03_left_circle", "s07_limits_exceeded"):
        run = recording(name)
        got = replay(run.scenario, compat="upstream").state
        kept = [k for k, column in enumerate(run.columns) if column not in hidden]
        ours = np.column_stack([got[run.columns[k]] for k in kept])
        quantity = f"state, wheels and IMU, {name[4:].replace('_', ' ')} (SI)"
        want = run.state[:, kept]
        yield recorded("ackermann_truck", quantity, TRUCK, want, ours, 1e-9, scale=1.0)


def box2d_scenes() -> Iterator[Row]:
    """Bodies that bounce, slide and are tied together; ours are those of Box2D 2.3."""
    for name, scene in SCENES.items():
        made, rows = recorded_scene(scene), {row[0]: row[1:] for row in scene["rows"]}
        bodies = [c.removesuffix("_yaw") for c in scene["columns"] if c.endswith("_yaw")]
        found: list[list[float]] = []
        for k in range(1, max(rows) + 1):
            made.step(scene["dt"], {})
            if k in rows:
                found.append([value for body in bodies for value in made.at(body)])
        want = np.array([rows[k] for k in sorted(rows) if k > 0])
        # A step of 3 mm sooner or later at a wall.
        tolerance = 0.02 if name == "bounce_off_a_wall" else 3e-3
        quantity = f"motion of blocks, {name.replace('_', ' ')} (SI)"
        yield recorded("world", quantity, BOX2D, want, found, tolerance, scale=1.0)
