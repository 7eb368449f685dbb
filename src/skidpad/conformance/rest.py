"""Rest: a vehicle at rest that is not driven stays where it is, and what is left of motion dies."""

from __future__ import annotations

from .. import record
from .names import headings, is_motion, position_pairs, tokens
from .sampling import lock
from .subject import Point, Subject

TOLERANCE = 1e-9
"""Rate in SI units below which a vehicle counts as at rest."""
RESIDUAL = 0.05
"""Leftover lateral velocity in m/s and yaw rate in rad/s that must not last."""


def rest(subject: Subject) -> list[str]:
    """At rest without drive no pose or velocity changes; sideways and turning leftovers decay."""
    faults: list[str] = []
    for steer in (0.0, lock(subject.params), -lock(subject.params)):
        faults += _creep(subject, steer)
    for name in ("v_y", "omega"):
        if name in record.names(subject.model.State):
            faults += _lasting(subject, name)
    return faults


def _parked(subject: Subject, steer: float = 0.0, **moving: float) -> Point:
    """Standing at some place and heading, the wheels turned, the target where the wheels are."""
    state = subject.model.State
    poses = {name for pair in position_pairs(state) for name in pair} | set(headings(state))

    def value(leaf: record.Field) -> float:
        if leaf.name in moving:
            return moving[leaf.name]
        if leaf.unit.symbol == "rad" and {"steer", "steering", "delta"} & set(tokens(leaf.name)):
            return steer
        return 2.5 if leaf.name in poses else 0.0

    fields = (record.fields(state), record.fields(subject.model.Input))
    return subject.point(*([value(leaf) for leaf in leaves] for leaves in fields))


def _creep(subject: Subject, steer: float) -> list[str]:
    point = _parked(subject, steer)
    rates = subject.rate(*point, subject.params)
    return [
        f"at rest with steering {steer:g} rad, the rate of {leaf.name} is {value:.6g} {leaf.unit}/s"
        for leaf, value in zip(
            record.fields(subject.model.State), record.flatten(rates), strict=True
        )
        if is_motion(leaf.name) and not abs(value) <= TOLERANCE
    ]


def _lasting(subject: Subject, name: str) -> list[str]:
    """A leftover velocity at standstill must shrink, unless the model ties it to the speed."""
    point = _parked(subject, **{name: RESIDUAL})
    leftover = getattr(point.x, name)
    rate = getattr(subject.rate(*point, subject.params), name)
    if leftover == 0.0 or leftover * rate < 0.0:
        return []
    return [f"at standstill {name} = {leftover:g} does not die out: its rate is {rate:.6g}"]
