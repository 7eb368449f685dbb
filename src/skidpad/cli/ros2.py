"""`skidpad ros2 NODE`: nodes of ROS 2 that replace those of other programs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer import Argument

from ..errors import InvalidValue
from .options import Compat, WorldReading, check_port, command_of, split_pairs, vehicle_choices
from .output import warnings_as_notes

ros2 = typer.Typer(
    name="ros2",
    help="Nodes of ROS 2, whether or not ROS is installed here; --ros-args as usual.",
    no_args_is_help=True,
)


class Running(NamedTuple):
    """Options for running a node.

    Args:
        middleware: What carries the messages: auto, cyclonedds, zenoh or rclpy.
        record: Write everything published and heard to a rosbag2 in this folder.
        lock_step: Advance only when a command or a call of ~/step arrives.
        package [NAME=FOLDER]: What $(find-pkg-share NAME) stands for.
    """

    middleware: str = "auto"
    record: Path | None = None
    lock_step: bool = False
    package: list[str] | None = None

    def run(self, context: typer.Context, *node: Any, **options: Any) -> None:
        """Run a node with the arguments of `Launch.run` and those of ROS."""
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
    """Autoware's simple_planning_simulator.

    Args:
        names: Topics named as by Autoware's launch file: full_motion or pose_only; else as the node
            itself has them.
        converter: Models with pedals take control commands, as behind the converter.
        allow_import: Let parameters name modules of learned models.
        seed: Of the noise; drawn if not given.
    """
    from ..ros2.nodes.planning import NAME, NAMESPACE, Planning

    how: Any = {"compat": compat, "seed": seed, "motion_publish_mode": names}
    program = partial(Planning, convert=converter, allow_import=allow_import, **how)
    running.run(context, NAME, program, simulates_time=False, namespace=NAMESPACE)


@node_command
def truck(context: typer.Context, compat: Compat = None, *, running: Running) -> None:
    """The node `simulator_2d` of robotics-laboratory/truck."""
    from ..ros2.nodes.truck import NAME, Truck

    running.run(context, NAME, lambda node: Truck(node, compat=compat), simulates_time=True)


@node_command
def brains2(context: typer.Context, compat: Compat = None, *, running: Running) -> None:
    """The sim_node of brains2: a Formula Student car among cones."""
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
    """MVSim's node: a world of robots, ready for Nav2.

    Args:
        file: World file; or the parameter world_file names it.
        page: Show the world live in a browser, to watch.
        port: Of the page; 8000 or the next free one.
        seed: Of all random numbers.
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
    """Any vehicle: its inputs and states as topics.

    Args:
        name: A vehicle that `skidpad models` lists.
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
    """Write a package of ROS 2 with the message types of vehicles, for colcon.

    Args:
        folder: Where the package skidpad_msgs goes.
        names: Vehicles; all that are listed if none is named.
    """
    from ..ros2.nodes.common import write_package
    from ..vehicles import registry

    files = write_package(folder, [registry.get(name)() for name in names or registry.names()])
    typer.echo(f"wrote {len(files)} files to {files[0].parents[1]}")
