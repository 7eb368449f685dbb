"""Designs as plain values, and whether one goes on where another ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

__all__ = ["goes_on", "identity_of"]


def identity_of(design: Any, kind: str) -> dict[str, Any]:
    """A design as its kind and its settings, of which `design_of` makes it again."""
    settings = {field.name: _plain(getattr(design, field.name)) for field in fields(design)}
    return {"kind": kind, **settings}


def goes_on(design: Any, before: Mapping[str, Any], *growing: str) -> bool:
    """Whether a design differs from one before in nothing but larger values of these settings."""
    own: dict[str, Any] = design.identity()
    return own.keys() == before.keys() and all(
        value >= before[name] if name in growing else value == before[name]
        for name, value in own.items()
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "identity"):
        return value.identity()
    return list(value) if isinstance(value, tuple) else value
