"""Warnings as notes of the command line: one line each, without the place in the code."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def warnings_as_notes() -> Generator[None]:
    """Print what the block warns of on stderr; filters are those of whoever calls."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, soft_wrap=True)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.print(Text(f"note: {message}", "yellow"))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
