"""What differs between the plan of a folder and the one it is to go on with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..brief import shortened
from ..errors import InvalidValue
from .experiment import RUN, Column

Extends = Mapping[str, Callable[[Any], bool]]
"""By section of a plan: whether it goes on with what the folder has there."""
_FREE = ("name", "keep")
"""Sections that no number depends on."""
_COLUMNS = "columns"
_MOST_TOLD = 5
_DIGEST = re.compile(r"(sha256:)?[0-9a-f]{16,}")
_GROUPS = {"metrics": "metric", "programs": "the model of"}
"""Sections of experiments that have digests by name, in words."""
_ALONE = {
    "motion": "the motion of the vehicle",
    "program": "the model of the vehicle",
    "until": "the condition that ends a run",
    "scene": "the scene",
}
_NOTHING = object()


class PlanChanged(InvalidValue):
    """A folder has runs of another plan; nothing was changed. The message says what differs."""


def columns_of(plan: Mapping[str, Any], source: str) -> tuple[Column, ...]:
    """The columns of a plan."""
    try:
        columns = tuple(Column(**column) for column in plan[_COLUMNS])
    except (KeyError, TypeError) as error:
        raise InvalidValue(f"{source}: the plan does not say its columns: {error}") from error
    names = [column.name for column in columns]
    for column in columns:
        if column.name == RUN or names.count(column.name) > 1:
            raise InvalidValue(f"{source}: there are two columns {column.name!r}")
        if column.kind not in ("number", "truth"):
            raise InvalidValue(
                f"{source}: column {column.name} is of kind {column.kind!r}; allowed are 'number' "
                "and 'truth'"
            )
    return columns


def check_goes_on(
    before: Mapping[str, Any], now: Mapping[str, Any], source: str, extends: Extends
) -> None:
    """Raise `PlanChanged` unless all runs of the plan before are runs of the one now.

    Columns may be added. Other sections must be the same, or `extends` knows better.
    """
    changes = list(_column_changes(columns_of(before, source), columns_of(now, source)))
    for section in dict.fromkeys((*before, *now)):
        if section in _FREE or section == _COLUMNS:
            continue
        was, is_now = before.get(section, _NOTHING), now.get(section, _NOTHING)
        differences = list(_differences(section, was, is_now))
        both = was is not _NOTHING and is_now is not _NOTHING
        if differences and not (both and section in extends and extends[section](was)):
            changes += differences
    if changes:
        told = "; ".join(changes[:_MOST_TOLD])
        more = f"; and {len(changes) - _MOST_TOLD} more" if len(changes) > _MOST_TOLD else ""
        raise PlanChanged(
            f"{source} has runs of another plan: {told}{more}. Take another folder, or the plan as "
            "it was"
        )


def _column_changes(before: tuple[Column, ...], now: tuple[Column, ...]) -> Iterator[str]:
    """What was must still be there; its meaning is only words."""
    by_name = {column.name: column for column in now}
    for was in before:
        column = by_name.get(was.name)
        if column is None:
            yield f"column {was.name} is in the folder and not in the plan"
        elif (column.unit, column.kind) != (was.unit, was.kind):
            yield (
                f"column {was.name} is a {was.kind} in {was.unit or 'no unit'} in the folder and a "
                f"{column.kind} in {column.unit or 'no unit'} now"
            )


def _differences(path: str, before: Any, now: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*before, *now)):
            was, is_now = before.get(name, _NOTHING), now.get(name, _NOTHING)
            if _is_digest(was) or _is_digest(is_now):
                if was != is_now:
                    yield _in_words(f"{path}.{name}", was, is_now, before)
            else:
                yield from _differences(f"{path}.{name}", was, is_now)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, (was, is_now) in enumerate(zip(before, now, strict=True)):
            yield from _differences(f"{path}[{k}]", was, is_now)
    elif before != now and _is_digest(before) and _is_digest(now):
        yield f"{path} has changed"
    elif before != now and (before == before or now == now):  # two NaN are the same
        yield f"{path} is {_shown(before)} in the folder and {_shown(now)} now"


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _in_words(path: str, before: Any, now: Any, beside: Mapping[str, Any]) -> str:
    """What it means that a digest is another one; `beside` is what stands beside it."""
    _, _, inner = path.partition(".")
    group, _, name = inner.partition(".")
    if path.endswith(".does"):
        what = _code(beside)
    elif name and group in _GROUPS:
        what = f"{_GROUPS[group]} {name}"
    else:
        what = _ALONE.get(inner, path)
    if before is _NOTHING:
        return f"{what} is not in the folder"
    return (
        f"{what} is in the folder and not in the plan" if now is _NOTHING else f"{what} has changed"
    )


def _code(identity: Mapping[str, Any]) -> str:
    """The function or class that an identity is of."""
    if "method" in identity:
        return f"the method {identity['method']} of {identity.get('class', 'its class')}"
    kind = "function" if "function" in identity else "class"
    return f"the {kind} {identity.get(kind, '')}".rstrip()


def _shown(value: Any) -> str:
    return "nothing" if value is _NOTHING else shortened(repr(value), 80)
