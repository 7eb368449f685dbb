"""Several runs beside each other: under which names, in which columns, and how far apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...trajectory.interpolation import interpolated, is_heading, slack, snapped
from ...trajectory.trajectory import Trajectory

Align = Literal["time", "start"]
USUAL = ("v_x", "v_y", "v", "a_x", "a_y", "omega", "steer", "beta")
"""Columns shown when none are named, as far as all runs have them."""
MOST_USUAL = 6


class Difference(NamedTuple):
    """How far a run is from the reference in one column."""

    t: Array
    """The reference's times that lie within the run, in s."""
    values: Array
    """The run's value less the reference's, in SI units; headings the short way."""


def aligned(
    runs: Sequence[Trajectory], names: Sequence[str] | None, align: str
) -> dict[str, Trajectory]:
    """The runs by the names they are shown under, with their times aligned."""
    if len(runs) < 2:
        raise InvalidValue(f"compare takes at least 2 trajectories, got {len(runs)}")
    if align not in get_args(Align):
        raise InvalidValue(f"align = {align!r} is unknown; allowed are 'time', 'start'")
    named_runs = run_names(runs, names)
    if align == "time":
        return named_runs
    return {name: run.starting_at(0.0) for name, run in named_runs.items()}


def run_names(runs: Sequence[Trajectory], names: Sequence[str] | None) -> dict[str, Trajectory]:
    """The runs by the names they are shown under: their own, numbered where these are the same."""
    if not runs:
        raise InvalidValue("no trajectory is given")
    own = [run.name or f"run {k + 1}" for k, run in enumerate(runs)] if names is None else names
    if len(own) != len(runs):
        raise InvalidValue(f"names = {list(own)}: {len(own)} names for {len(runs)} trajectories")
    if len(set(own)) < len(own):
        if names is not None:
            raise InvalidValue(f"names = {list(own)} must differ")
        own = [f"{name} {k + 1}" for k, name in enumerate(own)]
    return dict(zip(own, runs, strict=True))


def common_columns(runs: Mapping[str, Trajectory], columns: Sequence[str] | None) -> list[str]:
    """The columns to show; raises for one that a run does not have or has in another unit."""
    for name in () if columns is None else columns:
        for label, run in runs.items():
            if name not in run:
                raise InvalidValue(
                    f"{label!r} has no column {name!r}; it has {', '.join(run.names)}"
                )
    names = USUAL if columns is None else columns
    shown = [name for name in names if all(name in run for run in runs.values())]
    for name in shown:
        symbols = {label: run.unit(name).symbol for label, run in runs.items()}
        if len(set(symbols.values())) > 1:
            said = ", ".join(f"{symbol} in {label!r}" for label, symbol in symbols.items())
            raise InvalidValue(f"column {name!r} has different units: {said}")
    if not shown:
        raise InvalidValue(
            "the trajectories have no column in common: name some with columns=, or give vehicle="
        )
    return shown[:MOST_USUAL] if columns is None else shown


def difference(run: Trajectory, reference: Trajectory, name: str) -> Difference:
    """A column of a run less that of the reference, at the reference's times within both."""
    rounding = max(slack(run.t), slack(reference.t))
    first, last = run.t[0] - rounding, run.t[-1] + rounding
    inside = (reference.t >= first) & (reference.t <= last)
    t = reference.t[inside]
    if not t.size:
        return Difference(t, np.empty(0))
    moments = np.clip(snapped(run.t, t), run.t[0], run.t[-1])
    column = run.column(name)
    values = interpolated(column, run.t, moments) - reference[name][inside]
    if is_heading(column):
        values = values - 2.0 * np.pi * np.rint(values / (2.0 * np.pi))
    return Difference(t, values)
