"""What a notebook shows of a campaign: how far it is, what it found, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from ...brief import counted
from ...campaigns.drawn import reason_against
from ...campaigns.experiment import FAILED
from ...campaigns.study import Study
from ...plots.notebook.html_parts import folded, heading, page, remark, short, table, warning
from ...random.factors import factor_of
from .summaries import Extent, probabilities, totals_of
from .tables import factor_text

__all__ = ["study_html"]

_MOST = 20
_LEVEL = 0.95


def study_html(study: Study) -> str:
    """A short table; `Study.report` writes the whole."""
    totals = totals_of(study, 0)
    state = "finished" if study.finished else "under way"
    failed = f"{counted(totals.failed, 'run')} failed" if totals.failed else ""
    reason = reason_against(study.plan, listed=True)
    return page(
        heading(study.plan["name"], f"{counted(totals.runs, 'run')}, {state}"),
        _outcome(study),
        _numbers(study, totals.extents),
        _truths(study),
        remark(f"No probabilities: {reason}") if reason else "",
        warning(failed) if failed else "",
        folded(counted(len(study.factors), "factor"), _factors(study)),
    )


def _outcome(study: Study) -> str:
    facts = {k: v for k, v in study.outcome.items() if isinstance(v, (bool, int, float))}
    shown = [
        (n.replace("_", " "), short(v) if isinstance(v, float) else str(v))
        for n, v in facts.items()
    ]
    return table(("found", ""), shown, [1]) if shown else ""


def _numbers(study: Study, extents: Mapping[str, Extent]) -> str:
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, units[name], *(short(v) for v in (one.mean, one.std, one.low, one.high)))
        for name in study.names("number")[:_MOST]
        if (one := extents[name]).runs
    ]
    head = ("number", "unit", "mean", "std", "lowest", "highest")
    return table(head, rows, range(2, 6)) if rows else ""


def _truths(study: Study) -> str:
    names = [name for name in study.names("truth") if name != FAILED][:_MOST]
    estimates = probabilities(study, names, _LEVEL) if names else {}
    if reason_against(study.plan):
        shares = [(n, f"{p.value:.4g}", f"{p.happened} of {p.runs}") for n, p in estimates.items()]
        return table(("event", "share", "runs"), shares, [1, 2]) if shares else ""
    rows = [
        (
            name,
            f"{one.value:.4g}",
            f"{one.low:.4g} to {one.high:.4g}" if isfinite(one.low) else "–",
            f"{one.happened} of {one.runs}",
        )
        for name, one in estimates.items()
    ]
    head = ("event", "probability", f"{_LEVEL:.0%} confidence", "runs")
    return table(head, rows, [1, 3]) if rows else ""


def _factors(study: Study) -> str:
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, factor_text(factor_of(name, plain)), units[name])
        for name, plain in study.plan["factors"].items()
    ]
    return table(("factor", "values", "unit"), rows)
