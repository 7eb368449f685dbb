"""Matrices and tables in world files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...files import text_of
from .fields import as_numbers
from .nodes import Node


def matrix(node: Node) -> Array:
    """A matrix as MATLAB writes it, `[1 2; 3 4]`; without semicolons rows are lines."""
    text = node.text().removeprefix("[").removesuffix("]")
    rows = [row for row in text.split(";" if ";" in text else "\n") if row.strip(" \t\r\n,")]
    numbers = [as_numbers(node, node.tag, row) for row in rows]
    if not numbers:
        raise node.error("the matrix is empty")
    for number, row in enumerate(numbers, 1):
        if len(row) != len(numbers[0]):
            raise node.error(
                f"row {number} of the matrix has {len(row)} numbers, but row 1 has "
                f"{len(numbers[0])}"
            )
    return np.array(numbers)


def table(node: Node, file: Path, least: int) -> Array:
    """The numbers in a text file, in rows of at least so many columns."""
    try:
        text = text_of(file)
    except InvalidValue as error:
        raise node.error(error) from None
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("%")[0].split("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise node.error(f"{file}, line {number}: {line.strip()!r} is not numbers") from None
        if len(row) < least or (rows and len(row) != len(rows[0])):
            expected = len(rows[0]) if rows else f"{least} or more"
            raise node.error(f"{file}, line {number}: {len(row)} numbers, expected {expected}")
        rows.append(row)
    numbers = np.array(rows)
    if not rows or not np.isfinite(numbers).all():
        raise node.error(f"{file} holds no rows of finite numbers")
    return numbers
