"""Draw the pictures of README and docs again: python tools/make_pictures.py [NAME ...]

Every picture is made by a function here that takes the file to write; `PICTURES` lists them. They
are drawn from runs that are computed anew, with fixed seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import skidpad as sp
from skidpad.bench import viewer
from skidpad.demo import lap as lap_demo
from skidpad.demo.lap import Track, cones, lane, random_track, start_mark
from skidpad.demo.shows import Laps, StartLine
from skidpad.vehicles import wheeled
from skidpad.vehicles.twin_track.trailers import SEMI_TRAILER, TRACTOR
from skidpad.view import Film, FramePainter, place_vehicle
from skidpad.view.stage import Polygon, Stage
from skidpad.view.stages import trajectory_stage

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
FRAME = (400, 300)
"""Width and height of frames in pixels."""
TRACK = 3
"""Seed of the track of the lap."""


class _FlyingLap(NamedTuple):
    """The second lap of the Formula Student car on a cone track."""

    car: sp.Vehicle
    track: Track
    run: sp.Trajectory
    time: float
    """In s."""

    def stage(self, title: str = "") -> tuple[Stage, Any, Any]:
        """Stage, times and rows of the lap, with cones and the edges of the track."""
        return trajectory_stage(
            {"car": self.run},
            self.car,
            title=title,
            discs=cones(self.track),
            polygons=(lane(self.track),),
            lines=(start_mark(self.track),),
        )


def _flying_lap() -> _FlyingLap:
    track = random_track(TRACK)
    car, ideal = sp.vehicles.formula_student(), lap_demo.plan(track)
    start, line = ideal.at(-lap_demo.RUN_UP), ideal.at(0.0)
    sim = sp.Simulator(car, lap_demo.DT, "radau")
    sim.reset(x=start.x, y=start.y, yaw=start.heading)
    driver = lap_demo.RacingDriver(ideal, car.params, lap_demo.DT)
    run = sim.run(driver, steps=round((lap_demo.LAPS * ideal.time + 3.0) / sim.dt))
    laps = Laps(["car"], {"car": StartLine(line.x, line.y, line.heading, 2.0 * track.half_width)})
    laps.add(run.t, np.column_stack([run["x"], run["y"]])[:, None])
    _, begin, end = laps.crossings[0][:3]
    return _FlyingLap(car, track, run.between(begin, end).starting_at(0.0), end - begin)


def lap(file: Path) -> None:
    """A flying lap, coloured by speed."""
    flying = _flying_lap()
    sp.view.plots.trajectory(
        flying.run,
        flying.car,
        map=flying.stage()[0],
        count=9,
        path=file,
        title=f"A lap of {flying.track.line.length:.0f} m in {flying.time:.2f} s",
    )


def replay_page(file: Path) -> None:
    """The same lap on the replay page, in Chromium."""
    stage, times, rows = _flying_lap().stage("Formula Student lap")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "lap.html"
        Film(stage, times, rows.astype(np.float32)).thinned(60.0).to_html(page)
        with viewer.page(1440, 900) as tab:
            viewer.opened(tab, page)
            tab.evaluate("() => { window.skidpad.pause(); window.skidpad.seek(16.6); }")
            tab.wait_for_timeout(1000)
            tab.screenshot(path=file)


def monte_carlo_fan(file: Path) -> None:
    """The lane change of examples/lane_change.py, a thousand times."""
    example = _example("lane_change")
    example.figure(example.drive(runs=1000, seed=1)).savefig(file, dpi=130)


def policy_gradient(file: Path) -> None:
    """The training of examples/learn/policy_gradient.py, and its numbers."""
    numbers = ROOT / "benchmarks" / "learning" / "policy_gradient.json"
    _example("learn/policy_gradient").main(["--out", str(file), "--numbers", str(numbers)])


def learn_to_race(file: Path) -> None:
    """The curve of examples/learn/ppo.py as it was recorded, and drives of its networks."""
    with _importable(ROOT / "examples" / "learn"):
        example = _example("learn/plot_learning")
    example.main([str(ROOT / "benchmarks" / "learning" / "race_ppo"), "--out", str(file)])


def mppi(file: Path) -> None:
    """The drive of examples/mppi.py."""
    _example("mppi").main(["--out", str(file)])


def phase_portrait(file: Path) -> None:
    """Where `four_wheel` goes from any motion at 15 m/s: it holds, spins or drifts."""
    sp.view.plots.phase_portrait(sp.vehicles.four_wheel(), speed=15.0, path=file)


def bode(file: Path) -> None:
    """Steering response of the Formula Student car."""
    sp.view.plots.bode(sp.vehicles.formula_student(), speed=[10.0, 20.0, 30.0], path=file)


def tyre_curves(file: Path) -> None:
    """Tyres of CommonRoad's drift car."""
    sp.view.plots.tyre_curves(sp.vehicles.commonroad_std(), path=file)


def tyre_fit(file: Path) -> None:
    """The fit of docs/tyres.md: the first block of the page, with another file."""
    page = (ROOT / "docs" / "tyres.md").read_text("utf-8")
    code = page.split("```python\n", 1)[1].split("```", 1)[0]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found: dict[str, Any] = {}
        exec(compile(code, "docs/tyres.md", "exec"), found)
    found["found"].residual_plot(file)


def tyre_sheet(file: Path) -> None:
    """Two of the tyres that come with skidpad."""
    sp.tyres.get("passenger_car").plot(sp.tyres.get("race_slick"), path=file)


def road_world(file: Path) -> None:
    """Two cars on hills with a patch of ice, on the replay page."""
    from skidpad.road import Patch
    from skidpad.view.stages import WorldStage
    from skidpad.world.scene import Pose, Scene, Settings, VehicleSpec, Velocity

    x, y = np.meshgrid(np.arange(-60.0, 61.0, 4.0), np.arange(-60.0, 61.0, 4.0), indexing="ij")
    hills = sp.Road.grid(
        2.5 * np.sin(x / 14.0) * np.cos(y / 17.0), (-60.0, -60.0), 4.0, method="cubic"
    )
    ice = Patch(value=0.2, x=12.0, y=4.0, length=24.0, width=8.0, yaw=0.3)
    fast = Velocity(v_x=14.0, frame="body")
    cars = (
        VehicleSpec("student", Pose(-30.0, 0.0, yaw=0.1), sp.vehicles.four_wheel(), velocity=fast),
        VehicleSpec(
            "compact", Pose(-20.0, 22.0, yaw=-0.5), sp.vehicles.single_track(), velocity=fast
        ),
    )
    scene = Scene(settings=Settings(timestep=0.005), vehicles=cars)
    world = sp.World(scene, road=hills.with_grip([ice]))
    world.vehicles["student"].command(steer=0.02)
    view, rows, times = WorldStage(world, "Hills with ice"), list[Any](), list[float]()
    for _ in range(70):
        world.run(0.05)
        rows.append(view.row())
        times.append(world.time)
    film = Film(view.stage, np.array(times), np.array(rows, dtype=np.float32))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "hills.html"
        film.to_html(page)
        with viewer.page(1280, 760) as tab:
            viewer.opened(tab, page)
            tab.evaluate("() => { window.skidpad.pause(); window.skidpad.seek(2.6); }")
            tab.wait_for_timeout(1000)
            tab.screenshot(path=file)


def roads(file: Path) -> None:
    """A banked curve from above; heights and spectra of random roads, and limits of classes."""
    import matplotlib.pyplot as plt

    from skidpad.road import class_limits, psd
    from skidpad.road.road import track_heights
    from skidpad.view.plots.style import COLOURS, GREY, STYLE

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.4), layout="constrained")
        _draw_banked_curve(figure, axes[0])
        for seed, (letter, colour) in enumerate(zip("ACE", COLOURS, strict=False)):
            heights = track_heights(letter, seed, 1 << 15, 0.05, np.array([0.0])).ravel()
            axes[1].plot(0.05 * np.arange(2000), 1e3 * heights[:2000], color=colour, label=letter)
            n = np.fft.rfftfreq(heights.size, 0.05)[1:]
            density = np.abs(np.fft.rfft(heights))[1:] ** 2 * 0.1 / heights.size
            bands = np.geomspace(0.011, 2.83, 25)
            middles = np.sqrt(bands[1:] * bands[:-1])
            inside = [(n >= a) & (n < b) for a, b in pairwise(bands)]
            means = [float(np.mean(density[band] * n[band] ** 2)) for band in inside]
            axes[2].loglog(middles, means / middles**2, ".", color=colour, ms=4)
            axes[2].loglog(middles, psd(middles, letter), color=colour, lw=0.8, label=letter)
        for letter in "ABCDEF":
            limit = psd(bands, class_limits(letter)[1])
            axes[2].loglog(bands, limit, color=GREY, lw=0.5, ls=":")
        axes[1].set(
            title="Random roads", xlabel="x in m", ylabel="height in mm", ylim=(-160.0, 190.0)
        )
        axes[2].set(
            title="Their spectra, and limits of classes", xlabel="n in 1/m", ylabel="$G_d$ in m³"
        )
        axes[1].legend(title="class", ncols=3)
        figure.savefig(file, dpi=130)
        plt.close(figure)


def frames(file: Path) -> None:
    """A car on a cone track, a truck that backs into a bay, a robot with its lidar."""
    gap = np.full((FRAME[1], 8, 3), 255, np.uint8)
    pictures = [_car_frame(), gap, _truck_frame(), gap, _robot_frame()]
    Image.fromarray(np.hstack(pictures)).save(file)


def _car_frame() -> Any:
    track, car = random_track(TRACK), sp.vehicles.four_wheel()
    discs = cones(track)
    painter = FramePainter(
        cones=[(disc.x, disc.y) for disc in discs],
        cone_colours=[disc.colour for disc in discs],
        polygons=[lane(track)],
        lines=[start_mark(track)],
        size=FRAME,
    )
    x, y, yaw = track.line.at(4.0)[:3]
    state = {"x": x, "y": y, "yaw": yaw, "v_x": 12.3, "steer": 0.08}
    one = place_vehicle(car, sp.core.record.at_rest(car.State)._replace(**state))
    return painter.frame([one], text="12.3 m/s")


def _truck_frame() -> Any:
    truck = sp.vehicles.two_track(**TRACTOR, trailers=SEMI_TRAILER)
    bay = Polygon(((-15.0, -8.0), (-1.0, -8.0), (-1.0, -4.6), (-15.0, -4.6)), "region")
    walls = [[-16.0, 12.0, -16.0, -12.0], [-16.0, -12.0, 30.0, -12.0], [-16.0, 12.0, 30.0, 12.0]]
    state = {"x": 9.5, "y": 0.5, "yaw": 0.75, "steer": -0.3, "hitch_1": -0.4, "v_x": -1.2}
    one = place_vehicle(truck, sp.core.record.at_rest(truck.State)._replace(**state))
    painter = FramePainter(walls, polygons=[bay], size=FRAME)
    return painter.frame([one], centre=(4.0, 0.0), scale=10.0, text="-1.2 m/s")


def _robot_frame() -> Any:
    room = [[-3.0, -2.2], [3.2, -2.2], [3.2, 2.4], [0.8, 2.4], [0.8, 1.2], [-3.0, 1.2]]
    walls = sp.Map.from_polylines([room], closed=True)
    blocks = sp.Map.from_polygons([[[1.6, -1.4], [2.2, -1.2], [2.0, -0.6], [1.4, -0.8]]])
    segments = np.concatenate([walls.segments, blocks.segments])
    robot, pose = wheeled.vehicle(wheeled.differential()), np.array([-1.2, -0.6, 0.35])
    angles = np.linspace(-2.0, 2.0, 241)
    ranges = sp.geometry.raycast.Scene(segments).scan(pose[None], angles)[0]
    along = np.column_stack([np.cos(pose[2] + angles), np.sin(pose[2] + angles)])
    x, y, yaw = pose.tolist()
    one = place_vehicle(robot, sp.core.record.at_rest(robot.State)._replace(x=x, y=y, yaw=yaw))
    painter = FramePainter(segments, size=FRAME)
    hits = pose[:2] + ranges.reshape(-1, 1) * along
    return painter.frame([one], centre=(0.1, 0.1), lidar=hits, text="0.4 m/s")


def _draw_banked_curve(figure: Any, axes: Any) -> None:
    """Heights of a road along an S, banked into its turns."""
    u = np.arange(0.0, 240.0, 0.5)
    curvature = np.sin(2.0 * np.pi * u / 240.0) / 45.0
    bank = np.append(-6.0 * curvature, 0.0)
    road = sp.Road.curved(
        curvature, 0.5, width=14.0, z=np.linspace(0.0, 4.0, u.size + 1), bank=bank
    )
    x, y = np.meshgrid(np.linspace(-5.0, 140.0, 580), np.linspace(-15.0, 165.0, 720))
    height = road.height(x, y)
    place = road.surface.line.place(x, y)
    beside = (np.abs(place.v) > 7.0) | (place.u < 0.0) | (place.u > 240.0)
    height[beside] = np.nan
    shown = axes.pcolormesh(x, y, height, shading="auto", rasterized=True)
    axes.contour(x, y, height, 24, colors="white", linewidths=0.4)
    figure.colorbar(shown, ax=axes, label="height in m", shrink=0.85)
    axes.set(title="Banked curves", xlabel="x in m", ylabel="y in m", aspect="equal")


def tutorial_formula_student(file: Path) -> None:
    """What changes of the car are worth in two events, by the page's own numbers."""
    _tutorials().formula_student(file)


def tutorial_control(file: Path) -> None:
    """The lane changes of the page's study."""
    _tutorials().control(file)


def tutorial_robotics(file: Path) -> None:
    """What the lidar of the page's robot hit."""
    _tutorials().robotics(file)


def _tutorials() -> ModuleType:
    with _importable(ROOT / "tools"):
        return importlib.import_module("tutorial_pictures")


def _smaller(file: Path) -> None:
    """Keep 256 colours, which the eye does not miss: a third of the size."""
    with Image.open(file) as picture:
        reduced = picture.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE)
    reduced.save(file, optimize=True)


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Files of a folder import each other."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _example(name: str) -> ModuleType:
    """A file of examples/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PICTURES: dict[str, Callable[[Path], None]] = {
    "lap.png": lap,
    "replay_page.png": replay_page,
    "monte_carlo_fan.png": monte_carlo_fan,
    "mppi.png": mppi,
    "policy_gradient.png": policy_gradient,
    "learn_to_race.png": learn_to_race,
    "phase_portrait.png": phase_portrait,
    "bode.png": bode,
    "tyre_curves.png": tyre_curves,
    "tyre_sheet.png": tyre_sheet,
    "tyre_fit.png": tyre_fit,
    "road_world.png": road_world,
    "roads.png": roads,
    "frames.png": frames,
    "tutorial_formula_student.png": tutorial_formula_student,
    "tutorial_control.png": tutorial_control,
    "tutorial_robotics.png": tutorial_robotics,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(PICTURES)
    if unknown:
        parser.error(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or PICTURES:
        begin = time.perf_counter()
        PICTURES[name](options.folder / name)
        _smaller(options.folder / name)
        print(f"{options.folder / name}: {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
