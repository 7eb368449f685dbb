"""Energy: a vehicle that nothing drives does not gain kinetic energy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..units import Unit
from .names import is_effort, tokens
from .subject import DT, NotApplicable, Point, Subject
from .symbolic import arguments, column, symbols

TOLERANCE = 1e-11
"""Rounding, relative to the sum of the powers that cancel."""


def energy(subject: Subject) -> list[str]:
    """Power at random states with the drive off, wherever all wheels press on the road."""
    if subject.model.energy is None:
        raise NotApplicable("the model gives no energy function")
    points = _on_the_road(subject, [_undriven(subject, point) for point in subject.calm_points])
    if not points:
        return ["no sampled state has all wheel loads positive, so nothing could be checked"]
    gained, rounding = _power(subject, points)
    # Not "greater than": NaN is a fault too.
    wrong = np.flatnonzero(~(gained <= TOLERANCE * rounding))
    return [
        f"with no drive, energy grows by {gained[i]:.6g} W at {points[i].x}, input {points[i].u}"
        for i in wrong[:3]
    ]


def _undriven(subject: Subject, point: Point) -> Point:
    """The point with torques, forces and commanded accelerations at zero; steering stays."""

    def without(value: Any, drives: Callable[[Unit], bool]) -> list[float]:
        leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
        return [0.0 if drives(leaf.unit) else float(number) for leaf, number in leaves]

    state = without(point.x, is_effort)
    # Of the inputs only angles and their rates do no work on the body by themselves.
    command = without(point.u, lambda unit: not unit.symbol.startswith("rad"))
    return subject.point(state, command)


def _on_the_road(subject: Subject, points: list[Point]) -> list[Point]:
    names = record.names(subject.model.Outputs)
    loads = [j for j, name in enumerate(names) if tokens(name)[:2] == ("F", "z")]
    if not loads:
        return points
    table = subject.outputs(points)[:, loads]
    return [point for point, row in zip(points, table, strict=True) if min(row) > 0.0]


def _power(subject: Subject, points: list[Point]) -> tuple[Array, Array]:
    """Rate of change of energy at each point, and the size of the terms it is the sum of, in W."""
    model = subject.model
    assert model.energy is not None
    if not model.continuous:
        before = np.array([model.energy(point.x, subject.params) for point in points], dtype=float)
        rates = subject.rates(points)
        now = np.array([record.flatten(point.x) for point in points], dtype=float)
        after = [
            model.energy(record.unflatten(model.State, row.tolist()), subject.params)
            for row in now + DT * rates
        ]
        return (np.array(after, dtype=float) - before) / DT, (before + np.abs(after)) / DT
    return _continuous_power(subject, points)


def _continuous_power(subject: Subject, points: list[Point]) -> tuple[Array, Array]:
    import casadi

    model = subject.model
    assert model.energy is not None
    symbol = symbols(subject)
    x, _, _, p = symbol.records
    slope = casadi.gradient(casadi.SX(model.energy(x, p)), symbol.columns[0])
    terms = slope * column(subject.rate(*symbol.records))
    function = casadi.Function("power", list(symbol.columns), [terms])
    table = np.array([np.asarray(function(*arguments(subject, q))).ravel() for q in points])
    return table.sum(axis=1), np.abs(table).sum(axis=1)
