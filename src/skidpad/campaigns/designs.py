"""All designs, and a design from its plain form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..errors import InvalidValue
from ..random.factors import Factor, level_counts
from ..record import unknown_name
from .converging import Converging
from .design import Design
from .listed import Grid, Table
from .rare import SubsetSimulation
from .refinement import Refinement
from .sampling import LatinHypercube, Random, Saltelli, Sobol

DESIGNS: Mapping[str, Any] = {
    "converging": Converging,
    "grid": Grid,
    "latin_hypercube": LatinHypercube,
    "random": Random,
    "refinement": Refinement,
    "saltelli": Saltelli,
    "sobol": Sobol,
    "subset_simulation": SubsetSimulation,
    "table": Table,
}
"""The classes of designs by what their identities call them."""


def design_of(
    plain: Any, factors: Mapping[str, Factor] | None = None, *, place: str = "design"
) -> Design:
    """The design of a plain form, as in a file or a plan; raises for what is none.

    Args:
        plain: `{"kind": "sobol", "runs": 4096}`, `{"sobol": {"runs": 4096}}`, `{"sobol": 4096}`,
            or its name alone where all settings have a default or follow from the factors. The
            `first` of a refinement may be a number alone, of Sobol points.
        factors: of the campaign, from which `grid` and `table` know what they go through,
            `refinement` what are lists, and `saltelli` the runs of so many `samples`.
        place: where it stands, for errors.
    """
    kind, settings = _parts(plain, place)
    if kind not in DESIGNS:
        raise InvalidValue(unknown_name(place, kind, tuple(DESIGNS), "kind"))
    if kind == "refinement" and "first" in settings:
        first = settings["first"]
        plainly = {"sobol": first} if isinstance(first, (int, float)) else first
        made = design_of(plainly, factors, place=f"{place}.refinement.first")
        settings = {**settings, "first": made}
    if factors is not None:
        settings = _COMPLETED.get(kind, _unchanged)(settings, factors, f"{place}.{kind}")
    _check_names(DESIGNS[kind], settings, f"{place}.{kind}")
    try:
        return DESIGNS[kind](**{name: _frozen(value) for name, value in settings.items()})
    except (InvalidValue, TypeError) as error:
        raise InvalidValue(f"{place}.{kind}: {error}") from error


def _parts(plain: Any, place: str) -> tuple[str, dict[str, Any]]:
    """The kind and the settings."""
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


def _check_names(kind: Any, settings: Mapping[str, Any], place: str) -> None:
    known = tuple(field.name for field in fields(kind))
    for name in settings:
        if name not in known:
            raise InvalidValue(unknown_name(place, name, known, "setting"))
    for field in fields(kind):
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and field.name not in settings:
            raise InvalidValue(f"{place} needs {field.name}")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Settings = dict[str, Any]


def _unchanged(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    return settings


def _with_counts(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    return settings if settings else {"counts": Grid.of(factors).counts}


def _with_rows(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    return settings if settings else {"runs": Table.of(factors).runs}


def _with_levels(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    levels = level_counts(factors)
    return {"levels": levels if any(levels) else (), **settings}


def _with_runs(settings: Settings, factors: Mapping[str, Factor], place: str) -> Settings:
    if "samples" not in settings:
        return settings
    if "runs" in settings:
        raise InvalidValue(f"{place} takes runs or samples, not both")
    second = settings.get("second_order", False)
    runs = Saltelli.of(settings["samples"], len(factors), second).runs
    return {"runs": runs, "second_order": second}


_COMPLETED: dict[str, Callable[[Settings, Mapping[str, Factor], str], Settings]] = {
    "grid": _with_counts,
    "table": _with_rows,
    "refinement": _with_levels,
    "saltelli": _with_runs,
}
