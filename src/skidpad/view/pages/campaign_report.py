"""The report of a campaign as one page, what a notebook shows of it, and its live progress.

However many runs there are, they are read some at a time, and what is drawn of them is as large.
"""

from __future__ import annotations

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

from ... import vehicles
from ...core import record
from ...core.checks import finite
from ...core.files import counted, listed
from ...core.model import Vehicle
from ...errors import InvalidValue, SkidpadError
from ...random.factors import Factor, Levels, LogRange, Normal, Steps, factor_of
from ...run.monte_carlo_runs import Probability
from ...run.trajectory import Trajectory
from ...study.engines import ProgressMonitor
from ...study.experiment import FAILED, RUN
from ...study.manoeuvres.evaluation import number_text
from ...study.results import Case, Study, lost_runs
from ...study.statistics import Interval, SobolIndices, reason_against, reason_for_no_interval
from ..film import Film
from ..plots import notebook
from ..plots.notebook import fold, heading, short
from ..sheet import Html, Sheet
from ..stages import trajectory_stage
from .campaign_data import (
    SHARES,
    Bins,
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
from .charts import BarGroup, bars_svg, histogram_svg, response_svg, surface_html
from .page import PageServer, write_page
from .report_shell import (
    LEAST_ROOM,
    ROOM,
    Replay,
    badge,
    contents,
    document,
    facts_list,
    figure,
    header,
    notes_list,
    play_link,
    remark,
    replay_data,
    replay_section,
    section,
    side_by_side,
)

MOST_FAILED = 10
"""Failed runs that are listed."""
_MOST, _MOST_OTHERS = 10, 20
"""Runs of a group, and of those that were kept for another reason."""
_UNASKED, _UNASKED_GROUPS = 3, 4
"""Runs of a column, and columns, where the plan does not say what is worst."""
_MOST_FACTORS = 12


def label(study: Study, name: str) -> str:
    """A name with its unit: "v_x in m/s"."""
    unit = next((one.unit for one in study.columns if one.name == name), "")
    return f"{name} in {unit}" if unit and unit != "1" else name


def percent(share: float) -> str:
    """As 95 % or 0.123 %."""
    return f"{100.0 * share:.3g} %".replace("-", "−")


def _named(study: Study, name: str, shown: str) -> Html:
    """A name with the meaning of its column below."""
    meaning = next((one.meaning for one in study.columns if one.name == name), "")
    return Html(f"{escape(shown)}<small>{escape(meaning)}</small>")


def spread_table(study: Study, spreads: Sequence[Spread]) -> str:
    """Mean and quantiles of each column, with intervals where some hold."""
    heads = ("", "runs", "mean", "std", "lowest", *map(percent, SHARES), "highest")
    rows: list[list[str]] = []
    for one in spreads:
        extent = one.extent
        lost = ((extent.without, "without"), (extent.infinite, "infinite"))
        beside = ", ".join(f"{count} {kind}" for count, kind in lost if count)
        rows.append(
            [
                _named(study, one.name, label(study, one.name)),
                Html(f"{extent.runs}{f'<small>{beside}</small>' if beside else ''}"),
                _with_interval(one.mean),
                number_text(extent.std),
                number_text(extent.low),
                *map(_with_interval, one.quantiles),
                number_text(extent.high),
            ]
        )
    return Sheet(heads, rows, range(1, len(heads))).report()


def _with_interval(number: Interval) -> str:
    if number.reason:
        return number_text(number.value)
    low, high = (number_text(end) if isfinite(end) else "?" for end in (number.low, number.high))
    return Html(f"{number_text(number.value)}<small>{low} to {high}</small>")


def probability_table(study: Study, estimates: Mapping[str, Probability], level: float) -> str:
    """How often what is true or false of a run happened, with intervals where some hold."""
    drawn = not reason_against(study.plan)
    heads = ["", "probability" if drawn else "share", f"{percent(level)} confidence", "runs"]
    rows = [
        [
            _named(study, name, name),
            number_text(one.value),
            f"{number_text(one.low)} to {number_text(one.high)}" if isfinite(one.low) else "–",
            f"{one.happened} of {one.runs}",
        ]
        for name, one in estimates.items()
    ]
    sheet = Sheet(heads, rows, range(1, len(heads)))
    intervals = any(isfinite(one.low) for one in estimates.values())
    return (sheet if intervals else sheet.without(2)).report()


def factor_sheet(study: Study) -> Sheet | None:
    """Factors of the runs with their values; None without factors."""
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, factor_text(factor_of(name, plain)), units.get(name, ""))
        for name, plain in study.plan["factors"].items()
    ]
    return Sheet(("factor", "values", "unit"), rows) if rows else None


_MOST_LISTED = 12


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


class CaseGroup(NamedTuple):
    """Runs that are listed together."""

    title: str
    column: str
    """Column that they were picked for, if any."""
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


def _group_table(study: Study, group: CaseGroup, films: Mapping[int, int]) -> str:
    factors = study.factors[:_MOST_FACTORS]
    column = [group.column] if group.column else []
    head = ["run", *(label(study, name) for name in (*column, *factors)), ""]
    rows: list[list[str]] = []
    for case in group.cases:
        own = _factors_of(study, case.run)
        value = [Html(f"<b>{number_text(case.value)}</b>")] if column else []
        link = Html(play_link(films[case.run])) if case.run in films else ""
        rows.append([str(case.run), *value, *(number_text(own[name]) for name in factors), link])
    return Sheet(head, rows, range(1, len(head) - 1)).report()


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
            value = f", {number_text(case.value)}" if group.column else ""
            room = ROOM / min(len(wanted), most)
            films[run] = Replay.of(group.title, f"run {run}{value}", film, room)
    return films


def _vehicle(study: Study) -> Vehicle | None:
    """The vehicle that was driven, as far as the campaign or its plan knows."""
    try:
        vehicle: Any = getattr(study.campaign.experiment, "vehicle", None)
    except (KeyError, SkidpadError):
        vehicle = None
    if isinstance(vehicle, Vehicle):
        return vehicle
    return _listed_vehicle(study.plan["experiment"].get("vehicle"))


def _listed_vehicle(name: Any) -> Vehicle | None:
    try:
        return vehicles.get(name)() if isinstance(name, str) else None
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
        return Film.of(*trajectory_stage({vehicle.name: drive}, driven, title=title))
    except SkidpadError:  # no pose, or not the states of this vehicle
        return None


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
            return remark("What the design finds is known when the campaign ends.")
        return section(study, design, outcome)
    facts = {
        name.replace("_", " "): number_text(value) if isinstance(value, float) else str(value)
        for name, value in outcome.items()
        if isinstance(value, (bool, int, float, str))
    }
    return _cards(facts) if facts and design.get("kind") != "saltelli" else ""


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
    instead = ""
    if scatter:  # independent runs that would have the same coefficient of variation
        runs = (1.0 - outcome["probability"]) / (outcome["probability"] * scatter**2)
        instead = f"instead of {float(f'{runs:.2g}'):,.0f} drawn ones".replace(",", " ")
    notes = {
        "probability": f"{number_text(outcome['low'])} to {number_text(outcome['high'])} "
        f"with {confidence} confidence",
        "runs": instead,
    }
    unknown = remark("No run reached the threshold: only the upper end is known.")
    reached = "" if outcome.get("reached") else unknown
    levels = outcome.get("levels", [])[:_MOST_LEVELS]
    rows = [
        (str(k), f"{number_text(one['limit'])}{unit}", number_text(one["share"]))
        for k, one in enumerate(levels, start=1)
    ]
    head = ("level", f"{name} beyond", "share of the runs of the level")
    table = Sheet(head, rows, (1, 2)).report()
    return (
        f"<p>How probable it is that <b>{escape(name)}</b> is {side} "
        f"{number_text(design['threshold'])}{escape(unit)}:</p>{_cards(facts, notes)}{reached}"
        f"<details><summary>{len(levels)} levels</summary>{table}</details>"
    )


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
            remarks.append(str(error))
            continue
        figures.append(figure(escape(label(study, name)), _index_bars(sobol)))
        if sobol.left_out:
            remarks.append(
                f"{name}: {sobol.left_out} of {sobol.left_out + sobol.samples} "
                "samples are left out, since a run of them has no number"
            )
    legend = (
        '<p class="source">Share of the variance that a factor explains: '
        '<i class="swatch b0"></i>alone, <i class="swatch b1"></i>with all that it does together '
        f"with others; with intervals of {percent(level)} confidence.</p>"
    )
    return f'{legend}{notes_list(remarks)}<div class="charts">{"".join(figures)}</div>'


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
    write_page(campaign_page(study, date=date, replay=replay, level=level), path)


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
    numbered = {run: k for k, run in enumerate(films)}
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
            "".join(
                f"<h3>{escape(group.title)}</h3>{_group_table(study, group, numbered)}"
                for group in groups
            ),
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
    badges = badge("good", "finished") if study.finished else badge("dim", "under way")
    if lost := lost_runs(study):
        badges = badge("bad", f"{counted(lost, 'run')} missing")
    if totals.failed:
        badges += " " + badge("bad", f"{totals.failed} failed")
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
    factors = factor_sheet(study)
    table = "" if factors is None else factors.report()
    text = json.dumps(_shorten(plan), indent=1, ensure_ascii=False)
    text = text if len(text) <= _PLAN_LETTERS else f"{text[:_PLAN_LETTERS]} …"
    return header(
        plan["name"],
        date,
        badges,
        f"<div class='plan'><div class='card'>{facts_list(facts)}</div>",
        f"<div class='card'>{table}</div></div>",
        *(f'<p class="bad">{escape(one)}</p>' for one in study.folder.damaged()),
        f"<details><summary>The whole plan</summary><pre>{escape(text)}</pre></details>",
    )


def _experiment_text(experiment: Mapping[str, Any]) -> str:
    facts = [
        f"{n.replace('_', ' ')} {v}" for n, v in experiment.items() if isinstance(v, (int, float))
    ]
    words = [v for v in experiment.values() if isinstance(v, str) and len(v) <= 40]
    return ", ".join([*words, *facts][:8])


def _shorten(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _shorten(one) for name, one in value.items()}
    if isinstance(value, list) and len(value) > _PLAN_ITEMS and not isinstance(value[0], Mapping):
        return [*map(_shorten, value[:_PLAN_ITEMS]), f"… {len(value)} in all"]
    return [_shorten(one) for one in value] if isinstance(value, list) else value


def _caution(study: Study, more: str, columns: Collection[str]) -> str:
    """How to read the shares and intervals of a section with these columns."""
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
    return remark(more)


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
        figure(escape(one.name) + _out_of_sight(one), histogram_svg(one, label(study, one.name)))
        for one in spreads
        if len(one.edges)
    )
    sure = f", with their intervals of {percent(level)} confidence" if drawn else ""
    about = f"Lines are at 5, 50 and 95 %{sure}."
    numbers, known = study.names("number"), {one.name for one in spreads}
    left, empty = numbers[MOST_COLUMNS:], [n for n in numbers[:MOST_COLUMNS] if n not in known]
    more = remark(f"Not drawn: {listed(list(left))}") if left else ""
    if empty:
        more += remark(f"Without a finite number: {listed(empty)}")
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
    about = remark(
        "Lines are means, bands hold 5 to 95 % of the runs; of what is true or false, its share"
        f"{sure}. Points are some of the runs. Factors that explain most of the variance come "
        "first."
    )
    return {
        "all-responses": ("Responses", about + responses),
        "all-surfaces": ("Surfaces", _surfaces(study, by_column, views, cut(cells))),
    }


def _responses(
    study: Study, column: str, own: Sequence[Response], view: View, points: Mapping[str, Any]
) -> str:
    figures = (
        figure(
            f"{escape(one.factor)} <small>explains {100.0 * one.strength:.0f} %</small>",
            response_svg(
                one,
                view,
                (points[one.factor], points[column]),
                (label(study, one.factor), label(study, column)),
            ),
        )
        for one in own[:MOST_FACTORS]
    )
    left = [one.factor for one in own[MOST_FACTORS:]]
    more = remark(f"Over others, less: {listed(left)}") if left else ""
    return f"<h3>{escape(column)}</h3>{side_by_side(figures, 'charts three')}{more}"


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
    figures = (
        figure(
            escape(label(study, one.column)),
            surface_html(
                one,
                views[one.column],
                (label(study, one.x), label(study, one.y)),
                design.get("threshold") if design.get("column") == one.column else None,
            ),
        )
        for one in surfaces_of(study, pairs, bins)
    )
    return side_by_side(figures, "charts three")


_NOTEBOOK_MOST = 20
_LEVEL = 0.95


def study_html(study: Study) -> str:
    """HTML for a notebook: how far a campaign is and what it found."""
    totals = totals_of(study, 0)
    state = "finished" if study.finished else "under way"
    failed = f"{counted(totals.failed, 'run')} failed" if totals.failed else ""
    reason = reason_against(study.plan, listed=True)
    found = [
        (name.replace("_", " "), short(value) if isinstance(value, float) else str(value))
        for name, value in study.outcome.items()
        if isinstance(value, (bool, int, float))
    ]
    units = {one.name: one.unit for one in study.columns}
    numbers = [
        (name, units[name], *(short(v) for v in (one.mean, one.std, one.low, one.high)))
        for name in study.names("number")[:_NOTEBOOK_MOST]
        if (one := totals.extents[name]).runs
    ]
    heads = ("number", "unit", "mean", "std", "lowest", "highest")
    events = [name for name in study.names("truth") if name != FAILED][:_NOTEBOOK_MOST]
    estimates = probabilities(study, events, _LEVEL) if events else {}
    factors = factor_sheet(study) or Sheet(("factor", "values", "unit"), ())
    return notebook.page(
        heading(study.plan["name"], f"{counted(totals.runs, 'run')}, {state}"),
        Sheet(("found", ""), found, [1]).notebook() if found else "",
        Sheet(heads, numbers, range(2, 6)).notebook() if numbers else "",
        notebook.events_table(estimates, _LEVEL, shares=bool(reason_against(study.plan))),
        notebook.remark(f"No probabilities: {reason}") if reason else "",
        notebook.warning(failed) if failed else "",
        fold(counted(len(study.factors), "factor"), factors.notebook()),
    )


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
        page = files("skidpad.view.pages").joinpath("progress", "page.html").read_text("utf-8")
        name = escape(str(monitor.plain()["name"]))
        self._server = PageServer(page.replace("{{name}}", name), port, self._data)
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
