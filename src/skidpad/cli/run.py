"""`skidpad run`, `check`, `serve` and `ros2`: worlds, vehicles, demos and nodes.

`run` reports on every vehicle and records it; `check` lists problems of a world file with file and
line; `serve` shows a world in real time, on a page to watch and to drive; `ros2 NODE` runs nodes of
ROS 2 that replace those of other programs.
"""

from __future__ import annotations

import difflib
import sys
import warnings
import webbrowser
from datetime import datetime
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Argument, Option

from .. import demo
from ..core.files import counted, regular_file
from ..errors import InvalidValue, MissingExtra, SkidpadError, require_extras
from ..view.sheet import Sheet
from .options import (
    AsJson,
    Compat,
    WorldReading,
    check_port,
    command_of,
    is_vehicle,
    refuse,
    run_targets,
    split_pairs,
    vehicle_choices,
    vehicle_names,
)
from .output import caught_texts, print_json, warnings_as_notes

if TYPE_CHECKING:
    from ..demo.shows import Show
    from ..view.live.arena import Arena
    from ..world.scene import Scene
    from ..world.world import World

FOLDER = Path("skidpad-runs")


class VehicleRun(NamedTuple):
    """Options that apply to a vehicle, None if not given.

    Args:
        controller: Controller that steers a vehicle: path_follower, pure_pursuit, stanley.
        track: Track that a vehicle follows: circuit, lane_change, or a file with a centre line.
        speed: Largest speed of a vehicle in m/s.
    """

    controller: str | None = None
    track: str | None = None
    speed: float | None = None


def run(
    target: Annotated[str | None, Argument(autocompletion=run_targets)] = None,
    duration: float | None = None,
    seed: Annotated[int, Option(min=0)] = 0,
    out: Path | None = None,
    rate: float | None = None,
    no_record: bool = False,
    no_page: bool = False,
    quiet: bool = False,
    *,
    driving: VehicleRun,
    reading: WorldReading,
) -> None:
    """Run a world, a vehicle or a demo and report on every vehicle; Ctrl-C ends the run early.

    Args:
        target [WORLD|VEHICLE|DEMO]: A world file, a vehicle as `skidpad models` lists them, or a
            demo; without one, the demos are listed.
        duration: Simulated time in s.
        seed: Seed of all random numbers.
        out: Folder for the recording and the page; by default a new folder.
        rate: Samples recorded per second of simulated time, in Hz.
        no_record: Write no recording.
        no_page: Write no replay page.
        quiet: Print only the result, without progress bar and notes.
    """
    from . import sheets

    if target is None:
        rows = [(one.name, one.text) for one in demo.DEMOS.values()]
        listed = sheets.table(Sheet(("demo", "content"), rows, wraps=(1,)), "bold cyan")
        hints = (
            "",
            "skidpad run lap             a demo",
            "skidpad run four_wheel      a vehicle on a circuit",
            "skidpad run FILE.world.xml  a world file",
        )
        sheets.Console().print(sheets.Group(listed, *(sheets.Text(h, "dim") for h in hints)))
        return
    if duration is not None and not (isfinite(duration) and duration >= 0.0):
        raise InvalidValue(f"--duration {duration:g} must be finite and not negative, in s")
    if rate is not None and not (isfinite(rate) and rate > 0.0):
        raise InvalidValue(f"--rate {rate:g} must be finite and greater than 0, in Hz")
    if not no_record:
        require_extras("recording", purpose="skidpad run without --no-record")
    name, show = show_of(target, seed, driving, reading, quiet=quiet)
    from ..demo.performing import perform_into, progress_bar, report

    if out is None:
        out = stem = FOLDER / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
        number = 1
        while out.exists():
            number += 1
            out = Path(f"{stem}-{number}")
    with progress_bar(show.duration if duration is None else duration, quiet) as watch:
        how: Any = {"record": not no_record, "page": not no_page}
        how |= {"duration": duration, "rate": rate, "meta": {"name": name, "seed": seed}}
        done = perform_into(show, out, name, watch=watch, **how)
    report(show, done)
    if done.outcome.error is not None:
        raise done.outcome.error


_OTHERS = {
    ".mcap": "a recording: skidpad replay {0} shows it",
    ".py": "a Python program, not a world file: python {0} runs it",
    ".html": "a page: open it in a browser",
}
"""Hints for files that are not worlds, by suffix."""


def show_of(
    target: str, seed: int, driving: VehicleRun, reading: WorldReading, *, quiet: bool
) -> tuple[str, Show]:
    """Show of a demo, a vehicle or a world file, and the base name of its output files."""
    if target in demo.DEMOS:
        refuse(driving._asdict(), "a vehicle")
        refuse(reading._asdict(), "a world file")
        return target, demo.DEMOS[target].show(seed)
    if is_vehicle(target):
        from ..demo.following import vehicle_show
        from ..study.named_code import vehicle_by_text

        refuse(reading._asdict(), "a world file")
        show = vehicle_show(vehicle_by_text(target), seed, **driving._asdict())
        return target.replace(":", "_"), show
    file = Path(target)
    if not file.is_file():
        raise InvalidValue(_unknown(target))
    if other := _OTHERS.get(file.suffix):
        raise InvalidValue(f"{target} is {other.format(target)}")
    refuse(driving._asdict(), "a vehicle")
    return file.name.split(".")[0], _world(file, seed, reading, quiet)


def _world(file: Path, seed: int, reading: WorldReading, quiet: bool) -> Show:
    """World read from a file; each element that is not simulated is noted on stderr."""
    from ..demo.shows import WorldShow
    from ..world.scene import WorldWarning
    from ..world.world import World
    from ..world.xml.markup import in_brief
    from . import sheets
    from .sheets import Console

    scene = reading.load(file, seed=seed)
    with caught_texts(WorldWarning) as later:
        world = World(scene, seed=seed, on_diverge="raise")
    console = Console(stderr=True, soft_wrap=True, quiet=quiet)
    for line in sheets.notes([*in_brief(scene.warnings, scene.file), *later, *_idle(world)]):
        console.print(line)
    return WorldShow(world)


def _idle(world: World) -> list[str]:
    """Sentence that names the vehicles without a command source, which stand still."""
    idle = world.uncommanded
    if not idle:
        return []
    names = ", ".join(idle[:12]) + (f" and {len(idle) - 12} more" if len(idle) > 12 else "")
    stays = "it stays where it is unless something pushes it"
    if len(idle) > 1:
        stays = "they stay where they are unless something pushes them"
    return [
        f"nothing commands {names}: {stays}. A file "
        "commands with <V>, <W> in a <controller> or with a trajectory, Python with "
        "world.vehicles[name].command(...), skidpad serve with keys"
    ]


def _unknown(target: str) -> str:
    path = Path(target)
    if path.is_dir():
        return f"{target} is a folder; skidpad run takes a world file in it"
    if path.exists():
        regular_file(path)
    if path.suffix or path.name != target:
        takes = "skidpad run takes world files (.xml), vehicles and demos"
        missing = "" if path.parent.is_dir() else f", nor the folder {path.parent}"
        return f"there is no file {target}{missing}; {takes}"
    close = difflib.get_close_matches(target, [*demo.DEMOS, *vehicle_names()], n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return (
        f"there is no demo, vehicle or world file {target!r}; {hint}"
        f"demos are {', '.join(demo.DEMOS)}; skidpad models lists the vehicles"
    )


File = Annotated[Path, Argument(help="World file: an .xml file of MVSim's format.")]


def check(file: File, *, reading: WorldReading, json: AsJson = False) -> None:
    """Report all errors in a world file; exit code 1 if there are any.

    Notes on unknown or unsupported elements do not change the exit code.
    """
    from ..world.xml.reader import review
    from . import sheets

    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a world file is expected")
    if not file.exists():
        raise InvalidValue(f"there is no file {file}")
    regular_file(file)
    errors, notes, scene = review(file, **reading.options())
    problems: list[SkidpadError] = list(errors)
    if scene is not None:
        more, later = _built(scene)
        problems, notes = [*problems, *more], (*notes, *later)
    usable = None if problems else scene
    if json:  # docs/cli.md lists the keys
        print_json(
            {
                **{"schema": "check/1", "file": str(file), "ok": usable is not None},
                **{"problems": list(map(_problem, problems)), "notes": list(notes)},
                "counts": None if usable is None else scene_counts(usable),
                "timestep": None if usable is None else usable.timestep,
            }
        )
    else:
        console = sheets.Console(soft_wrap=True)
        for problem in problems:
            console.print(sheets.Text(str(problem), "red"))
        if usable is None:
            typer.echo(f"{file}: {counted(len(problems), 'problem')}")
        else:
            parts = [counted(n, kind) for kind, n in scene_counts(usable).items() if n]
            about = ", ".join(parts) or "an empty world"
            typer.echo(f"{file}: {about}, step {usable.timestep * 1e3:g} ms")
        for line in sheets.notes(notes):
            console.print(line)
    if problems:
        raise typer.Exit(1)


def _built(scene: Scene) -> tuple[list[SkidpadError], list[str]]:
    """Errors and warnings that only appear when the world is built."""
    from ..world.scene import WorldWarning
    from ..world.world import World

    problems: list[SkidpadError] = []
    with caught_texts(WorldWarning) as caught:
        try:
            World(scene)
        except MissingExtra as error:
            return [], [f"not built: {error}"]
        except SkidpadError as error:
            problems.append(error)
    return problems, caught


def _problem(error: SkidpadError) -> dict[str, Any]:
    from ..world.scene import WorldError

    place, message, element = None, str(error), None
    if isinstance(error, WorldError):
        place, message, element = error.source, error.message, error.element or None
    where = {name: getattr(place, name, None) for name in ("file", "line", "column")}
    return {"message": message, **where, "element": element}


def scene_counts(scene: Scene) -> dict[str, int]:
    """Number of elements of each kind in a scene, by name of the kind."""
    kinds = ("vehicle", "block", "wall", "element", "joint", "actor", "sensor")
    counts = {kind: len(getattr(scene, f"{kind}s")) for kind in kinds}
    counts["sensor"] += sum(len(vehicle.sensors) for vehicle in scene.vehicles)
    return counts


def serve(
    world: Annotated[Path | None, Argument()] = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    rate: float = 60.0,
    factor: float = 1.0,
    record: Path | None = None,
    no_browser: bool = False,
    seed: int = 0,
    *,
    reading: WorldReading,
) -> None:
    """Show a world live in the browser: watch it, drive it, change it; Ctrl-C ends it.

    Args:
        world: World file; without one, a car on a track of cones with things to push.
        host: Address to listen on.
        port: Port to listen on; by default 8000 or the next free one.
        token: Access token for viewers; generated if others can reach the host.
        rate: Frames per second sent to each viewer.
        factor: Ratio of simulation speed to real time.
        record: Record to this file from the start.
        no_browser: Print the address without opening a browser.
        seed: Seed of all random numbers.
    """
    from ..view.live.messages import FACTORS, RATES
    from ..view.live.server import PORT, LiveServer, has_display
    from ..view.live.session import Session

    for name, value, allowed in (("factor", factor, FACTORS), ("rate", rate, RATES)):
        if not isfinite(value) or value not in allowed:
            raise InvalidValue(f"--{name} {value:g} must be {allowed}")
    check_port(port)
    if token == "":
        raise InvalidValue("--token must not be empty")
    require_extras("viewer", "world", purpose="skidpad serve")
    session = Session(_arena(world, seed, reading), rate=rate, factor=factor, record=record)
    server = LiveServer(session, host=host, port=port, token=token)
    if port is None and server.port != PORT:
        _say(f"port {PORT} is in use; using {server.port}")
    _say(f"skidpad is at {server.url}  (Ctrl-C ends it)")
    if not no_browser and has_display():
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        session.stop()
    if session.news:
        _say(session.news)


def _arena(file: Path | None, seed: int, reading: WorldReading) -> Arena:
    """Arena with the world of a file, or the playground; notes unsupported elements on stderr."""

    from ..view.live.arena import Arena, playground
    from ..world.scene import WorldWarning
    from ..world.xml.markup import in_brief

    if file is None:
        play = playground()
        return Arena(play.scene, seed=seed, lines=play.lines, starts=play.starts, title=play.title)
    scene = reading.load(file, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        arena = Arena(scene, seed=seed)
    for line in in_brief(scene.warnings, scene.file):
        sys.stderr.write(f"note: {line}\n")
    return arena


def _say(text: str) -> None:
    typer.echo(text)
    sys.stdout.flush()


ros2 = typer.Typer(
    name="ros2",
    help="Nodes of ROS 2, whether or not ROS is installed here; --ros-args as usual.",
    no_args_is_help=True,
)


class Running(NamedTuple):
    """Options for running a node.

    Args:
        middleware: Middleware of the messages: auto, cyclonedds, zenoh or rclpy.
        record: Write all published and received messages to a rosbag2 in this folder.
        lock_step: Advance only when a command or a call of ~/step arrives.
        package [NAME=FOLDER]: Folder that $(find-pkg-share NAME) expands to.
    """

    middleware: str = "auto"
    record: Path | None = None
    lock_step: bool = False
    package: list[str] | None = None

    def run(self, context: typer.Context, *node: Any, **options: Any) -> None:
        """Run a node with the remaining ROS arguments of the command line and these options."""
        from ..ros2.loop import Launch

        folders = split_pairs(self.package, "--package {!r} must be NAME=FOLDER")
        for name, folder in folders:
            if not Path(folder).is_dir():
                text = f"{name}={folder}"
                raise InvalidValue(f"--package {text!r}: there is no folder {folder}")
        launch = Launch(
            ros_arguments=tuple(context.args),
            middleware=self.middleware,
            packages={name: Path(folder) for name, folder in folders},
            record=self.record,
            lock_step=self.lock_step,
        )
        launch.run(*node, **options)


_TAKING_ALL = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Typer settings that let ROS arguments follow the options of a command."""
node_command = command_of(ros2, context_settings=_TAKING_ALL)


@node_command
def planning(
    context: typer.Context,
    names: str | None = None,
    converter: bool = True,
    allow_import: bool = False,
    seed: int | None = None,
    compat: Compat = None,
    *,
    running: Running,
) -> None:
    """Run the counterpart of Autoware's simple_planning_simulator.

    Args:
        names: Topic names of Autoware's launch file: full_motion or pose_only; by default the
            node's internal names.
        converter: Let models with pedals accept control commands, which are converted to pedal
            positions.
        allow_import: Allow parameters to name Python modules of learned models, which are imported.
        seed: Seed of the noise; drawn if not given.
    """
    from ..ros2.nodes.planning import NAME, NAMESPACE, Planning

    how: Any = {"compat": compat, "seed": seed, "motion_publish_mode": names}
    program = partial(Planning, convert=converter, allow_import=allow_import, **how)
    running.run(context, NAME, program, simulates_time=False, namespace=NAMESPACE)


@node_command
def truck(context: typer.Context, compat: Compat = None, *, running: Running) -> None:
    """Run the counterpart of the node `simulator_2d` of robotics-laboratory/truck."""
    from ..ros2.nodes.truck import NAME, Truck

    running.run(context, NAME, lambda node: Truck(node, compat=compat), simulates_time=True)


@node_command
def brains2(context: typer.Context, compat: Compat = None, *, running: Running) -> None:
    """Run the counterpart of brains2's sim_node: a Formula Student car on a track of cones."""
    from ..ros2.nodes.brains2 import NAME, Brains2

    running.run(context, NAME, lambda node: Brains2(node, compat=compat), simulates_time=False)


@node_command
def world(
    context: typer.Context,
    file: Annotated[Path | None, Argument()] = None,
    page: bool = False,
    port: int | None = None,
    seed: int = 0,
    *,
    reading: WorldReading,
    running: Running,
) -> None:
    """Run the counterpart of MVSim's node: a world of robots, ready for Nav2.

    Args:
        file: World file; by default the file that the parameter world_file names.
        page: Show the world live in a browser, to watch.
        port: Port of the page; 8000 or the next free one.
        seed: Seed of all random numbers.
    """
    from ..ros2.nodes.world import page_of, program

    check_port(port)
    options = reading.options()
    running.run(
        context,
        "mvsim",
        lambda node: program(node, file, seed=seed, **options),
        simulates_time=True,
        page=(lambda node: page_of(node, port=port)) if page else None,
    )


@node_command
def vehicle(
    context: typer.Context,
    name: Annotated[str, Argument(autocompletion=vehicle_choices)],
    compat: Compat = None,
    *,
    running: Running,
) -> None:
    """Run a node for any vehicle, with its inputs and states as topics.

    Args:
        name: Vehicle name, as listed by `skidpad models`.
    """
    from ..ros2.nodes.vehicle import SingleVehicle
    from ..study.named_code import is_own, vehicle_by_text

    with warnings_as_notes():
        own = vehicle_by_text(name) if is_own(name) else name
    plain = name.rpartition(":")[2]
    running.run(
        context, plain, lambda node: SingleVehicle(node, own, compat=compat), simulates_time=False
    )


@command_of(ros2)
def interfaces(folder: Path, names: Annotated[list[str] | None, Argument()] = None) -> None:
    """Write a ROS 2 package with the message types of vehicles, to be built by colcon.

    Args:
        folder: Folder in which the package skidpad_msgs is created.
        names: Names of vehicles; by default all listed vehicles.
    """
    from ..ros2.nodes.common import write_package
    from ..vehicles import registry

    files = write_package(folder, [registry.get(name)() for name in names or registry.names()])
    typer.echo(f"wrote {len(files)} files to {files[0].parents[1]}")
