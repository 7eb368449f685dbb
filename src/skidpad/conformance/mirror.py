"""Mirror: a vehicle built alike on both sides does in a mirror what its mirror image does."""

from __future__ import annotations

from collections.abc import Mapping

from .. import record
from ..arrays import Array
from .names import mirror_signs, mirrored
from .subject import Point, Subject, differences

TOLERANCE = 1e-9


def mirror(subject: Subject) -> list[str]:
    """Mirrors the arguments and expects the mirrored answer, for rates and outputs."""
    model = subject.model
    odd = model.mirror_odd
    signs = {
        kind: mirror_signs(kind, odd)
        for kind in (model.State, model.Input, model.Disturbance, model.Outputs)
    }
    # Parameters describe the vehicle: they change sides but have no left-positive quantities.
    even = dict.fromkeys(record.names(model.Params), 1.0)
    p = mirrored(subject.params, even)
    points = subject.points
    images = [Point(*(mirrored(part, signs[type(part)]) for part in point)) for point in points]
    faults: list[str] = []
    for kind, got, plain in (
        (model.State, subject.rates(images, p), subject.rates(points)),
        (model.Outputs, subject.outputs(images, p), subject.outputs(points)),
    ):
        want = _mirrored_table(kind, plain, signs[kind])
        faults += differences("in the mirror", kind, got, want, TOLERANCE, points)
    return faults


def _mirrored_table(kind: type, table: Array, signs: Mapping[str, float]) -> Array:
    columns = mirrored(record.unflatten(kind, list(table.T)), signs)
    result = table.copy()
    for j, values in enumerate(record.flatten(columns)):
        result[:, j] = values
    return result
