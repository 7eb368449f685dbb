"""What the design of a campaign found, and how the factors share in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ...campaigns.indices import SobolIndices
from ...campaigns.study import Study
from ...errors import SkidpadError
from ...manoeuvres.evaluation import number_text
from .charts import BarGroup, bars_svg
from .tables import labelled, percent, table

__all__ = ["found_html", "sensitivity_html"]

_MOST_LEVELS = 40


def found_html(study: Study) -> str:
    """As cards and a sentence; nothing of designs that only choose runs."""
    outcome, design = study.outcome, study.plan["design"]
    section = _SECTIONS.get(design.get("kind", ""))
    if section is not None:
        if not outcome:
            return '<p class="source">What the design finds is known when the campaign ends.</p>'
        return section(study, design, outcome)
    facts = {k: v for k, v in outcome.items() if isinstance(v, (bool, int, float, str))}
    return _cards(_plain(facts)) if facts and design.get("kind") != "saltelli" else ""


def _plain(facts: Mapping[str, Any]) -> dict[str, str]:
    return {
        name.replace("_", " "): number_text(value) if isinstance(value, float) else str(value)
        for name, value in facts.items()
    }


def _cards(facts: Mapping[str, str], notes: Mapping[str, str] | None = None) -> str:
    cards = "".join(
        f'<div class="card"><h3>{escape(name)}</h3><p><b>{escape(text)}</b>'
        f"<small>{escape((notes or {}).get(name, ''))}</small></p></div>"
        for name, text in facts.items()
    )
    return f'<div class="cards">{cards}</div>'


def _unit(study: Study, name: str) -> str:
    return next((f" {one.unit}" for one in study.columns if one.name == name and one.unit), "")


def _rare(study: Study, design: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    name, unit = design["column"], _unit(study, design["column"])
    side = "at least" if design.get("above", True) else "at most"
    scatter = outcome.get("coefficient_of_variation")
    facts = {
        "probability": number_text(outcome["probability"]),
        "coefficient of variation": "–" if scatter is None else percent(scatter),
        "runs": str(outcome.get("runs", "")),
    }
    confidence = percent(outcome.get("confidence", 0.95))
    notes = {
        "probability": f"{number_text(outcome['low'])} to {number_text(outcome['high'])} "
        f"with {confidence} confidence",
        "runs": f"instead of {_as_many(outcome)} drawn ones" if scatter else "",
    }
    reached = "" if outcome.get("reached") else (
        '<p class="source">No run reached the threshold: only the upper end is known.</p>'
    )  # fmt: skip
    levels = outcome.get("levels", [])[:_MOST_LEVELS]
    rows = [
        (str(k), f"{number_text(one['limit'])}{unit}", number_text(one["share"]))
        for k, one in enumerate(levels, start=1)
    ]
    head = ("level", f"{name} beyond", "share of the runs of the level")
    return (
        f"<p>How probable it is that <b>{escape(name)}</b> is {side} "
        f"{number_text(design['threshold'])}{escape(unit)}:</p>{_cards(facts, notes)}{reached}"
        f"<details><summary>{len(levels)} levels</summary>{table(head, rows, (1, 2))}</details>"
    )


def _as_many(outcome: Mapping[str, Any]) -> str:
    """Independent runs that would have the same coefficient of variation, about."""
    probability = outcome["probability"]
    runs = (1.0 - probability) / (probability * outcome["coefficient_of_variation"] ** 2)
    return f"{float(f'{runs:.2g}'):,.0f}".replace(",", " ")


def _converged(study: Study, design: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    name, quantity = design["column"], design.get("quantity", "mean")
    unit = "" if quantity == "probability" else _unit(study, name)
    what = quantity if isinstance(quantity, str) else f"{percent(quantity[1])} quantile"
    limit = design.get("threshold")
    condition = "" if limit is None else f" that it is at least {number_text(limit)}"
    low, high = outcome["low"], outcome["high"]
    width = number_text(high - low) if low is not None and high is not None else "–"
    facts = {
        what: f"{number_text(outcome['value'])}{unit}",
        "width of the interval": f"{width}{unit}",
        "runs": str(outcome["runs"]),
    }
    notes = {
        what: f"{number_text(low)} to {number_text(high)} with {percent(outcome['level'])} "
        "confidence",
        "width of the interval": f"{'' if outcome['reached'] else 'not '}as narrow as wanted: "
        f"{number_text(design['width'])}{unit}",
        "runs": f"after {outcome['looks']} looks, {outcome['without']} without a number",
    }
    return f"<p>{escape(what)} of <b>{escape(name)}</b>{condition}:</p>{_cards(facts, notes)}"


def _refined(study: Study, design: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    name = design["column"]
    limit = f"{number_text(design['threshold'])}{_unit(study, name)}"
    if not outcome.get("crossed"):
        return (
            f"<p>All of the {outcome.get('runs', '')} runs have <b>{escape(name)}</b> on one side "
            f"of {escape(limit)}.</p>"
        )
    facts = {"gap": percent(outcome["gap"]), "runs": str(outcome["runs"])}
    notes = {"gap": "distance of the border from the next run, of the factors' ranges, at most"}
    about = f"<p>Where <b>{escape(name)}</b> crosses {escape(limit)}:</p>"
    return f"{about}{_cards(facts, notes)}"


_SECTIONS = {"subset_simulation": _rare, "converging": _converged, "refinement": _refined}


def sensitivity_html(study: Study, names: Sequence[str], level: float) -> str:
    """Sobol's indices of columns as bars; nothing of other designs."""
    if study.plan["design"].get("kind") != "saltelli":
        return ""
    figures: list[str] = []
    remarks: list[str] = []
    for name in names:
        try:
            sobol = study.sensitivity(name, level)
        except SkidpadError as error:
            remarks.append(f"<li>{escape(str(error))}</li>")
            continue
        figures.append(f"<figure><figcaption>{escape(labelled(study, name))}</figcaption>"
                       f"{_index_bars(sobol)}</figure>")  # fmt: skip
        if sobol.left_out:
            remarks.append(
                f"<li>{escape(name)}: {sobol.left_out} of {sobol.left_out + sobol.samples} "
                "samples are left out, since a run of them has no number</li>"
            )
    notes = f'<ul class="notes">{"".join(remarks)}</ul>' if remarks else ""
    legend = (
        '<p class="source">Share of the variance that a factor explains: '
        '<i class="swatch b0"></i>alone, <i class="swatch b1"></i>with all that it does together '
        f"with others; with intervals of {percent(level)} confidence.</p>"
    )
    return f'{legend}{notes}<div class="charts">{"".join(figures)}</div>'


def _index_bars(sobol: SobolIndices) -> str:
    order = np.argsort(-sobol.total, kind="stable")
    groups = [
        BarGroup(
            sobol.factors[k],
            (
                (float(sobol.first[k]), float(sobol.first_low[k]), float(sobol.first_high[k])),
                (float(sobol.total[k]), float(sobol.total_low[k]), float(sobol.total_high[k])),
            ),
        )
        for k in order.tolist()
    ]
    low, high = float(sobol.first_low.min()), float(sobol.total_high.max())
    # Of a column with runs far out hardly anything is known: intervals leave the picture.
    low, high = min(-0.05, max(low, -0.5)), max(1.05, min(high, 1.5))
    return bars_svg(groups, "share of the variance", low, high)
