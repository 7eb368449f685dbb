"""Outlines of steered wheels, which turn with them: a turned wheel sticks out and is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...arrays import AnyArray
from ..motion.bodies import columns
from ..motion.build import Built
from ..motion.groups import Group
from .contacts import Contacts


class WheelOutlines:
    """The steered wheels of a group, as contacts have them.

    A wheel is as it was at the beginning of a step, also upstream. Its mass stays where it was.
    """

    def __init__(self, group: Group, made: Mapping[str, Built], contacts: Contacts) -> None:
        self._contacts, self._names = contacts, group.names
        self._wheels = [made[name].steered for name in group.names]
        fields = [group.fields[one.field] for one in self._wheels[0]]
        self._angles = columns(fields) if fields else None
        self._shown = [[one.wheel.yaw for one in wheels] for wheels in self._wheels]

    def follow(self, rows: Sequence[int], before: AnyArray) -> None:
        """Turn the wheels of some vehicles to where they are in the states (B, nx) before a step.

        Takes effect when the vehicles are given to the next step of the contacts.
        """
        if self._angles is None:
            return
        for row, angles in zip(rows, before[rows][:, self._angles].tolist(), strict=True):
            if angles == self._shown[row]:
                continue
            for one, angle in zip(self._wheels[row], angles, strict=True):
                self._contacts.reshape(self._names[row], one.part, one.outline(angle))
            self._shown[row] = angles
