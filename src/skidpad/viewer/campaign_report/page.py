"""The report of a campaign: one page that asks for nothing, for screens and for paper.

However many runs there are, they are read some at a time, and what is drawn of them is as large.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from ... import __version__
from ...brief import counted, listed
from ...campaigns.drawn import reason_against, reason_for_no_interval
from ...campaigns.experiment import FAILED
from ...campaigns.study import Study
from ...campaigns.summary import lost_runs
from ...checks import finite
from ...errors import InvalidValue
from ...files import replacing
from ...random.factors import factor_of
from ..report.shell import contents, document, replay_data, replay_section, section
from .bins import Bins, bins_of
from .cases import MOST_FAILED, case_groups, cases_html, films_of
from .charts import histogram_svg, response_svg, surface_html
from .findings import found_html, sensitivity_html
from .responses import Response, View, responses_of, sampled_runs, surfaces_of
from .summaries import Spread, Totals, probabilities, spread_of, totals_of
from .tables import factor_table, labelled, percent, probability_table, spread_table

__all__ = ["campaign_page", "write_campaign_report"]

MOST_COLUMNS, MOST_FACTORS = 12, 6
"""Columns that are drawn, and factors that each of them is drawn over, the strongest ones."""
MOST_POINTS = 250
"""Runs that are drawn as points."""
_MOST_PARTS, _RUNS_OF_PART = 24, 30
_MOST_CELLS, _RUNS_OF_CELL = 28, 4
_PLAN_LETTERS, _PLAN_ITEMS = 20_000, 12


def write_campaign_report(
    study: Study,
    path: str | os.PathLike[str],
    *,
    date: str = "",
    replay: bool = True,
    level: float = 0.95,
) -> None:
    """Write the report; the file is whole or not there."""
    page = campaign_page(study, date=date, replay=replay, level=level)
    with replacing(path) as temporary:
        temporary.write_text(page, "utf-8")


def campaign_page(study: Study, *, date: str = "", replay: bool = True, level: float = 0.95) -> str:
    """The report as text; `date` is printed below the title, `replay` adds the films of runs that
    were kept, `level` is the confidence of all intervals."""
    if not 0.0 < finite("level", level) < 1.0:
        raise InvalidValue(f"level = {level} must be between 0 and 1, such as 0.95")
    digest = study.digest()  # reads everything: what is damaged is left out of all that follows
    study.folder.verify_trajectories()
    totals = totals_of(study, MOST_FAILED)
    groups = case_groups(study, totals)
    films = films_of(study, groups) if replay else {}
    numbers = study.names("number")[:MOST_COLUMNS]
    truths = [name for name in study.names("truth") if name != FAILED or totals.failed]
    truths = truths[:MOST_COLUMNS]
    spreads = [one for name in numbers if (one := spread_of(study, name, level)) is not None]
    sections = {
        "what-was-found": ("What the design found", found_html(study)),
        "all-probabilities": ("Probabilities", _probabilities(study, truths, level)),
        "all-distributions": ("Distributions", _distributions(study, spreads, level)),
        "all-sensitivities": (
            "Sensitivity",
            sensitivity_html(study, [*numbers, *truths], level) if totals.runs else "",
        ),
        **_over_factors(study, totals, spreads, truths, level),
        "chosen-runs": (
            "Runs to look at",
            cases_html(study, groups, {run: k for k, run in enumerate(films)}),
        ),
    }
    shown = {anchor: pair for anchor, pair in sections.items() if pair[1]}
    entries = {anchor: title for anchor, (title, _) in shown.items()}
    entries |= {"replay-section": "Replay"} if films else {}
    body = [
        _head(study, totals, digest, date),
        contents(entries),
        *(section(anchor, *pair) for anchor, pair in shown.items()),
        replay_section(list(films.values()), "Run"),
    ]
    style = files("skidpad.viewer").joinpath("campaign_report/campaign.css").read_text("utf-8")
    title = f"Campaign: {study.plan['name']}"
    return document(title, "".join(body), replay_data(list(films.values())), style)


def _head(study: Study, totals: Totals, digest: str, date: str) -> str:
    plan, notes = study.plan, study.folder.notes
    made = ", ".join(filter(None, [date, f"skidpad {__version__}"]))
    done, text = ("good", "finished") if study.finished else ("dim", "under way")
    if lost := lost_runs(study):
        done, text = "bad", f"{counted(lost, 'run')} missing"
    badges = f'<span class="badge {done}">{text}</span>'
    if totals.failed:
        badges += f' <span class="badge bad">{totals.failed} failed</span>'
    design = plan["design"]
    settings = ", ".join(
        f"{name.replace('_', ' ')}{'' if value is True else f' {value}'}"
        for name, value in design.items()
        if name != "kind" and isinstance(value, (str, int, float)) and value is not False
    )
    share = f" ({percent(totals.failed / totals.runs)})" if totals.failed else ""
    seconds = notes.get("seconds")
    facts = {
        "runs": str(totals.runs),
        "failed": f"{totals.failed}{share}",
        "what is run": _experiment_text(plan["experiment"]),
        "design": f"{design.get('kind', '').replace('_', ' ')}: {settings}",
        "seed": str(plan["seed"]),
        "time": f"{seconds:.3g} s" if isinstance(seconds, (int, float)) else "",
        "digest": digest,
    }
    lines = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text
    )
    damage = "".join(f'<p class="bad">{escape(one)}</p>' for one in study.folder.damaged())
    return (
        f"<header><h1>{escape(plan['name'])}</h1><p class='made'>{escape(made)} {badges}</p>"
        f"<div class='plan'><div class='card'><dl>{lines}</dl></div>"
        f"<div class='card'>{factor_table(study)}</div></div>"
        f"{damage}"
        f"<details><summary>The whole plan</summary><pre>{escape(_plan_text(plan))}</pre></details>"
        "</header>"
    )


def _experiment_text(experiment: Mapping[str, Any]) -> str:
    facts = [
        f"{n.replace('_', ' ')} {v}" for n, v in experiment.items() if isinstance(v, (int, float))
    ]
    words = [v for v in experiment.values() if isinstance(v, str) and len(v) <= 40]
    return ", ".join([*words, *facts][:8])


def _plan_text(plan: Mapping[str, Any]) -> str:
    text = json.dumps(_shortened(plan), indent=1, ensure_ascii=False)
    return text if len(text) <= _PLAN_LETTERS else f"{text[:_PLAN_LETTERS]} …"


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _shortened(one) for name, one in value.items()}
    if isinstance(value, list) and len(value) > _PLAN_ITEMS and not isinstance(value[0], Mapping):
        return [*map(_shortened, value[:_PLAN_ITEMS]), f"… {len(value)} in all"]
    return [_shortened(one) for one in value] if isinstance(value, list) else value


def _caution(study: Study, more: str, columns: Collection[str]) -> str:
    """What to think of the shares and intervals of a section with these columns."""
    reason = reason_against(study.plan)
    even = {"sobol": "Sobol points", "latin_hypercube": "a Latin hypercube"}
    kind = study.plan["design"].get("kind", "")
    if reason:
        more += f" Shares of the runs, no probabilities: {reason}."
    elif kind in even:
        more += f" Runs of {even[kind]} are taken as independent ones, which are less even."
    elif kind == "saltelli":
        more += " Of each sample its first and last run count, which are independent."
    for name in columns if not reason else ():
        if own := reason_for_no_interval(study.plan, name):
            more += f" No interval of {name}: {own}."
    return f'<p class="source">{escape(more)}</p>'


def _probabilities(study: Study, truths: Sequence[str], level: float) -> str:
    estimates = probabilities(study, truths, level) if truths else {}
    if not estimates:
        return ""
    caution = _caution(
        study, "Intervals by Clopper and Pearson: they hold the truth at least so often.", estimates
    )
    return caution + probability_table(study, estimates, level)


def _distributions(study: Study, spreads: Sequence[Spread], level: float) -> str:
    if not spreads:
        return ""
    drawn = not reason_against(study.plan)
    figures = "".join(
        f"<figure><figcaption>{escape(one.name)}{_out_of_sight(one)}</figcaption>"
        f"{histogram_svg(one, labelled(study, one.name))}</figure>"
        for one in spreads
        if len(one.edges)
    )
    sure = f", with their intervals of {percent(level)} confidence" if drawn else ""
    about = f"Lines are at 5, 50 and 95 %{sure}."
    numbers, known = study.names("number"), {one.name for one in spreads}
    left, empty = numbers[MOST_COLUMNS:], [n for n in numbers[:MOST_COLUMNS] if n not in known]
    more = f'<p class="source">Not drawn: {escape(listed(list(left)))}</p>' if left else ""
    if empty:
        more += f'<p class="source">Without a finite number: {escape(listed(empty))}</p>'
    return (
        f"{_caution(study, about, [one.name for one in spreads])}{spread_table(study, spreads)}"
        f'<div class="charts">{figures}</div>{more}'
    )


def _out_of_sight(spread: Spread) -> str:
    beyond = [
        f"{counted(count, 'run')} further {side}"
        for count, side in ((spread.below, "left"), (spread.above, "right"))
        if count
    ]
    return f" <small>{', '.join(beyond)}</small>" if beyond else ""


def _over_factors(
    study: Study, totals: Totals, spreads: Sequence[Spread], truths: Sequence[str], level: float
) -> dict[str, tuple[str, str]]:
    """The sections of responses and of surfaces."""
    factors = {name: factor_of(name, plain) for name, plain in study.plan["factors"].items()}
    extents = totals.extents
    views: dict[str, View] = {
        one.name: (float(one.edges[0]), float(one.edges[-1])) for one in spreads if len(one.edges)
    }
    views |= dict.fromkeys(truths, (0.0, 1.0))

    def cut(parts: int) -> dict[str, Bins]:
        pairs = {name: bins_of(one, extents[name], parts) for name, one in factors.items()}
        return {name: bins for name, bins in pairs.items() if bins is not None}

    parts = min(max(totals.runs // _RUNS_OF_PART, 4), _MOST_PARTS)
    bins = cut(parts)
    if not bins or not views:
        return {}
    drawn = not reason_against(study.plan)
    by_column: dict[str, list[Response]] = {}
    for one in responses_of(study, views, bins, level):
        by_column.setdefault(one.column, []).append(one)
    points = sampled_runs(study, [*bins, *views], totals.runs, MOST_POINTS)
    responses = "".join(
        _responses(study, column, own, views[column], points) for column, own in by_column.items()
    )
    cells = min(max(int((totals.runs / _RUNS_OF_CELL) ** 0.5), 4), _MOST_CELLS)
    sure = f" with {percent(level)} confidence" if drawn else ""
    about = (
        '<p class="source">Lines are means, bands hold 5 to 95 % of the runs; of what is true or '
        f"false, its share{sure}. Points are some of the runs. Factors that explain most of the "
        "variance come first.</p>"
    )
    return {
        "all-responses": ("Responses", about + responses),
        "all-surfaces": ("Surfaces", _surfaces(study, by_column, views, cut(cells))),
    }


def _responses(
    study: Study, column: str, own: Sequence[Response], view: View, points: Mapping[str, Any]
) -> str:
    figures = "".join(
        f"<figure><figcaption>{escape(one.factor)} "
        f"<small>explains {100.0 * one.strength:.0f} %</small></figcaption>"
        + response_svg(
            one,
            view,
            (points[one.factor], points[column]),
            (labelled(study, one.factor), labelled(study, column)),
        )
        + "</figure>"
        for one in own[:MOST_FACTORS]
    )
    left = [one.factor for one in own[MOST_FACTORS:]]
    more = f'<p class="source">Over others, less: {escape(listed(left))}</p>' if left else ""
    return f'<h3>{escape(column)}</h3><div class="charts three">{figures}</div>{more}'


def _surfaces(
    study: Study,
    by_column: Mapping[str, Sequence[Response]],
    views: Mapping[str, View],
    bins: Mapping[str, Bins],
) -> str:
    """Each column over the two factors that explain most of it."""
    pairs = {
        column: (own[0].factor, own[1].factor)
        for column, own in by_column.items()
        if len(own) > 1 and own[0].strength > 0.0
    }
    design = study.plan["design"]
    figures = "".join(
        f"<figure><figcaption>{escape(labelled(study, one.column))}</figcaption>"
        + surface_html(
            one,
            views[one.column],
            (labelled(study, one.x), labelled(study, one.y)),
            design.get("threshold") if design.get("column") == one.column else None,
        )
        + "</figure>"
        for one in surfaces_of(study, pairs, bins)
    )
    return f'<div class="charts three">{figures}</div>' if figures else ""
