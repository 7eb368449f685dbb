"""`skidpad ros2 NODE`: nodes of ROS 2 that stand in for those of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..errors import InvalidValue
from .completion import vehicle_names
from .options import Compat, WorldReading, check_port, split_pairs, with_groups

ros2 = typer.Typer(
    name="ros2",
    help="Nodes of ROS 2, whether or not ROS is installed here; --ros-args as usual.",
    no_args_is_help=True,
)


class Running(NamedTuple):
    """How a node is run."""

    middleware: Annotated[
        str, typer.Option(help="What carries the messages: auto, cyclonedds, zenoh or rclpy.")
    ] = "auto"
    record: Annotated[
        Path | None,
        typer.Option(help="Write everything published and heard to a rosbag2 in this folder."),
    ] = None
    lock_step: Annotated[
        bool,
        typer.Option(
            "--lock-step", help="Advance only when a command or a call of ~/step arrives."
        ),
    ] = False
    package: Annotated[
        list[str] | None,
        typer.Option(
            "--package", metavar="NAME=FOLDER", help="What $(find-pkg-share NAME) stands for."
        ),
    ] = None

    def run(self, context: typer.Context, *node: Any, **options: Any) -> None:
        """Run a node, whose arguments are those of `Launch.run`, with those of ROS."""
        from ..ros2.launch import Launch

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


_TAKING_ALL: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Behind the options that a command knows, those of ROS may stand."""


@ros2.command(context_settings=_TAKING_ALL)
@with_groups
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
    *,
    running: Running,
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

    running.run(context, NAME, program, simulates_time=False, namespace=NAMESPACE)


@ros2.command(context_settings=_TAKING_ALL)
@with_groups
def truck(context: typer.Context, compat: Compat = None, *, running: Running) -> None:
    """The node `simulator_2d` of robotics-laboratory/truck."""
    from ..ros2.nodes.truck import NAME, Truck

    running.run(context, NAME, lambda node: Truck(node, compat=compat), simulates_time=True)


@ros2.command(context_settings=_TAKING_ALL)
@with_groups
def brains2(context: typer.Context, compat: Compat = None, *, running: Running) -> None:
    """The sim_node of brains2: a Formula Student car among cones."""
    from ..ros2.nodes.brains2 import NAME, Brains2

    running.run(context, NAME, lambda node: Brains2(node, compat=compat), simulates_time=False)


@ros2.command(context_settings=_TAKING_ALL)
@with_groups
def world(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="World file; or the parameter world_file names it.")
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Show the world live in a browser, to watch.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(help="Of the page; 8000 or the next free one.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    *,
    reading: WorldReading,
    running: Running,
) -> None:
    """MVSim's node: a world of robots, ready for Nav2."""
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


@ros2.command(context_settings=_TAKING_ALL)
@with_groups
def vehicle(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="A vehicle that `skidpad models` lists.", autocompletion=vehicle_names),
    ],
    compat: Compat = None,
    *,
    running: Running,
) -> None:
    """Any vehicle: its inputs and states as topics."""
    from ..ros2.nodes.vehicle import SingleVehicle
    from ..study.named_code import is_own, vehicle_by_text
    from .output import warnings_as_notes

    with warnings_as_notes():
        own = vehicle_by_text(name) if is_own(name) else name
    plain = name.rpartition(":")[2]
    running.run(
        context, plain, lambda node: SingleVehicle(node, own, compat=compat), simulates_time=False
    )


@ros2.command()
def interfaces(
    folder: Annotated[Path, typer.Argument(help="Where the package skidpad_msgs goes.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Vehicles; all that are listed if none is named.")
    ] = None,
) -> None:
    """Write a package of ROS 2 with the message types of vehicles, for colcon."""
    from ..ros2.nodes.common import write_package
    from ..vehicles import registry

    files = write_package(folder, [registry.get(name)() for name in names or registry.names()])
    typer.echo(f"wrote {len(files)} files to {files[0].parents[1]}")
