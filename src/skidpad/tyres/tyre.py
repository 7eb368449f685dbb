"""`Tyre`: a tyre that a user holds, as its record, the file it came from and compiled answers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

import numpy as np

from .. import record as records
from ..brief import listed, shortened
from ..components.tyre import record_of
from ..components.tyre.contract import (
    Contact,
    Peaks,
    Radii,
    Relaxation,
    SlipStiffness,
    TyreForces,
)
from ..errors import InvalidValue
from .document import Document
from .evaluation import Evaluation, Evaluator, MagicEvaluation
from .keys import version_of
from .other_keys import has_key, with_other_keys
from .unit_conversion import values_in_si

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Tyre"]

SIDES = {"left": 1.0, "right": -1.0}
"""Sides of a car."""


class Question(TypedDict, total=False):
    """Arguments of every question to a tyre; see `Tyre.forces`."""

    F_z: Required[Any]
    kappa: Any
    alpha: Any
    gamma: Any
    phi_t: Any
    v_x: Any
    p: Any
    mu: Any
    omega: Any


@dataclass(frozen=True, eq=False, repr=False)
class Tyre:
    """A tyre to be asked for forces, stiffness, peaks, relaxation lengths and radii.

    Each question takes numbers, which compiled code answers in some microseconds; arrays, which
    broadcast; or values of CasADi and JAX. Tyres are equal when the same answers follow for every
    contact: same record, same side, same kind of transients.

    Args:
        record: any tyre record: a Magic Formula, a `BrushTyre`, one of your own.
        document: the text of the file it was read from, if it was.
        name: for texts; by default that of the record's class.
        filled: keys that the file did not have, in its order of sections.
        transient: whether forces follow slip over a relaxation length, or at once.
        side: "left" or "right", the side of the car for which the answers hold; by default the one
            on which the tyre was measured. On the other it is its own mirror image.
    """

    record: Any
    document: Document | None = None
    name: str = ""
    filled: tuple[str, ...] = ()
    transient: bool = True
    side: str = ""

    def __post_init__(self) -> None:
        kept = record_of(self.record)
        records.check(kept)
        if abs(kept.measured_on) != 1.0:
            sides = "1 (left) or -1 (right)"
            raise InvalidValue(f"measured_on = {kept.measured_on!r} of a tyre must be {sides}")
        if not self.side:
            object.__setattr__(self, "side", "right" if kept.measured_on < 0 else "left")
        if self.side not in SIDES:
            raise InvalidValue(f"side = {self.side!r} must be 'left' or 'right'")
        object.__setattr__(self, "record", kept)
        object.__setattr__(self, "name", self.name or type(kept).__name__)

    @property
    def version(self) -> str:
        """Of the Magic Formula: "5.2", "6.1" or "6.2"; empty for other tyres."""
        return version_of(type(self.record))

    @property
    def measured_on(self) -> str:
        """Side of the car on which the tyre was measured: "left" or "right"."""
        return "right" if self.record.measured_on < 0 else "left"

    @property
    def pressure(self) -> float:
        """Inflation pressure in Pa where a question does not say otherwise."""
        return self._pressure

    @property
    def file_values(self) -> Mapping[str, Mapping[str, float | str | None]]:
        """All values of the file by section and key, numbers in SI: also those that are no part of
        the record, such as `file_values["INERTIA"]["MASS"]`. Empty without a file."""
        return {} if self.document is None else values_in_si(self.document)

    def forces(
        self,
        *,
        F_z: Any,
        kappa: Any = 0.0,
        alpha: Any = 0.0,
        gamma: Any = 0.0,
        phi_t: Any = 0.0,
        v_x: Any = 10.0,
        p: Any = None,
        mu: Any = 1.0,
        omega: Any = None,
    ) -> TyreForces:
        """Steady forces and moments on the wheel in N and N·m, in its own axes (ISO 8855).

        A positive slip angle (the patch drifts to the left) gives a negative lateral force.

        Args:
            F_z: load in N, positive when pressed.
            kappa: longitudinal slip, positive when driving, -1 locked.
            alpha: slip angle in rad.
            gamma: camber in rad, positive when the top leans to the right.
            phi_t: turn slip in 1/m.
            v_x: speed along the wheel in m/s; 10 unless you say otherwise.
            p: inflation pressure in Pa; None: the tyre's own.
            mu: grip of the road over that of the road on which the tyre was measured.
            omega: spin of the wheel in rad/s; None: what follows from `kappa` and `v_x`.
        """
        values = (F_z, kappa, alpha, gamma, phi_t, v_x, self._pressure if p is None else p, mu)
        return self._evaluator("forces", values if omega is None else (*values, omega))

    def stiffness(self, **contact: Unpack[Question]) -> SlipStiffness:
        """Slopes of the forces at small slip, in N and N/rad; arguments as of `forces`."""
        return self._asked("stiffness", contact)

    def peaks(self, **contact: Unpack[Question]) -> Peaks:
        """Largest friction of pure slip; arguments as of `forces`."""
        return self._asked("peaks", contact)

    def relaxation(self, **contact: Unpack[Question]) -> Relaxation:
        """Relaxation lengths in m; arguments as of `forces`."""
        return self._asked("relaxation", contact)

    def radii(self, **contact: Unpack[Question]) -> Radii:
        """Radii in m and vertical stiffness in N/m; arguments as of `forces`."""
        return self._asked("radii", contact)

    def evaluate(self, **contact: Unpack[Question]) -> Evaluation | MagicEvaluation:
        """All of these at once, the same up to rounding; arguments as of `forces`.

        Of a Magic Formula tyre it also has what they are made of, such as trail and contact patch.
        """
        return self._asked("evaluate", contact)

    def _asked(self, name: str, question: Question) -> Any:
        contact: dict[str, Any] = {**question}
        omega = contact.pop("omega", None)
        if contact.get("p") is None:
            contact["p"] = self._pressure
        for key in contact:
            if key not in _USUAL:
                allowed = (*_USUAL, "omega")
                raise InvalidValue(records.unknown_name(f"Tyre.{name}", key, allowed, "argument"))
        if "F_z" not in contact:
            raise InvalidValue(f"Tyre.{name} needs a value for F_z, the load in N")
        values = tuple(contact.get(key, usual) for key, usual in _USUAL.items())
        return self._evaluator(name, values if omega is None else (*values, omega))

    @cached_property
    def _pressure(self) -> float:
        return float(self.record.pressure)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.record, SIDES[self.side])

    def mirrored(self) -> Tyre:
        """The same tyre on the other side of the car: its answers are mirror images."""
        return replace(self, side="left" if self.side == "right" else "right")

    def with_values(self, values: Mapping[str, float] | None = None, /, **more: float) -> Tyre:
        """The tyre with other numbers, in SI: `tyre.with_values(PKY1=-20.0, LMUY=0.8)`.

        Names are the file's keys, with or without their part of the record (`lateral.PKY1`). Keys
        of the file that are no part of the equations, such as `MASS`, are changed in its text.
        """
        kind = type(self.record)
        asked = {**(values or {}), **more}
        others = {n: v for n, v in asked.items() if not _is_leaf(kind, n) and self._in_file(n)}
        wanted = {_leaf(kind, n): value for n, value in asked.items() if n not in others}
        changed = records.build(kind, wanted, base=self.record)
        before = dict(zip(records.names(kind), records.flatten(self.record), strict=True))
        new = {n.rpartition(".")[2] for n, value in wanted.items() if before[n] != value}
        filled = tuple(key for key in self.filled if key not in new)
        document = self.document
        if document is not None and others:
            document = with_other_keys(document, others)
        return replace(self, record=changed, document=document, filled=filled)

    def _in_file(self, name: str) -> bool:
        return self.document is not None and has_key(self.document, name)

    def plot(
        self,
        *others: Tyre,
        loads: Iterable[float] | float | None = None,
        cambers: Iterable[float] | float | None = None,
        pressures: Iterable[float | None] | float | None = None,
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """A sheet of curves of this tyre, with those of others over them.

        Args:
            others: tyres to compare with.
            loads: in N; by default half, once and one and a half each tyre's nominal load.
            cambers: in rad, of the diagram with camber.
            pressures: in Pa, each of which makes another set of curves.
            path: PNG, SVG or PDF to write, by its suffix.
            title: in place of the tyre's name.
            size: width and height in inches.
        """
        from .figure import sheet

        return sheet(
            (self, *others), loads=loads, cambers=cambers, pressures=pressures, path=path,
            title=title, size=size,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        from .notebook import tyre_html

        return tyre_html(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tyre) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)

    @property
    def _same(self) -> tuple[Any, ...]:
        leaves = records.flatten(self.record)
        return type(self.record), leaves, self.side, self.transient

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        kind = f"Magic Formula {self.version}" if self.version else type(self.record).__name__
        parts = [repr(self.name)] if self.name != type(self.record).__name__ else []
        parts += [kind, self.side] + ([] if self.transient else ["steady"])
        if self.filled:
            parts.append(f"filled: {listed(self.filled, 4)}")
        return shortened(f"Tyre({', '.join(parts)})")


_USUAL: dict[str, Any] = {
    "F_z": np.nan, "kappa": 0.0, "alpha": 0.0, "gamma": 0.0, "phi_t": 0.0, "v_x": 10.0, "p": None,
    "mu": 1.0,
}  # fmt: skip
"""Arguments of a question and what they are if nobody says."""
assert tuple(_USUAL) == tuple(name for name in Contact._fields if name in _USUAL)


def _leaves(kind: type, name: str) -> list[str]:
    """Dotted names of the leaves that a name, with or without its part, may stand for."""
    leaves = records.names(kind)
    if name in leaves:
        return [name]
    matches = [leaf for leaf in leaves if leaf.rpartition(".")[2] == str(name).upper()]
    return matches or [leaf for leaf in leaves if leaf.upper() == str(name).upper()]


def _is_leaf(kind: type, name: str) -> bool:
    return bool(_leaves(kind, name))


def _leaf(kind: type, name: str) -> str:
    """The dotted name of a leaf that is given with or without its part."""
    leaves, matches = records.names(kind), _leaves(kind, name)
    if len(matches) != 1:
        names = {leaf.rpartition(".")[2]: leaf for leaf in leaves}
        close = get_close_matches(str(name).rpartition(".")[2].upper(), names, n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        hint = hint or ", nor has its file a number of that name"
        raise InvalidValue(f"{kind.__name__} has no key {name!r}{hint}")
    return matches[0]
