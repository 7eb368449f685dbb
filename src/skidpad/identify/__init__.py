"""Identify a vehicle from a recorded run: compare a model with it, fit its parameters to it."""

from __future__ import annotations

from .. import record
from .comparison import Comparison, compare
from .fitting import Estimate, Fit, fit
from .log import Log, read_log

__all__ = ["Comparison", "Estimate", "Fit", "Log", "compare", "fit", "read_log"]

record.document_all()
