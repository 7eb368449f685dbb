"""Names in the texts of expressions: the fields that they mean, and the units of those."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from .. import record
from ..record import NO_UNIT

TIME = "t"
STATE, OUTPUT = "x", "y"
"""Records whose fields a text names alone, the state first."""
WHEELS = ("fl", "fr", "rl", "rr")
"""Ends of names of what each wheel of a car has, by index."""
CONSTANTS = {"pi": math.pi}

Records = Mapping[str, type]
"""Classes of the records that a text may read, by `x`, `u`, `p`, `y`, `r` and `log`."""


def path_of(node: ast.AST) -> str | None:
    """The dotted name that a node writes, `F_z[0]` as `F_z_fl`; None if it is no name."""
    if isinstance(node, ast.Subscript):
        path, index = path_of(node.value), node.slice
        if path is None or not isinstance(index, ast.Constant) or type(index.value) is not int:
            return None
        if not 0 <= index.value < len(WHEELS):
            return None
        return f"{path}_{WHEELS[index.value]}"
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def place_of(path: str, records: Records) -> tuple[str, list[str]] | None:
    """The record and the names of fields that a path leads through; None if there is no leaf."""
    for plain in (STATE, OUTPUT):
        if plain in records and path in record.names(records[plain]):
            return plain, path.split(".")
    root, _, rest = path.partition(".")
    if root in records and rest in record.names(records[root]):
        return root, rest.split(".")
    return None


def read_field(value: Any, names: list[str]) -> Any:
    """The field that these names lead to."""
    for name in names:
        value = getattr(value, name)
    return value


def names_in(records: Records) -> list[str]:
    """All names that a text may use."""
    alone = (STATE, OUTPUT)
    plain = [n for k in alone if k in records for n in record.names(records[k])]
    others = [
        f"{k}.{n}" for k, kind in records.items() if k not in alone for n in record.names(kind)
    ]
    return [*dict.fromkeys(plain), TIME, *CONSTANTS, *others]


def unit_of(node: ast.AST, records: Records) -> str:
    """Symbol of a unit as far as fields, signs, sums and `abs` tell it."""
    match node:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _field_unit(path_of(node) or "", records)
        case ast.UnaryOp():
            return unit_of(node.operand, records)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _shared([node.left, node.right], records)
        case ast.Call(func=ast.Name(id="abs" | "maximum" | "minimum" | "clip" | "hypot")):
            return _shared(node.args, records)
        case _:
            return ""


def _shared(nodes: list[ast.expr], records: Records) -> str:
    units = {unit_of(node, records) for node in nodes if not isinstance(node, ast.Constant)}
    return units.pop() if len(units) == 1 else ""


def _field_unit(path: str, records: Records) -> str:
    where = place_of(path, records)
    if where is None:
        return "s" if path == TIME else ""
    root, names = where
    leaves = {leaf.name: leaf.unit for leaf in record.fields(records[root])}
    unit = leaves[".".join(names)]
    return "" if unit == NO_UNIT else unit.symbol
