"""Tables of the report of a campaign, as HTML."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape

import numpy as np

from ...campaigns.answers import Interval
from ...campaigns.drawn import reason_against
from ...campaigns.study import Study
from ...manoeuvres.evaluation import number_text
from ...random.factors import Factor, Levels, LogRange, Normal, Steps, factor_of
from ...run.monte_carlo.intervals import Probability
from .summaries import SHARES, Spread

__all__ = [
    "factor_table",
    "factor_text",
    "labelled",
    "percent",
    "probability_table",
    "spread_table",
    "table",
]

_MOST_LISTED = 12
_UNFOLDED = 3
"""Columns of a table that fit on a narrow screen."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Rows of texts, of which `numbers` stand to the right; all are escaped."""
    body = [[escape(cell) for cell in row] for row in rows]
    return html_table(head, body, numbers)


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()
) -> str:
    """The same of cells that are HTML already.

    On narrow screens rows of many cells are folded: one line for each of them, with its head.
    """
    kinds = ["number" if k in numbers else "text" for k in range(len(head))]
    heads = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>'
        for kind, name in zip(kinds, head, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(
            f'<td class="{kind}" data-head="{escape(name)}">{cell}</td>'
            for kind, name, cell in zip(kinds[1:], head[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    folds = ' class="metrics"' if len(head) > _UNFOLDED else ""
    return (
        f'<div class="scroll"><table{folds}><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def labelled(study: Study, name: str) -> str:
    """A name with its unit: "v_x in m/s"."""
    unit = next((one.unit for one in study.columns if one.name == name), "")
    return f"{name} in {unit}" if unit and unit != "1" else name


def percent(share: float) -> str:
    """As 95 % or 0.123 %."""
    return f"{100.0 * share:.3g} %".replace("-", "−")


def spread_table(study: Study, spreads: Sequence[Spread]) -> str:
    """Mean and quantiles of each column, with intervals where some hold."""
    meanings = {one.name: one.meaning for one in study.columns}
    quantiles = [percent(share) for share in SHARES]
    head = ("", "runs", "mean", "std", "lowest", *quantiles, "highest")
    rows: list[list[str]] = []
    for one in spreads:
        extent = one.extent
        lost = [f"{extent.without} without" if extent.without else "",
                f"{extent.infinite} infinite" if extent.infinite else ""]  # fmt: skip
        told = ", ".join(filter(None, lost))
        rows.append(
            [
                f"{escape(labelled(study, one.name))}"
                f"<small>{escape(meanings.get(one.name, ''))}</small>",
                f"{extent.runs}{f'<small>{told}</small>' if told else ''}",
                _with_interval(one.mean),
                number_text(extent.std),
                number_text(extent.low),
                *(_with_interval(quantile) for quantile in one.quantiles),
                number_text(extent.high),
            ]
        )
    return html_table(head, rows, range(1, len(head)))


def _with_interval(number: Interval) -> str:
    if number.reason:
        return number_text(number.value)
    low = number_text(number.low) if np.isfinite(number.low) else "?"
    high = number_text(number.high) if np.isfinite(number.high) else "?"
    return f"{number_text(number.value)}<small>{low} to {high}</small>"


def probability_table(study: Study, estimates: Mapping[str, Probability], level: float) -> str:
    """Of what is true or false of a run, with intervals where some hold."""
    meanings = {one.name: one.meaning for one in study.columns}
    intervals = any(np.isfinite(one.low) for one in estimates.values())
    drawn = not reason_against(study.plan)
    head = ["", "probability" if drawn else "share", f"{percent(level)} confidence", "runs"]
    rows = [
        [
            f"{escape(name)}<small>{escape(meanings.get(name, ''))}</small>",
            number_text(one.value),
            f"{number_text(one.low)} to {number_text(one.high)}" if np.isfinite(one.low) else "–",
            f"{one.happened} of {one.runs}",
        ]
        for name, one in estimates.items()
    ]
    if not intervals:
        del head[2]
        for row in rows:
            del row[2]
    return html_table(head, rows, range(1, len(head)))


def factor_table(study: Study) -> str:
    """What differs between runs."""
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, factor_text(factor_of(name, plain)), units.get(name, ""))
        for name, plain in study.plan["factors"].items()
    ]
    return table(("factor", "values", "unit"), rows) if rows else ""


def factor_text(factor: Factor) -> str:
    """A factor in words: "1 to 5", "normal, 3 ± 0.1, 2 to 4"."""
    ends = f"{number_text(factor.low)} to {number_text(factor.high)}"
    match factor:
        case LogRange():
            return f"{ends}, ratios alike"
        case Normal(mean=mean, std=std):
            return f"normal, {number_text(mean)} ± {number_text(std)}, {ends}"
        case Steps(count=count):
            return f"{ends} in {count} steps"
        case Levels(values=values):
            shown = ", ".join(map(number_text, values[:_MOST_LISTED]))
            return f"{shown}, … ({len(values)} in all)" if len(values) > _MOST_LISTED else shown
        case _:
            return ends
