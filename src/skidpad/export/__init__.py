"""Vehicles for other tools: C source, FMUs, WebAssembly, from the Programs that run here."""

from __future__ import annotations

from .c_files import c_sources, write_c
from .exported import Exported, exported
from .fmu import write_fmu

__all__ = ["Exported", "c_sources", "exported", "write_c", "write_fmu"]
