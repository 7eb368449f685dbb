"""Tyres: measurements, and fits to them."""

from __future__ import annotations

from .measurement_file import measurements
from .measurement_table import Measurements

__all__ = ["Measurements", "measurements"]
