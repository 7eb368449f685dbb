"""Run by test_extras: skidpad in an interpreter in which no optional package can be imported.

Prints a JSON object: what each call said, by the extras that it needs.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import pkgutil
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPTIONAL = set(sys.argv[1].split(","))
RECORDING = Path(__file__).parents[1] / "data" / "recordings" / "format_1.mcap"
NEED_THEIRS = {
    "skidpad.view.live.app",
    "skidpad.learn.gymnasium_envs",
    "skidpad.learn.parallel_env",
    "skidpad.learn.sb3_env",
}
"""Classes that derive from those of a package; loaded after somebody has looked for it."""


class Without:
    """A finder of modules that finds none of the optional packages."""

    def __init__(self, finder: Any) -> None:
        self.finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)

    def find_spec(self, name: str, *place: Any) -> Any:
        """Where a module is, or None."""
        absent = name.partition(".")[0] in OPTIONAL
        return None if absent else self.finder.find_spec(name, *place)


sys.meta_path[:] = map(Without, sys.meta_path)

import numpy as np  # noqa: E402

import skidpad as sp  # noqa: E402
from skidpad import learn  # noqa: E402
from skidpad.cli import main  # noqa: E402
from skidpad.compat.autoware.road import read_lanelets  # noqa: E402
from skidpad.export import toolchain  # noqa: E402
from skidpad.ros2.cyclone import CycloneTransport  # noqa: E402
from skidpad.ros2.dds import Identity  # noqa: E402
from skidpad.ros2.zenoh import ZenohTransport  # noqa: E402
from skidpad.study.engines import RayEngine  # noqa: E402
from skidpad.study.folder import Folder  # noqa: E402
from skidpad.view.frames import FramePainter  # noqa: E402
from skidpad.view.live.server import LiveServer  # noqa: E402
from skidpad.view.recording import Recorder, info, read, recover  # noqa: E402
from skidpad.view.stages import trajectory_stage  # noqa: E402
from skidpad.world.scene import Scene  # noqa: E402

FOLDER = Path.cwd()


def every_module() -> None:
    """All of the package can be imported."""
    for module in pkgutil.walk_packages(sp.__path__, "skidpad."):
        if module.name not in NEED_THEIRS and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def base() -> sp.Trajectory:
    """What the base is for; returns a run."""
    car = sp.vehicles.kinematic_bicycle()
    sim = sp.Simulator(car, dt=0.02)
    sim.reset(v_x=5.0)
    run = sim.run(lambda t, x: {"steer": 0.1 * np.sin(t)}, duration=1.0)
    run.to_csv("run.csv")
    assert np.array_equal(sp.Trajectory.from_csv("run.csv")["yaw"], run["yaw"])
    fleet = sp.Fleet(car, dt=0.02, integrator="radau")
    start, held = np.array([car.State(v_x=v) for v in (5.0, 6.0)]), {"steer": 0.05}
    assert fleet.rollout(start, held, steps=50)[-1, :, 0].all()
    cost = sp.Cost(terminal=lambda x: (x.y - 1.0) ** 2)
    value, slope = fleet.gradient(start, held, cost, steps=50)
    assert value.shape == (2,)
    assert np.abs(slope.x0).max() > 0.0
    noise = sp.random.Gaussian(mean=0.05, std=0.01)
    study = fleet.monte_carlo({"v_x": 5.0}, held, runs=10, duration=0.2, params={"l_f": noise})
    assert study.band("y", 0.9)[1].shape == study.t.shape
    assert car.linearise(car.State(v_x=5.0), car.Input(), 0.02).A.shape[0] == len(car.State._fields)
    line = np.column_stack([np.linspace(0.0, 50.0, 51), np.zeros(51)])
    policy = sp.control.stanley.policy(car, sp.control.Reference.along(line, v=6.0))
    assert fleet.rollout(start, policy=policy, steps=50).shape[1] == 2
    assert sp.testing.check(car, ["purity", "standing"]).passed
    return run


def command(*arguments: str) -> Callable[[], None]:
    """A call of the command line, which ends with its error line and nothing written."""

    def call() -> None:
        before, code = sorted(FOLDER.rglob("*")), None
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                main(arguments)
            except SystemExit as stop:
                code = stop.code
        assert code == 2, said.getvalue()
        assert sorted(FOLDER.rglob("*")) == before
        raise sp.MissingExtra(said.getvalue().removeprefix("error: ").strip())

    return call


def needing_an_extra(run: sp.Trajectory) -> dict[str, list[Callable[[], Any]]]:
    """Calls by the extra they need."""
    car = sp.vehicles.kinematic_bicycle()
    fleet = sp.Fleet(car, dt=0.02)
    for name in ("log.parquet", "log.mf4", "log.xrk", "road.osm", "room.png", "road.xml"):
        (FOLDER / name).write_bytes(b"")
    shutil.copy(RECORDING, "log.mcap")
    stage, _, _ = trajectory_stage({"car": run}, car)
    return {
        "plots": [
            run.plot,
            lambda: sp.view.plots.tyre_curves(sp.vehicles.four_wheel()),
            lambda: sp.Map(cones=np.zeros((1, 2)), colours=("blue",)).plot(),
        ],
        "parquet": [
            lambda: run.to_parquet("run.parquet"),
            lambda: sp.Trajectory.from_parquet("log.parquet"),
            lambda: sp.study.logs.read_log("log.parquet"),
        ],
        "campaigns": [
            lambda: Folder.create("campaign", {"columns": []}),
            lambda: Folder.create("memory://campaign", {"columns": []}),
        ],
        "pandas": [run.to_pandas],
        "recording,plots": [command("demo")],
        "viewer,world": [command("serve")],
        "viewer,world,recording": [command("bench", "viewer")],
        "recording": [
            lambda: Recorder("out.mcap", stage),
            lambda: read("log.mcap"),
            lambda: info("log.mcap"),
            lambda: recover("log.mcap"),
            lambda: sp.study.logs.read_log("log.mcap"),
            command("run", "four_wheel"),
            command("replay", "log.mcap"),
            command("html", "log.mcap", "log.html"),
            command("info", "log.mcap"),
        ],
        "world": [lambda: sp.World(Scene()), command("run", "warehouse", "--no-record")],
        "viewer": [lambda: LiveServer(None)],  # pyright: ignore[reportArgumentType]
        "logs": [
            lambda: sp.study.logs.read_log("log.mf4"),
            lambda: sp.study.logs.read_log("log.xrk"),
        ],
        "maps": [
            lambda: sp.Map.load("room.png", resolution=0.1),
            lambda: read_lanelets("road.osm"),
            lambda: FramePainter(size=(64, 48)).frame(text="10 m/s"),
        ],
        "commonroad": [lambda: sp.Map.load("road.xml"), run.to_commonroad_states],
        "ros2": [lambda: CycloneTransport(Identity("car"))],
        "jax": [car.jax],
        "sb3": [learn.stable_baselines_env],
        "learn": [
            lambda: learn.SkidpadEnv,
            lambda: learn.SkidpadVectorEnv,
            lambda: learn.SkidpadParallelEnv,
            lambda: learn.check_vector_env(None, None),  # pyright: ignore[reportArgumentType]
        ],
        "ray": [lambda: RayEngine().start(None, None)],  # pyright: ignore[reportArgumentType]
        "zenoh": [lambda: ZenohTransport(Identity("node"))],
        "torch": [fleet.as_torch],
        "onnx": [lambda: sp.control.networks.Network.of_onnx("driver.onnx")],
        "export": [lambda: toolchain.build_object("car.c", "car.o", "cortex-m7")],
        "cuda": [
            lambda: sp.Fleet(car, dt=0.02, device="cuda"),
            lambda: sp.geometry.raycast.Scene([[1.0, -1.0, 1.0, 1.0]]).on_cuda(),
        ],
    }


def sentence(call: Callable[[], Any]) -> str:
    """What a call says that needs what is not there."""
    try:
        call()
    except sp.MissingExtra as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    every_module()
    calls = needing_an_extra(base())
    written = sys.stdout.write
    written(json.dumps({extra: [*map(sentence, some)] for extra, some in calls.items()}))
