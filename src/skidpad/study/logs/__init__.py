"""Recorded runs, read from the files of loggers and prepared for use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .log import Channel, Log
    from .logger_files import write_motec
    from .preparation import prepare
    from .reading import read_log

__all__ = ["Channel", "Log", "prepare", "read_log", "write_motec"]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".log": ("Channel", "Log"),
        ".logger_files": ("write_motec",),
        ".preparation": ("prepare",),
        ".reading": ("read_log",),
    },
)
