"""Forces of the Magic Formula compiled: the same bits in lanes and C, one Program for all sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compile.lanes_harness import canonical, runner
from compile.test_parity import c_function
from skidpad import Program
from skidpad.compile import c
from skidpad.compile.lower import lower
from skidpad.compile.program import Port
from skidpad.compile.trace import trace
from skidpad.core import record
from skidpad.tyres import Contact, TyreForces
from skidpad.tyres.magic_formula.coefficients import TurnSlip
from skidpad.tyres.magic_formula.records import UsualLimits
from tyres.magic_sets import contact, table, tyre


def forces_program(kind: Any) -> Program:
    """The Program of `forces` of a class of tyres, over contact and coefficients."""

    def forces(at: tuple[Any, ...], p: tuple[Any, ...]) -> tuple[Any, ...]:
        return (tuple(record.unflatten(kind, p).forces(Contact(*at))),)

    ports = (Port("at", Contact._fields), Port("p", record.names(kind)))
    return trace("forces", forces, ports, (Port("out", TyreForces._fields),))


CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "6.1": ("odd61", "rand", {}),
    "6.2 with limits": ("suv62", "limits", {"limits": UsualLimits}),
    "6.1 with turn slip": ("odd61", "limits", {"turn_slip": TurnSlip}),
    "5.2": ("odd52", "limits", {}),
}


@pytest.mark.slow_cases("6.1", "6.2 with limits", "6.1 with turn slip")
@pytest.mark.parametrize("case", CASES)
def test_same_bits_in_lanes_and_c(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One and eight lanes and C agree to the bit, and with the direct call to 1e-12."""
    monkeypatch.setattr(c, "FLAGS", tuple(f for f in c.FLAGS if not f.startswith("-O")))
    name, block, choices = CASES[case]
    t = tyre(name, **choices)
    program = lower(forces_program(type(t)), "float64")
    at = contact(t, table(f"mfeval_{name}", block)[0])
    rows = np.column_stack([np.broadcast_to(x, at.F_z.shape) for x in at])
    numbers = np.tile(record.flatten(t), (len(rows), 1))
    alone, lanes = (runner(program, n)(rows, numbers)[0] for n in (1, 8))
    assert canonical(alone) == canonical(lanes)
    assert canonical(alone) == canonical(c_function(program, tmp_path)(rows, numbers)[0])
    for compiled, direct in zip(alone.T, t.forces(at), strict=True):
        scale = np.sqrt(np.mean(direct**2))
        assert np.max(np.abs(compiled - direct)) < 1e-12 * scale


def test_single_precision() -> None:
    """In float32 the lanes agree to the bit, too, and with double precision to its digits."""
    name, block, choices = CASES["6.1"]
    t = tyre(name, **choices)
    program = lower(forces_program(type(t)), "float32")
    at = contact(t, table(f"mfeval_{name}", block)[0])
    rows = np.column_stack([np.broadcast_to(x, at.F_z.shape) for x in at])
    numbers = np.tile(record.flatten(t), (len(rows), 1))
    alone, lanes = (runner(program, n)(rows, numbers)[0] for n in (1, 8))
    assert canonical(alone) == canonical(lanes)
    for compiled, direct in zip(alone.T, t.forces(at), strict=True):
        assert np.max(np.abs(compiled - direct)) < 1e-4 * np.sqrt(np.mean(direct**2))


def test_numbers_are_no_part_of_the_program() -> None:
    """Two tyres of one class have the same Program: sweeping a coefficient compiles nothing."""
    book, odd = tyre("book205_61"), tyre("odd61", {"PKY1": -25.0})
    assert type(book) is type(odd)
    assert forces_program(type(book)).digest == forces_program(type(odd)).digest
    other = forces_program(type(tyre("odd61", limits=UsualLimits)))
    assert other.digest != forces_program(type(odd)).digest
