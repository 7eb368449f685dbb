"""Vehicles for other tools: C source, FMUs, WebAssembly, from the Programs that run here."""

from __future__ import annotations

from .c import c_sources, write_c
from .exported import Exported, exported
from .fmu import write_fmu
from .webassembly import WebAssembly, modules_of

__all__ = [
    "Exported",
    "WebAssembly",
    "c_sources",
    "exported",
    "modules_of",
    "write_c",
    "write_fmu",
]
