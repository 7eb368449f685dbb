"""What a page knows about its vehicle besides the module: names, units, ranges, where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ... import record
from ...export.exported import Exported
from ...run.delay_line import DelayLine
from ...shared_arrays import ArrayNumber
from ...stage.layout import Named, named_channels
from ..live.tunables import known_tunables
from .places import Place
from .programs import steering_states

SHOWN = 120.0
"""Rows a second that are drawn at most: what screens show. Recordings have every step."""


def vehicle_description(exported: Exported, place: Place) -> dict[str, Any]:
    """How the vehicle is stepped and what its numbers mean, as JSON values."""
    vehicle, model = exported.vehicle, exported.model
    line = DelayLine.of(model, vehicle.params, exported.dt)
    named = [one for part in named_channels(model) for one in part]
    return {
        "name": place.name,
        "model": vehicle.name,
        "dt": exported.dt,
        "substeps": exported.substeps,
        "integrator": exported.method.name if model.continuous else "update",
        "tolerance": exported.settings.tolerance,
        "shown_every": max(1, round(1.0 / (SHOWN * exported.dt))),
        "start": _numbers(record.flatten(place.start)),
        "settled": _numbers(record.flatten(place.settled)),
        "input": _numbers(record.flatten(record.build(vehicle.Input))),
        "disturbance": _numbers(record.flatten(record.build(model.Disturbance))),
        "params": _numbers(record.flatten(vehicle.params)),
        "delays": [] if line is None else [list(pair) for pair in line.channels],
        "state_names": list(record.names(vehicle.State)),
        "steering": steering_states(vehicle),
        "ends": [[name, size, what] for name, (size, what) in model.ends.items()],
        "heads": [_head(one) for one in (Named("t", "s", "state"), *named)],
        "tunables": tunables_of(exported),
        "fields": parameter_fields(exported),
        "parts": touching_parts(exported),
    }


def tunables_of(exported: Exported) -> list[dict[str, Any]]:
    """The parameters with sliders, as the live page has them."""
    values = record.flatten(exported.vehicle.params)
    known = known_tunables(exported.model.Params, values)
    return [
        {**one.describe(float(values[one.column])), "column": one.column} for one in known.values()
    ]


def parameter_fields(exported: Exported) -> list[dict[str, Any]]:
    """All parameters that can be changed, with ranges; null where there is no end.

    Dead times are none of them: the queue of commands has its length from the start.
    """
    delays = set(exported.model.dead_times.values())
    values = record.flatten(exported.vehicle.params)
    fields: list[dict[str, Any]] = []
    for column, leaf in enumerate(record.fields(exported.model.Params)):
        if leaf.name in delays or isinstance(values[column], ArrayNumber):
            continue
        entry: dict[str, Any] = {"name": leaf.name, "unit": leaf.unit.symbol, "column": column}
        entry |= {"value": float(values[column]), "text": " ".join(leaf.doc.split())}
        if leaf.allowed is not None:
            low, high = (v if isfinite(v) else None for v in (leaf.allowed.low, leaf.allowed.high))
            entry |= {"low": low, "high": high, "allowed": str(leaf.allowed)}
            entry |= {"above": leaf.allowed.open_low, "whole": leaf.allowed.whole}
        fields.append(entry)
    return fields


def touching_parts(exported: Exported) -> list[list[Any]]:
    """Outlines that touch other things: [unit, corners], unit 0 is the vehicle, 1 its trailer."""
    geometry = exported.vehicle.geometry
    parts: list[list[Any]] = []
    for unit, one in enumerate((geometry, *geometry.trailers)):
        parts += [[unit, [list(p) for p in outline]] for outline in one.outlines]
        for wheel in one.wheels:
            a, b = wheel.radius, 0.5 * wheel.width
            corners = [[wheel.x + p * a, wheel.y + q * b] for p, q in _CORNERS]
            parts.append([unit, corners])
    return parts


_CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


def _head(one: Named) -> str:
    """The heading of a column as `Trajectory.to_csv` writes it."""
    return f"{one.name} [{one.unit}]"
