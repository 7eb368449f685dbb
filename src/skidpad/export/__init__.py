"""Vehicles for other tools: C source, FMUs and WebAssembly, from the Programs of the simulator."""

from __future__ import annotations

from . import toolchain
from .c import write_c
from .exported import Export
from .fmu import write_fmu
from .webassembly import modules_of

__all__ = ["Export", "modules_of", "toolchain", "write_c", "write_fmu"]
