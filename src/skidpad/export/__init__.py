"""Vehicles for other tools: C source, FMUs and WebAssembly, from the Programs of the simulator."""

from __future__ import annotations

from . import toolchain
from .c import write_c
from .exported import Export, modules_of
from .fmu import write_fmu

__all__ = ["Export", "modules_of", "toolchain", "write_c", "write_fmu"]
