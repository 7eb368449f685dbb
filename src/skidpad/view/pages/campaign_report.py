"""The report of a campaign as one page, and what a notebook shows of it.

Runs to look at: the most extreme, those that failed, those that were kept; with their films.

What the design of a campaign found, and how the factors share in it.

The report of a campaign: one page that asks for nothing, for screens and for paper.

However many runs there are, they are read some at a time, and what is drawn of them is as large.

What a notebook shows of a campaign: how far it is, what it found, and its numbers.

How far a campaign is, as one live page of this machine that ends with it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Collection, Mapping, Sequence
from html import escape
from importlib.resources import files
from math import isfinite
from threading import Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...core import record
from ...core.checks import finite
from ...core.files import counted, listed, replacing
from ...core.model import Vehicle
from ...errors import InvalidValue, SkidpadError
from ...random.factors import factor_of
from ...run.trajectory import Trajectory
from ...study.engines import ProgressMonitor
from ...study.experiment import FAILED, RUN
from ...study.manoeuvres.evaluation import number_text
from ...study.results import Case, Study, lost_runs
from ...study.statistics import SobolIndices, reason_against, reason_for_no_interval
from ...vehicles import named
from ..film import Film
from ..plots.notebook import folded, heading, page, remark, short, warning
from ..plots.notebook import table as notebook_table
from ..stages import trajectory_stage
from .campaign_charts import (
    BarGroup,
    bars_svg,
    factor_table,
    factor_text,
    histogram_svg,
    html_table,
    labelled,
    percent,
    probability_table,
    response_svg,
    spread_table,
    surface_html,
    table,
)
from .campaign_data import (
    Bins,
    Extent,
    Response,
    Spread,
    Totals,
    View,
    bins_of,
    probabilities,
    responses_of,
    sampled_runs,
    spread_of,
    surfaces_of,
    totals_of,
)
from .page import PageServer, packed
from .report_shell import (
    FPS,
    LEAST_ROOM,
    ROOM,
    Replay,
    contents,
    document,
    play_link,
    replay_data,
    replay_section,
    section,
)

MOST_FAILED = 10
"""Failed runs that are listed."""
_MOST, _MOST_OTHERS = 10, 20
"""Runs of a group, and of those that were kept for another reason."""
_UNASKED, _UNASKED_GROUPS = 3, 4
"""Runs of a column, and columns, where the plan does not say what is worst."""
_MOST_FACTORS = 12


class CaseGroup(NamedTuple):
    """Runs that are listed together."""

    title: str
    column: str
    """What they were picked for; empty of those that were not."""
    cases: tuple[Case, ...]


def case_groups(study: Study, totals: Totals) -> list[CaseGroup]:
    """As the plan keeps them; of one that keeps none, the highest of the first columns."""
    keep = study.plan.get("keep", {})
    groups = [
        CaseGroup(
            f"{side} {name}", name, study.worst(name, min(count, _MOST), lowest=side == "Lowest")
        )
        for side, wanted in (("Highest", keep.get("highest")), ("Lowest", keep.get("lowest")))
        for name, count in (wanted or {}).items()
    ]
    if not groups:
        groups = [
            CaseGroup(f"Highest {name}", name, study.worst(name, _UNASKED))
            for name in study.names("number")[:_UNASKED_GROUPS]
        ]
    if totals.first_failed:
        more = f", {len(totals.first_failed)} of {totals.failed}"
        title = f"Failed{more if totals.failed > len(totals.first_failed) else ''}"
        groups.append(CaseGroup(title, "", tuple(Case(k, np.nan) for k in totals.first_failed)))
    shown = {case.run for group in groups for case in group.cases}
    others = [k for k in study.folder.trajectories if k not in shown][:_MOST_OTHERS]
    if others:
        groups.append(CaseGroup("Others kept", "", tuple(Case(k, np.nan) for k in others)))
    return [group for group in groups if group.cases]


def cases_html(study: Study, groups: Sequence[CaseGroup], films: Mapping[int, int]) -> str:
    """A table for each group; `films` are the numbers of films by run."""
    return "".join(
        f"<h3>{escape(group.title)}</h3>{_group_table(study, group, films)}" for group in groups
    )


def _group_table(study: Study, group: CaseGroup, films: Mapping[int, int]) -> str:
    factors = study.factors[:_MOST_FACTORS]
    column = [group.column] if group.column else []
    head = ["run", *(labelled(study, name) for name in (*column, *factors)), ""]
    rows: list[list[str]] = []
    for case in group.cases:
        own = _factors_of(study, case.run)
        value = [f"<b>{number_text(case.value)}</b>"] if column else []
        link = play_link(films[case.run]) if case.run in films else ""
        rows.append([str(case.run), *value, *(number_text(own[name]) for name in factors), link])
    return html_table(head, rows, range(1, len(head) - 1))


def _factors_of(study: Study, run: int) -> dict[str, float]:
    """NaN where the run itself is missing, whose trajectory may be there."""
    read = study.folder.read((RUN, *study.factors), run, run + 1)
    return {name: float(read[name][0]) if len(read[RUN]) else np.nan for name in study.factors}


def films_of(study: Study, groups: Sequence[CaseGroup]) -> dict[int, Replay]:
    """Films by run, of the runs that were kept and can be drawn."""
    vehicle = _vehicle(study)
    kept = set(study.folder.trajectories)
    wanted = {
        case.run: (group, case) for group in groups for case in group.cases if case.run in kept
    }
    most = int(ROOM / LEAST_ROOM)
    films: dict[int, Replay] = {}
    for run, (group, case) in list(wanted.items())[:most]:
        film = _film(study, run, vehicle)
        if film is not None:
            block = packed(film.thinned(FPS), ROOM / min(len(wanted), most))
            value = f", {number_text(case.value)}" if group.column else ""
            coded = base64.b64encode(block).decode()
            films[run] = Replay(group.title, f"run {run}{value}", coded)
    return films


def _vehicle(study: Study) -> Vehicle | None:
    """What was driven, as far as the campaign or its plan knows."""
    try:
        vehicle: Any = getattr(study.campaign.experiment, "vehicle", None)
    except (KeyError, SkidpadError):
        vehicle = None
    if isinstance(vehicle, Vehicle):
        return vehicle
    return _listed_vehicle(study.plan["experiment"].get("vehicle"))


def _listed_vehicle(name: Any) -> Vehicle | None:
    try:
        return named(name) if isinstance(name, str) else None
    except SkidpadError:
        return None


def _film(study: Study, run: int, vehicle: Vehicle | None) -> Film | None:
    """None where nothing can be drawn."""
    try:
        drive = _finite_part(study.folder.trajectory(run))
        vehicle = vehicle or _listed_vehicle(drive and drive.name)
        if drive is None or vehicle is None:
            return None
        own = record.names(type(vehicle.params))
        factors = {k: v for k, v in _factors_of(study, run).items() if k in own}
        driven = vehicle.with_params(**factors) if factors else vehicle
        title = f"{study.plan['name']}: run {run}"
        stage, times, rows = trajectory_stage({vehicle.name: drive}, driven, title=title)
    except SkidpadError:  # no pose, or not the states of this vehicle
        return None
    return Film(stage, times, rows.astype(np.float32))


def _finite_part(run: Trajectory) -> Trajectory | None:
    """Until it diverges; None where less than two samples are left."""
    driven = [one.values for one in run.columns if one.role in ("state", "input")]
    lost = np.flatnonzero(~np.isfinite(np.array(driven)).all(axis=0))
    end = int(lost[0]) if lost.size else len(run)
    return None if end < 2 else run if end == len(run) else run[:end]


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
    style = files("skidpad.view.pages").joinpath("campaign/campaign.css").read_text("utf-8")
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


_NOTEBOOK_MOST = 20
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
    return notebook_table(("found", ""), shown, [1]) if shown else ""


def _numbers(study: Study, extents: Mapping[str, Extent]) -> str:
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, units[name], *(short(v) for v in (one.mean, one.std, one.low, one.high)))
        for name in study.names("number")[:_NOTEBOOK_MOST]
        if (one := extents[name]).runs
    ]
    head = ("number", "unit", "mean", "std", "lowest", "highest")
    return notebook_table(head, rows, range(2, 6)) if rows else ""


def _truths(study: Study) -> str:
    names = [name for name in study.names("truth") if name != FAILED][:_NOTEBOOK_MOST]
    estimates = probabilities(study, names, _LEVEL) if names else {}
    if reason_against(study.plan):
        shares = [(n, f"{p.value:.4g}", f"{p.happened} of {p.runs}") for n, p in estimates.items()]
        return notebook_table(("event", "share", "runs"), shares, [1, 2]) if shares else ""
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
    return notebook_table(head, rows, [1, 3]) if rows else ""


def _factors(study: Study) -> str:
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, factor_text(factor_of(name, plain)), units[name])
        for name, plain in study.plan["factors"].items()
    ]
    return notebook_table(("factor", "values", "unit"), rows)


_ATTENTION = 3.0
"""Time in s after which a page that did not ask has been closed."""
_FAREWELL = 2.0
"""Time in s that an open page has to see the end."""
_LOOK = 0.05


class LivePage:
    """Serves the page in a `with` block, at an address that others cannot guess."""

    def __init__(self, monitor: ProgressMonitor, port: int = 0) -> None:
        self._monitor = monitor
        self._asked = -_ATTENTION
        self._server = PageServer(_page(str(monitor.plain()["name"])), port, self._data)
        self.url = self._server.url
        self._thread = Thread(target=self._server.run, name="campaign page", daemon=True)

    def _data(self) -> str:
        self._asked = perf_counter()
        return json.dumps(self._monitor.plain(), allow_nan=False)

    def __enter__(self) -> LivePage:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        end = perf_counter()
        if kind is None and end - self._asked < _ATTENTION:
            while self._asked < end and perf_counter() - end < _FAREWELL:
                sleep(_LOOK)
            sleep(_LOOK)  # until the answer is on its way
        self._server.stop()
        self._thread.join()


def _page(name: str) -> str:
    text = files("skidpad.view.pages").joinpath("progress", "page.html").read_text("utf-8")
    return text.replace("{{name}}", escape(name))
