"""`skidpad ros2 NODE`: nodes of ROS 2 that stand in for those of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidValue
from .completion import vehicle_names
from .serve import must_be_port
from .world import Compat, Download, Limit, ModelFolder, Shell, Variables, reading_options

if TYPE_CHECKING:
    from ..ros2.launch import Launch

ros2 = typer.Typer(
    name="ros2",
    help="Nodes of ROS 2, whether or not ROS is installed here; --ros-args as usual.",
    no_args_is_help=True,
)

Middleware = Annotated[
    str,
    typer.Option(help="What carries the messages: auto, cyclonedds, zenoh or rclpy."),
]
Record = Annotated[
    Path | None,
    typer.Option(help="Write everything published and heard to a rosbag2 in this folder."),
]
LockStep = Annotated[
    bool,
    typer.Option("--lock-step", help="Advance only when a command or a call of ~/step arrives."),
]
Packages = Annotated[
    list[str] | None,
    typer.Option(
        "--package", metavar="NAME=FOLDER", help="What $(find-pkg-share NAME) stands for."
    ),
]


def _launch(
    context: typer.Context,
    middleware: str,
    record: Path | None,
    lock_step: bool,
    packages: list[str] | None,
) -> Launch:
    from ..ros2.launch import Launch

    return Launch(
        ros_arguments=tuple(context.args),
        middleware=middleware,
        packages=dict(map(_package, packages or ())),
        record=record,
        lock_step=lock_step,
    )


def _package(text: str) -> tuple[str, Path]:
    name, parted, folder = text.partition("=")
    if not (parted and name and folder):
        raise InvalidValue(f"--package {text!r} must be NAME=FOLDER")
    if not Path(folder).is_dir():
        raise InvalidValue(f"--package {text!r}: there is no folder {folder}")
    return name, Path(folder)


_TAKING_ALL: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Behind the options that a command knows, those of ROS may stand."""


@ros2.command(context_settings=_TAKING_ALL)
def planning(
    context: typer.Context,
    names: Annotated[
        str | None,
        typer.Option(
            help="Topics named as by Autoware's launch file: full_motion or pose_only; else as the "
            "node itself has them."
        ),
    ] = None,
    converter: Annotated[
        bool,
        typer.Option(help="Models with pedals take control commands, as behind the converter."),
    ] = True,
    allow_import: Annotated[
        bool, typer.Option("--allow-import", help="Let parameters name modules of learned models.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of the noise; drawn if not given.")] = None,
    compat: Compat = None,
    middleware: Middleware = "auto",
    record: Record = None,
    lock_step: LockStep = False,
    package: Packages = None,
) -> None:
    """Autoware's simple_planning_simulator."""
    from ..ros2.nodes.planning import NAME, NAMESPACE, Planning

    def program(node: Any) -> Planning:
        return Planning(
            node,
            compat=compat,
            seed=seed,
            motion_publish_mode=names,
            convert=converter,
            allow_import=allow_import,
        )

    launch = _launch(context, middleware, record, lock_step, package)
    launch.run(NAME, program, simulates_time=False, namespace=NAMESPACE)


@ros2.command(context_settings=_TAKING_ALL)
def truck(
    context: typer.Context,
    compat: Compat = None,
    middleware: Middleware = "auto",
    record: Record = None,
    lock_step: LockStep = False,
    package: Packages = None,
) -> None:
    """The simulator of truck."""
    from ..ros2.nodes.truck import NAME, Truck

    launch = _launch(context, middleware, record, lock_step, package)
    launch.run(NAME, lambda node: Truck(node, compat=compat), simulates_time=True)


@ros2.command(context_settings=_TAKING_ALL)
def brains2(
    context: typer.Context,
    compat: Compat = None,
    middleware: Middleware = "auto",
    record: Record = None,
    lock_step: LockStep = False,
    package: Packages = None,
) -> None:
    """The sim_node of brains2: a Formula Student car among cones."""
    from ..ros2.nodes.brains2 import NAME, Brains2

    launch = _launch(context, middleware, record, lock_step, package)
    launch.run(NAME, lambda node: Brains2(node, compat=compat), simulates_time=False)


@ros2.command(context_settings=_TAKING_ALL)
def world(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(help="World file; or the parameter world_file names it."),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Show the world live in a browser, to watch.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(help="Of the page; 8000 or the next free one.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    compat: Compat = None,
    variables: Variables = None,
    limit: Limit = None,
    allow_shell: Shell = False,
    allow_download: Download = False,
    models: ModelFolder = None,
    middleware: Middleware = "auto",
    record: Record = None,
    lock_step: LockStep = False,
    package: Packages = None,
) -> None:
    """MVSim's node: a world of robots, ready for Nav2."""
    from ..ros2.nodes.world import page_of, program

    must_be_port(port)
    options = reading_options(compat, variables, limit, allow_shell, allow_download, models)
    launch = _launch(context, middleware, record, lock_step, package)
    launch.run(
        "mvsim",
        lambda node: program(node, file, seed=seed, **options),
        simulates_time=True,
        page=(lambda running: page_of(running, port=port)) if page else None,
    )


@ros2.command(context_settings=_TAKING_ALL)
def vehicle(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="A vehicle that `skidpad models` lists.", autocompletion=vehicle_names),
    ],
    compat: Compat = None,
    middleware: Middleware = "auto",
    record: Record = None,
    lock_step: LockStep = False,
    package: Packages = None,
) -> None:
    """Any vehicle: its inputs and states as topics."""
    from ..ros2.nodes.vehicle import SingleVehicle
    from ..study.named_code import is_own, vehicle_by_text

    own = vehicle_by_text(name) if is_own(name) else name
    launch = _launch(context, middleware, record, lock_step, package)
    plain = name.rpartition(":")[2]
    launch.run(plain, lambda node: SingleVehicle(node, own, compat=compat), simulates_time=False)


@ros2.command()
def interfaces(
    folder: Annotated[Path, typer.Argument(help="Where the package skidpad_msgs goes.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Vehicles; all that are listed if none is named.")
    ] = None,
) -> None:
    """Write a package of ROS 2 with the message types of vehicles, for colcon."""
    from ..ros2.nodes.common import write_package
    from ..vehicles.registry import get
    from ..vehicles.registry import names as listed

    files = write_package(folder, [get(name)() for name in names or listed()])
    typer.echo(f"wrote {len(files)} files to {files[0].parents[1]}")
