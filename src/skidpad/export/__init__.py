"""Vehicles for other tools: C source, FMUs, WebAssembly, from the Programs that run here."""

from __future__ import annotations

from .exported import Exported, exported

__all__ = ["Exported", "exported"]
