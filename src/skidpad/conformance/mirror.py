"""Mirror: a vehicle built alike on both sides does in a mirror what its mirror image does."""

from __future__ import annotations

from collections.abc import Mapping

from .. import record
from ..arrays import Array
from ..body import Pose, Velocity, Wish
from .names import mirror_signs, mirrored
from .subject import WISH, Point, Subject, differences, table

TOLERANCE = 1e-9


def mirror(subject: Subject) -> list[str]:
    """Mirrors the arguments and expects the mirrored answer, for rates, outputs and the body."""
    model = subject.model
    kinds = (model.State, model.Input, model.Disturbance, model.Outputs)
    signs = {kind: mirror_signs(kind, model.mirror_odd) for kind in kinds}
    # Parameters describe the vehicle: they change sides but have no left-positive quantities.
    even = dict.fromkeys(record.names(model.Params), 1.0)
    p = mirrored(subject.params, even)
    points = subject.points
    images = [Point(*(mirrored(part, signs[type(part)]) for part in point)) for point in points]
    faults: list[str] = []
    for kind, answer, plain in (
        (model.State, subject.rates(images, p), subject.rates(points)),
        (model.Outputs, subject.outputs(images, p), subject.outputs(points)),
    ):
        want = _mirrored_table(kind, plain, signs[kind])
        faults += differences("in the mirror", kind, answer, want, TOLERANCE, points)
    return faults + (_body(subject, images, signs[model.Input]) if model.body else [])


def _body(subject: Subject, images: list[Point], of_input: Mapping[str, float]) -> list[str]:
    """Pose, velocity and command."""
    body, points, p = subject.body, subject.points, subject.params
    there = mirrored(WISH, mirror_signs(Wish, None))
    faults: list[str] = []
    for what, kind, signs, answer, plain in (
        (
            "pose",
            Pose,
            mirror_signs(Pose, None),
            [body.pose(q.x, p) for q in images],
            [body.pose(q.x, p) for q in points],
        ),
        (
            "velocity",
            Velocity,
            mirror_signs(Velocity, None),
            [body.velocity(q.x, q.u, p) for q in images],
            [body.velocity(q.x, q.u, p) for q in points],
        ),
        (
            "command",
            subject.model.Input,
            of_input,
            [body.command(q.x, there, p) for q in images],
            [body.command(q.x, WISH, p) for q in points],
        ),
    ):
        want = _mirrored_table(kind, table(plain), signs)
        what = f"{what} in the mirror"
        faults += differences(what, kind, table(answer), want, TOLERANCE, points, floor=1.0)
    return faults


def _mirrored_table(kind: type, rows: Array, signs: Mapping[str, float]) -> Array:
    columns = mirrored(record.unflatten(kind, list(rows.T)), signs)
    result = rows.copy()
    for j, values in enumerate(record.flatten(columns)):
        result[:, j] = values
    return result
