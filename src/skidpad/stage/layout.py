"""Putting channels in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import record
from ..model import Model
from .description import Channel


class Named(NamedTuple):
    """A channel before it has a place."""

    name: str
    unit: str
    role: str


POSE = (Named("x", "m", "output"), Named("y", "m", "output"), Named("yaw", "rad", "output"))
"""Of what has no state with a pose."""
ATTITUDE = (
    Named("z", "m", "output"),
    Named("pitch", "rad", "output"),
    Named("roll", "rad", "output"),
)
"""Of what lies on ground with heights."""


def named_channels(model: Model) -> tuple[list[Named], list[Named], list[Named]]:
    """Channels of the states, inputs and outputs of a model, named as in a trajectory."""
    states = [Named(f.name, f.unit.symbol, "state") for f in record.fields(model.State)]
    inputs = [Named(f"u_{f.name}", f.unit.symbol, "input") for f in record.fields(model.Input)]
    taken = {one.name for one in (*states, *inputs)}
    outputs = [
        Named(f"out_{f.name}" if f.name in taken else f.name, f.unit.symbol, "output")
        for f in record.fields(model.Outputs)
    ]
    return states, inputs, outputs


class Rows:
    """The channels of a stage while it is put together."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []

    def add(self, body: str, named: Sequence[Named]) -> dict[str, int]:
        """Channels of one body behind those there are; their places by name."""
        begin = len(self.channels)
        self.channels += [Channel(n.name, n.unit, body, n.role) for n in named]
        return {n.name: begin + k for k, n in enumerate(named)}

    def add_many(self, bodies: Sequence[str], named: Sequence[Named]) -> list[dict[str, int]]:
        """Channels of several bodies of one kind, field by field as arrays of a fleet lie.

        Returns the places by name, body by body.
        """
        begin, count = len(self.channels), len(bodies)
        for n in named:
            self.channels += [Channel(n.name, n.unit, body, n.role) for body in bodies]
        return [{n.name: begin + k * count + b for k, n in enumerate(named)} for b in range(count)]
