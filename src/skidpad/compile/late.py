"""Inputs that act late: in lanes, each delayed input is read some rows before the present one.

Rows before the first one of a rollout lie in a second array, `pending`, oldest first. Where all
vehicles have the same delay a row is read like any other; else every lane looks at its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir

from .lines import I64, Target
from .memory import Group, View, word


class LateViews(NamedTuple):
    """The arrays that delayed inputs come from."""

    u: View
    """Inputs (step or 1, vehicle, field)."""
    pending: View
    """Rows before the first of `u`, the last one just before it."""
    late: View
    """Delay of each delayed input in steps, whole numbers (1, vehicle, delayed input)."""
    rows: Any
    """Rows of `pending`."""


class LateInputs:
    """The delayed inputs of one group of vehicles; `fields` are their places in the input."""

    def __init__(
        self, target: Target, b: Any, views: LateViews, group: Group, fields: tuple[int, ...]
    ) -> None:
        self.target, self.views, self.group, self.fields = target, views, group, fields
        whole = I64 if target.lanes == 1 else ir.VectorType(I64, target.lanes)
        self.steps = [b.fptosi(n, whole) for n in views.late.load(b, group, len(fields))]
        self.shared = b.icmp_signed("==", views.late.vehicle, word(0))

    def load(self, b: Any, step: Any) -> list[Any]:
        """The values that act at a step, one vector for each delayed input."""
        pairs = zip(self.fields, self.steps, strict=True)
        if self.target.lanes == 1:
            return [self._together(b, field, b.sub(step, steps)) for field, steps in pairs]
        return [self._one(b, field, steps, step) for field, steps in pairs]

    def _one(self, b: Any, field: int, steps: Any, step: Any) -> Any:
        t = self.target
        with b.if_else(self.shared) as (yes, no):
            with yes:
                first = b.extract_element(steps, ir.Constant(ir.IntType(32), 0))
                near, from_yes = self._together(b, field, b.sub(step, first)), b.block
            with no:
                rows = b.sub(t.splat(b, step), steps)
                far, from_no = self._apart(b, field, rows), b.block
        phi = b.phi(t.vector)
        phi.add_incoming(near, from_yes)
        phi.add_incoming(far, from_no)
        return phi

    def _together(self, b: Any, field: int, row: Any) -> Any:
        """One row for all lanes."""
        u, pending = self.views.u, self.views.pending
        older = b.icmp_signed("<", row, word(0))
        source = u.instead(
            base=b.select(older, pending.base, u.base),
            field=b.select(older, pending.field, u.field),
            vehicle=b.select(older, pending.vehicle, u.vehicle),
            step=b.select(older, pending.step, u.step),
        )
        row = b.select(older, b.add(row, self.views.rows), row)
        return source.load_field(b, self.group, field, row)

    def _apart(self, b: Any, field: int, rows: Any) -> Any:
        """A row for every lane."""
        t = self.target
        older = b.icmp_signed("<", rows, t.everywhere(word(0)))
        before = b.add(rows, t.splat(b, self.views.rows))
        pointers = b.select(
            older,
            self.views.pending.pointers(b, self.group, field, before),
            self.views.u.pointers(b, self.group, field, rows),
        )
        return self.views.u.gather(b, pointers)
