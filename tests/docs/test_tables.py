"""Tables of the documentation that list all of something list all of it."""

from __future__ import annotations

from dataclasses import is_dataclass
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest

import skidpad
from pages import ROOT, tables
from skidpad.core.body import Demand, Geometry, Limits, Trailer, Wheel
from skidpad.study.manoeuvres.logs import SIGNALS
from skidpad.units import Unit


def page_tables(name: str) -> list[list[list[str]]]:
    return tables((ROOT / "docs" / name).read_text("utf-8"))


def table_of(name: str, *head: str) -> list[list[str]]:
    """The rows of the table of a page whose head begins with these words."""
    (table,) = [table for table in page_tables(name) if table[0][: len(head)] == list(head)]
    return table[1:]


def unit_of(hint: Any) -> str:
    """The symbol of a field's unit; "" if it has none."""
    return next((str(note) for note in get_args(hint) if isinstance(note, Unit)), "")


@pytest.mark.parametrize("kind", [Demand, Limits, Geometry, Wheel, Trailer])
def test_fields_of_a_body_with_their_units(kind: type) -> None:
    rows = table_of("bodies.md", kind.__name__, "unit")
    hints = get_type_hints(kind, include_extras=True)
    fields = kind.__dataclass_fields__ if is_dataclass(kind) else kind._fields
    assert [row[0] for row in rows] == list(fields)
    assert all(row[2] for row in rows)
    written = {row[0]: row[1] for row in rows}
    units = {name: unit_of(hints[name]) for name in fields if unit_of(hints[name])}
    assert {name: written[name] for name in units} == units


def test_the_contract_of_a_body_has_every_field() -> None:
    rows = table_of("bodies.md", "field", "says", "needed")
    assert {row[0].partition("(")[0] for row in rows} == set(skidpad.Body.__dataclass_fields__)


@pytest.mark.parametrize(("head", "base"), [("exception", BaseException), ("warning", UserWarning)])
def test_errors_has_every_public_exception(head: str, base: type) -> None:
    public = {
        row[0]
        for table in page_tables("api.md")
        for row in table
        if len(row) == 3 and row[1] == head
    }
    rows = table_of("errors.md", head, "also a")
    # The page also has those of inner modules, with their path.
    assert public <= {row[0].rpartition(".")[2] for row in rows}
    for path, parent, *_ in rows:
        home, _, name = f"skidpad.{path}".rpartition(".")
        kind = getattr(import_module(home), name)
        assert issubclass(kind, base)
        assert parent in {one.__name__ for one in kind.__mro__[1:]}


def test_signals_of_a_drive_with_their_units_and_meanings() -> None:
    rows = table_of("proving_ground.md", "signal", "unit")
    assert {name: (unit, meaning) for name, unit, meaning in rows} == dict(SIGNALS)
