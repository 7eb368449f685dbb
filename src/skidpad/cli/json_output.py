"""Output for programs."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer


def print_json(value: dict[str, Any]) -> None:
    """One object, in JSON that every program reads: without NaN and infinity, and in UTF-8."""
    # Where stdout is not in UTF-8, escapes keep every character and are ASCII, which is UTF-8 too.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    escaped = not encoding.lower().startswith("utf-8")
    typer.echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=escaped))
