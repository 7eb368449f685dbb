"""The report of a proving ground as one page."""

from __future__ import annotations

from .page import report_page, write_report

__all__ = ["report_page", "write_report"]
