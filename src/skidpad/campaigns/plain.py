"""Designs as plain values, and whether one goes on where another ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def identity_of(design: Any, kind: str) -> dict[str, Any]:
    """A design as its kind and its settings, of which `design_of` makes it again."""
    settings = {field.name: _plain(getattr(design, field.name)) for field in fields(design)}
    return {"kind": kind, **settings}


def goes_on(
    own: Mapping[str, Any],
    before: Mapping[str, Any],
    *,
    larger: tuple[str, ...] = (),
    smaller: tuple[str, ...] = (),
) -> bool:
    """Whether an identity differs from one before in nothing but these settings, which may be
    larger or smaller."""
    if own.keys() != before.keys():
        return False
    return all(
        (value == before[name])
        or (name in larger and value > before[name])
        or (name in smaller and value < before[name])
        for name, value in own.items()
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "identity"):
        return value.identity()
    return list(value) if isinstance(value, tuple) else value
