"""Conversion of plain values, as in plan files, to designs, and of listed runs to a table design.

`design_of({"sobol": 4096})` makes a design; `table_of("runs.csv")` makes factors and a design from
the runs listed in a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..core.files import path_of
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..random.factors import Factor, factor_of, level_counts
from .designs import Converging, Design, Grid, LatinHypercube, Random, Saltelli, Sobol, Table
from .rare_events import Refinement, SubsetSimulation

DESIGNS: Mapping[str, Any] = {
    design.kind: design
    for design in (
        Converging,
        Grid,
        LatinHypercube,
        Random,
        Refinement,
        Saltelli,
        Sobol,
        SubsetSimulation,
        Table,
    )
}


def design_of(
    plain: Any, factors: Mapping[str, Factor] | None = None, *, place: str = "design"
) -> Design:
    """Make a design from plain values, as in a plan file; raises for any other value.

    Args:
        plain: `{"kind": "sobol", "runs": 4096}`, `{"sobol": {"runs": 4096}}`, `{"sobol": 4096}`,
            or the name alone if all settings have a default or follow from the factors. The
            `first` of a refinement may be a number, the number of Sobol points.
        factors: factors of the campaign. `grid` and `table` take their lists from them,
            `refinement` its levels, and `saltelli` computes `runs` from `samples`.
        place: position in the file, for error messages.
    """
    kind, settings = _kind_and_settings(plain, place)
    if kind not in DESIGNS:
        raise InvalidValue(unknown_name(place, kind, tuple(DESIGNS), "kind"))
    own = f"{place}.{kind}"
    if kind == "refinement" and "first" in settings:
        first = settings["first"]
        form = {"sobol": first} if isinstance(first, (int, float)) else first
        settings = {**settings, "first": design_of(form, factors, place=f"{own}.first")}
    if factors is not None:
        settings = _completed(kind, settings, factors, own)
    known = fields(DESIGNS[kind])
    for name in settings:
        if all(name != field.name for field in known):
            names = tuple(field.name for field in known)
            raise InvalidValue(unknown_name(own, name, names, "setting"))
    for field in known:
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and field.name not in settings:
            raise InvalidValue(f"{own} needs {field.name}")
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
    try:
        return DESIGNS[kind](**values)
    except (InvalidValue, TypeError) as error:
        raise InvalidValue(f"{own}: {error}") from error


def _kind_and_settings(plain: Any, place: str) -> tuple[str, dict[str, Any]]:
    if isinstance(plain, str):
        return plain, {}
    if isinstance(plain, Mapping) and "kind" in plain:
        return str(plain["kind"]), {str(n): value for n, value in plain.items() if n != "kind"}
    if isinstance(plain, Mapping) and len(plain) == 1:
        ((kind, settings),) = plain.items()
        if isinstance(settings, Mapping):
            return str(kind), {str(name): value for name, value in settings.items()}
        return str(kind), {} if settings is None else {"runs": settings}
    raise InvalidValue(
        f"{place} = {plain!r} must be one of {', '.join(DESIGNS)} with its settings, as in "
        "{'sobol': {'runs': 4096}}"
    )


def _completed(
    kind: str, settings: dict[str, Any], factors: Mapping[str, Factor], place: str
) -> dict[str, Any]:
    """Settings of a design, completed by those that follow from the factors."""
    if kind == "grid" and not settings:
        return {"counts": Grid.of(factors).counts}
    if kind == "table" and not settings:
        return {"runs": Table.of(factors).runs}
    if kind == "refinement":
        levels = level_counts(factors)
        return {"levels": levels if any(levels) else (), **settings}
    if kind == "saltelli" and "samples" in settings:
        if "runs" in settings:
            raise InvalidValue(f"{place} takes runs or samples, not both")
        second = settings.get("second_order", False)
        runs = Saltelli.of(settings["samples"], len(factors), second).runs
        return {"runs": runs, "second_order": second}
    return settings


def table_of(
    rows: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, Factor], Table]:
    """Factors and `Table` design of listed runs; the numbers become part of the plan.

    Args:
        rows: columns by name, or the path of a CSV or Parquet file.
    """
    if isinstance(rows, Mapping):
        factors = {name: factor_of(name, values) for name, values in rows.items()}
        return factors, Table.of(factors)
    from .logs.tables import read_csv, read_parquet

    path = path_of(rows)
    cells = (read_parquet if path.suffix == ".parquet" else read_csv)(path)
    columns: dict[str, Factor] = {}
    for name, column in cells.items():
        values = column.values
        if values is None or not np.isfinite(values).all():
            bad = np.array([0]) if values is None else np.flatnonzero(~np.isfinite(values))
            others = f"row {bad[0] + 1} is empty or not finite, and {len(bad) - 1} others"
            raise InvalidValue(
                f"{path}: column {name!r} cannot be a factor: {column.problem or others}"
            )
        if not values.size:
            raise InvalidValue(f"{path}: column {name!r} has no rows; at least 1 is needed")
        columns[name] = factor_of(name, values)
    return columns, Table.of(columns)
