"""`skidpad demo`: the Formula Student car drives the figure of eight of the skidpad.

A driver written in Python steers one car in a `Simulator`; then the same function, compiled
together with the car, drives a `Fleet` of cars with different grip.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidValue

LAPS = 4
A_LATERAL = 1.1 * 9.81
"""Lateral acceleration that the driver aims at on the circles, in m/s². The tyres hold 1.7 g."""
CARS = 256
LEAST_GRIP = 0.5
"""Friction of the last car of the fleet, as a share of the standard tyre's."""


def main(out: Path) -> None:
    """Run the demo, print what happened and write a plot and a recording into the folder `out`."""
    from rich.console import Console

    from . import report
    from .drive import drive, summary
    from .sweep import sweep

    folder = _folder(out)
    console = Console()
    run = drive(LAPS, A_LATERAL)
    console.print(report.run_table(summary(run)))
    console.print(report.sweep_table(sweep(CARS, LEAST_GRIP, A_LATERAL)))
    plot, recording = folder / "figure_of_eight.png", folder / "figure_of_eight.parquet"
    run.trajectory.plot(plot, title="Formula Student car on the skidpad")
    run.trajectory.to_parquet(recording)
    files = (("plot", plot), ("recording", recording))
    # soft_wrap: a path is to be copied, so it is never broken into lines.
    console.print(report.files_note(files), soft_wrap=True)


def _folder(out: Path) -> Path:
    """The folder, made if it does not exist."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write into {out}: {error.strerror}") from error
    return out
