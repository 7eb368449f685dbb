"""How the records of a vehicle are called in C, and their numbers written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import record
from ..brief import shortened
from ..compile.c import literal
from ..compile.c_exact import TYPES, Type
from ..errors import InvalidValue
from ..shared_arrays import ArrayNumber
from .c_words import LONGEST, is_reserved_member
from .exported import Exported

RECORDS = {
    "state": "State",
    "input": "Input",
    "disturbance": "Disturbance",
    "params": "Params",
    "outputs": "Outputs",
}
"""Structs of a vehicle, and the record class of the model that each is."""
PORTS = {"x": "state", "start": "state", "u": "input", "w": "disturbance", "p": "params"} | {
    "y": "outputs"
}
"""Ports of Programs and the struct that each is."""


def members(names: Iterable[str], vehicle: str = "car") -> tuple[str, ...]:
    """Names of the leaves of a record as members of a struct: `tyre.B` becomes `tyre_B`, `NULL`
    becomes `NULL_`. `vehicle` is the name that the macros of the header begin with.

    Raises:
        InvalidValue: for a field whose name is too long for compilers.
    """
    taken: dict[str, None] = {}
    for name in names:
        member = re.sub(r"\W", "_", name, flags=re.ASCII)
        if member.startswith("_"):  # such names belong to compilers and their headers
            member = f"field{member}"
        own_macro = member.startswith(f"{vehicle}_") and member.removeprefix(vehicle).isupper()
        while member in taken or is_reserved_member(member) or own_macro:
            member, own_macro = f"{member}_", False
        if len(member) > LONGEST:
            raise InvalidValue(
                f"field {shortened(name, 40)!r} has {len(member)} letters in C; at most {LONGEST} "
                "are allowed, which is what compilers tell apart"
            )
        taken[member] = None
    return tuple(taken)


@dataclass(frozen=True)
class Naming:
    """The C side of an exported vehicle: names and numbers."""

    exported: Exported

    @property
    def name(self) -> str:
        """What every name of the interface begins with."""
        return self.exported.name

    @property
    def kind(self) -> Type:
        """How its numbers are written."""
        return TYPES[self.exported.precision]

    def record(self, struct: str) -> type:
        """The record class of a struct, as "state"."""
        return getattr(self.exported.model, RECORDS[struct])

    @cached_property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """Members of each struct; a record without fields has no struct."""
        return {s: members(record.names(self.record(s)), self.name) for s in RECORDS}

    def has(self, struct: str) -> bool:
        """Whether there is such a struct."""
        return bool(self.fields[struct])

    def arguments(self, *pointers: tuple[str, str]) -> str:
        """Declarations of pointers to constant structs, (struct, name) each, that there are."""
        return ", ".join(
            f"const {self.name}_{struct}* {name}" for struct, name in pointers if self.has(struct)
        )

    def number(self, value: float) -> str:
        """A number in the precision of the export, exact."""
        return literal(float(np.dtype(self.exported.precision).type(value)), self.kind)

    @cached_property
    def arrays(self) -> tuple[ArrayNumber, ...]:
        """Shared arrays of the parameters; the one with the number n in C is the n-th."""
        leaves = record.flatten(self.exported.vehicle.params)
        by_number = {float(leaf): leaf for leaf in leaves if isinstance(leaf, ArrayNumber)}
        return tuple(by_number.values())

    def values(self, numbers: Sequence[Any]) -> list[str]:
        """Numbers of a record as they are written, those of shared arrays by their place here."""
        places = {float(array): float(k) for k, array in enumerate(self.arrays, 1)}
        return [
            self.number(places[float(x)] if isinstance(x, ArrayNumber) else float(x))
            for x in numbers
        ]
