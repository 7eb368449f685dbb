"""Outlines of parts that turn on their vehicles: a steered wheel sticks out and is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...arrays import AnyArray
from ..motion.bodies import Bodies
from ..motion.build import BuiltVehicle
from .contacts import Contacts


class TurningParts:
    """Steered wheels and trailers of a group, as contacts have them.

    They are as they were at the beginning of a step, also upstream. Their mass stays where it was.
    """

    def __init__(
        self, bodies: Bodies, built: Mapping[str, BuiltVehicle], contacts: Contacts
    ) -> None:
        self._contacts, self._bodies, self._names = contacts, bodies, bodies.group.names
        self._parts = [built[name].turning for name in self._names]
        self._fields = [part.field for part in self._parts[0]]
        self._shown = [[part.start for part in parts] for parts in self._parts]

    def follow(self, rows: Sequence[int], before: AnyArray) -> None:
        """Turn the parts of some vehicles to where they are in the states (B, nx) before a step.

        Takes effect when the vehicles are given to the next step of the contacts.
        """
        if not self._fields:
            return
        angles_of = self._bodies.fields(self._fields, rows, before)
        for row, angles in zip(rows, angles_of, strict=True):
            if angles == self._shown[row]:
                continue
            for part, angle in zip(self._parts[row], angles, strict=True):
                self._contacts.reshape(self._names[row], part.number, part.outline(angle))
            self._shown[row] = angles
