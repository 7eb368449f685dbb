"""Vehicles for other tools: C source, FMUs, WebAssembly, from the Programs that run here."""

from __future__ import annotations

from .exported import Exported, exported
from .webassembly import WebAssembly, modules_of

__all__ = ["Exported", "WebAssembly", "exported", "modules_of"]
