"""The stage of a page that drives, and which number of the module goes into which channel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...brief import brief_repr
from ...stage import Stage
from ...stage.computed import ComputedMotion
from ...stage.description import Body
from ...stage.layout import POSE, Named, Rows, named_channels
from ...stage.shapes import BodyShape, drawn_wheels, shape_of
from ...stage.trailers import Trailers
from .places import Place, Standing
from .programs import VELOCITY

Source = tuple[str, int]
"""A port of the module and the place of a number in it."""


@dataclass(frozen=True)
class DriveStage:
    """What a page shows."""

    stage: Stage
    """The channels of the vehicle that is driven come first, then those of what it tows."""
    sources: tuple[Source, ...]
    """Where the numbers of these come from."""
    row: Array
    """Numbers of all channels; those of what stands still stay as they are here."""

    __repr__ = brief_repr


def drive_stage(place: Place) -> DriveStage:
    """The stage of a place."""
    vehicle, shape = place.vehicle, shape_of(place.vehicle)
    rows, motion = Rows(), ComputedMotion(vehicle)
    states, inputs, outputs = named_channels(vehicle.model)
    places = rows.add(place.name, [*states, *inputs, *outputs, *motion.named])
    at = (places[field] for field in motion.pose)
    wheels = drawn_wheels(shape.wheels, places)
    body = Body(place.name, "vehicle", shape.outlines, *at, wheels=wheels, channels=places)
    body = replace(body, model=vehicle.name)
    towed = Trailers([(body, shape)], rows)
    sources = [
        *(("x", k) for k in range(len(states))),
        *(("u", k) for k in range(len(inputs))),
        *(("y", k) for k in range(len(outputs))),
        *(_computed_source(one) for one in motion.named),
        *(("towed", k) for k in range(3 * len(towed.bodies))),
    ]
    moving, values = len(sources), list[float]()
    others = [_standing_body(one, rows, values) for one in place.standing]
    trailers = Trailers(others, rows)
    row = trailers.added(np.array([[*np.zeros(moving), *values]]))[0]
    bodies = (body, *towed.bodies, *(one for one, _ in others), *trailers.bodies)
    still: dict[str, Any] = dict(place.still)
    stage = Stage(place.title, tuple(rows.channels), bodies, **still)
    return DriveStage(stage, tuple(sources), row)


def _computed_source(one: Named) -> Source:
    pose = [named.name for named in POSE]
    return ("pose", pose.index(one.name)) if one in POSE else ("velocity", VELOCITY.index(one.name))


def _standing_body(one: Standing, rows: Rows, values: list[float]) -> tuple[Body, BodyShape]:
    """A body that stands, with its pose and the angles of what it tows as channels."""
    hitches, shape = list[str](), one.shape
    while shape is not None and shape.hitch in one.angles:
        hitches.append(shape.hitch)
        shape = shape.trailer
    places = rows.add(one.name, [*POSE, *(Named(hitch, "rad", "state") for hitch in hitches)])
    values += [*one.pose, *(one.angles[hitch] for hitch in hitches)]
    at = (places[named.name] for named in POSE)
    wheels = drawn_wheels(one.shape.wheels, {})
    body = Body(one.name, one.kind, one.shape.outlines, *at, wheels=wheels, channels=places)
    return replace(body, colour=one.colour, model=one.model), one.shape
