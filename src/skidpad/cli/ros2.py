"""`skidpad ros2 NODE`: nodes of ROS 2 that stand in for those of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidValue

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
    typer.Option("--package", help="NAME=FOLDER: what $(find-pkg-share NAME) stands for."),
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


def _command(function: Any) -> Any:
    """Behind the options that a command knows, those of ROS may stand."""
    taking_all = {"allow_extra_args": True, "ignore_unknown_options": True}
    return ros2.command(context_settings=taking_all)(function)
