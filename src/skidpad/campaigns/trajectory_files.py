"""Chosen runs of a campaign as whole trajectories, a file each."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..brief import listed
from ..errors import InvalidValue
from ..trajectory.trajectory import Trajectory
from .places import Place

TRAJECTORIES = "trajectories"
_NAME = re.compile(r"run-(\d{12,18})\.parquet")


def write_trajectory(place: Place, run: int, trajectory: Trajectory) -> None:
    """Keep a run, whole or not at all."""
    with tempfile.TemporaryDirectory(prefix="skidpad-") as folder:
        path = Path(folder) / "run.parquet"
        trajectory.to_parquet(path)
        place.write(_file(run), path.read_bytes())


def read_trajectory(place: Place, run: int) -> Trajectory:
    """A run that was kept; raises for any other, with those that were."""
    runs = kept_runs(place)
    if run not in runs:
        kept = listed([str(number) for number in runs]) or "none"
        raise InvalidValue(f"run = {run} was not kept as a trajectory; kept are {kept}")
    name = _file(run)
    if isinstance(place.path, Path):
        return Trajectory.from_parquet(place.path / name)
    with tempfile.TemporaryDirectory(prefix="skidpad-") as folder:
        path = Path(folder) / "run.parquet"
        path.write_bytes(place.read(name))
        try:
            return Trajectory.from_parquet(path)
        except InvalidValue as error:
            raise InvalidValue(str(error).replace(str(path), place.shown(name))) from error


def remove_trajectory(place: Place, run: int) -> None:
    """Keep a run no longer."""
    place.remove(_file(run))


def kept_runs(place: Place) -> tuple[int, ...]:
    """Numbers of the runs that were kept, in order."""
    runs = map(run_of, place.sizes(TRAJECTORIES))
    return tuple(sorted(run for run in runs if run is not None))


def unreadable(place: Place) -> Iterator[tuple[str, int, str]]:
    """Names, sizes and reasons of files that are not the trajectories that they should be."""
    for name, size in place.sizes(TRAJECTORIES).items():
        run = run_of(name)
        try:
            if run is not None:
                read_trajectory(place, run)
        except InvalidValue as error:
            if place.exists(_file(run or 0)):
                yield name, size, " ".join(str(error).split())


def run_of(name: str) -> int | None:
    """The run of a file of this name; None if it is none of a trajectory."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def _file(run: int) -> str:
    return f"{TRAJECTORIES}/run-{run:012d}.parquet"
