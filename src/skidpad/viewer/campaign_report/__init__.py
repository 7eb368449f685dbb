"""The report of a campaign as one page, and what a notebook shows of it."""

from __future__ import annotations

from .notebook import study_html
from .page import campaign_page, write_campaign_report

__all__ = ["campaign_page", "study_html", "write_campaign_report"]
