"""Output for programs."""

from __future__ import annotations

import json
from typing import Any

import typer


def print_json(value: dict[str, Any]) -> None:
    """One object, in JSON that every program reads: without NaN and infinity."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))
