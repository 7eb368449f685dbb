"""Campaign report as one page, its summary for a notebook, and its live progress page.

Runs are read in batches, and the size of the page does not depend on their number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from html import escape
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
from ...study.engines import ProgressMonitor
from ...study.experiment import FAILED, RUN
from ...study.manoeuvres.evaluation import number_text
from ...study.results import (
    Case,
    Interval,
    Study,
    lost_runs,
    reason_against,
    reason_for_no_interval,
)
from ..film import Film
from ..plots import notebook
from ..plots.notebook import fold, heading, short
from ..sheet import Html, Sheet
from ..stages import trajectory_stage
from . import campaign_data as data
from . import page as html
from .charts import BarGroup, bars_svg, histogram_svg, response_svg, surface_html

MOST_FAILED = 10
"""Most failed runs that are listed."""
_MOST, _MOST_OTHERS = 10, 20
"""Largest number of runs of a group, and of runs that were stored for another reason."""
_UNASKED, _UNASKED_GROUPS = 3, 4
"""Largest number of runs per column, and of columns, if the plan does not select runs to store."""
_MOST_FACTORS = 12


def _with_interval(number: Interval) -> str:
    if number.reason:
        return number_text(number.value)
    low, high = (number_text(end) if isfinite(end) else "?" for end in (number.low, number.high))
    return Html(f"{number_text(number.value)}<small>{low} to {high}</small>")


def factor_sheet(study: Study) -> Sheet | None:
    """Factors of the runs with their values and units; None without factors."""
    units = {one.name: one.unit for one in study.columns}
    rows = [
        (name, factor_text(factor_of(name, plain)), units.get(name, ""))
        for name, plain in study.plan["factors"].items()
    ]
    return Sheet(("factor", "values", "unit"), rows) if rows else None


_MOST_LISTED = 12


def factor_text(factor: Factor) -> str:
    """A factor in words, such as "1 to 5" or "normal, 3 ± 0.1, 2 to 4"."""
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
    title: str
    column: str
    """Column by which they were selected, if any."""
    cases: tuple[Case, ...]


def case_groups(study: Study, totals: data.Totals) -> list[CaseGroup]:
    """Runs as the plan stores them; if it stores none, the highest of the first columns."""
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


def _factors_of(study: Study, run: int) -> dict[str, float]:
    """Factors of a run; NaN if the row of the run is missing, which is possible even if its
    trajectory is stored."""
    read = study.folder.read((RUN, *study.factors), run, run + 1)
    return {name: float(read[name][0]) if len(read[RUN]) else np.nan for name in study.factors}


def films_of(study: Study, groups: Sequence[CaseGroup]) -> dict[int, html.Replay]:
    """Replay films of the stored runs that can be drawn, by run number."""
    vehicle = _vehicle(study)
    kept = set(study.folder.trajectories)
    wanted = {
        case.run: (group, case) for group in groups for case in group.cases if case.run in kept
    }
    most = int(html.ROOM / html.LEAST_ROOM)
    films: dict[int, html.Replay] = {}
    for run, (group, case) in list(wanted.items())[:most]:
        if (film := _film(study, run, vehicle)) is not None:
            value = f", {number_text(case.value)}" if group.column else ""
            room = html.ROOM / min(len(wanted), most)
            films[run] = html.Replay.of(group.title, f"run {run}{value}", film, room)
    return films


def _vehicle(study: Study) -> Vehicle | None:
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
    """Film of a stored run; None if it cannot be drawn."""
    try:
        drive = study.folder.trajectory(run)
        driven = [one.values for one in drive.columns if one.role in ("state", "input")]
        lost = np.flatnonzero(~np.isfinite(np.array(driven)).all(axis=0))  # it diverged
        end = int(lost[0]) if lost.size else len(drive)
        vehicle = vehicle or _listed_vehicle(drive.name)
        if end < 2 or vehicle is None:
            return None
        own = record.names(type(vehicle.params))
        factors = {k: v for k, v in _factors_of(study, run).items() if k in own}
        vehicle = vehicle.with_params(**factors) if factors else vehicle
        title = f"{study.plan['name']}: run {run}"
        return Film.of(*trajectory_stage({vehicle.name: drive[:end]}, vehicle, title=title))
    except SkidpadError:  # no pose, or not the states of this vehicle
        return None


_MOST_LEVELS = 40


def found_html(study: Study) -> str:
    """Result of an adaptive design as cards and a sentence; empty for plain sampling designs."""
    outcome, design = study.outcome, study.plan["design"]
    describe = _SECTIONS.get(design.get("kind", ""))
    if describe is not None:
        if not outcome:
            return html.remark("What the design finds is known when the campaign ends.")
        return describe(study, design, outcome)
    facts = {
        name.replace("_", " "): number_text(value) if isinstance(value, float) else str(value)
        for name, value in outcome.items()
        if isinstance(value, (bool, int, float, str))
    }
    return html.fact_cards(facts) if facts and design.get("kind") != "saltelli" else ""


def _unit(study: Study, name: str) -> str:
    return next((f" {one.unit}" for one in study.columns if one.name == name and one.unit), "")


def _rare(study: Study, design: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    name, unit = design["column"], _unit(study, design["column"])
    side = "at least" if design.get("above", True) else "at most"
    scatter = outcome.get("coefficient_of_variation")
    facts = {
        "probability": number_text(outcome["probability"]),
        "coefficient of variation": "–" if scatter is None else html.percent(scatter),
        "runs": str(outcome.get("runs", "")),
    }
    confidence = html.percent(outcome.get("confidence", 0.95))
    instead = ""
    if scatter:  # independent runs that would have the same coefficient of variation
        runs = (1.0 - outcome["probability"]) / (outcome["probability"] * scatter**2)
        instead = f"instead of {float(f'{runs:.2g}'):,.0f} drawn ones".replace(",", " ")
    notes = {
        "probability": f"{number_text(outcome['low'])} to {number_text(outcome['high'])} "
        f"with {confidence} confidence",
        "runs": instead,
    }
    unknown = html.remark("No run reached the threshold: only the upper end is known.")
    reached = "" if outcome.get("reached") else unknown
    levels = outcome.get("levels", [])[:_MOST_LEVELS]
    rows = [
        (str(k), f"{number_text(one['limit'])}{unit}", number_text(one["share"]))
        for k, one in enumerate(levels, start=1)
    ]
    head = ("level", f"{name} beyond", "share of the runs of the level")
    table = Sheet(head, rows, (1, 2)).report()
    cards = html.fact_cards(facts, notes)
    return (
        f"<p>How probable it is that <b>{escape(name)}</b> is {side} "
        f"{number_text(design['threshold'])}{escape(unit)}:</p>{cards}{reached}"
        f"<details><summary>{len(levels)} levels</summary>{table}</details>"
    )


def _converged(study: Study, design: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    name, quantity = design["column"], design.get("quantity", "mean")
    unit = "" if quantity == "probability" else _unit(study, name)
    what = quantity if isinstance(quantity, str) else f"{html.percent(quantity[1])} quantile"
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
        what: f"{number_text(low)} to {number_text(high)} with {html.percent(outcome['level'])} "
        "confidence",
        "width of the interval": f"{'' if outcome['reached'] else 'not '}at most the requested "
        f"{number_text(design['width'])}{unit}",
        "runs": f"after {outcome['looks']} checks, {outcome['without']} without a number",
    }
    return (
        f"<p>{escape(what)} of <b>{escape(name)}</b>{condition}:</p>{html.fact_cards(facts, notes)}"
    )


def _refined(study: Study, design: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    name = design["column"]
    limit = f"{number_text(design['threshold'])}{_unit(study, name)}"
    if not outcome.get("crossed"):
        return (
            f"<p>All of the {outcome.get('runs', '')} runs have <b>{escape(name)}</b> on one side "
            f"of {escape(limit)}.</p>"
        )
    facts = {"gap": html.percent(outcome["gap"]), "runs": str(outcome["runs"])}
    notes = {"gap": "largest distance of the border from a run, relative to the factors' ranges"}
    about = f"<p>Where <b>{escape(name)}</b> crosses {escape(limit)}:</p>"
    return f"{about}{html.fact_cards(facts, notes)}"


_SECTIONS = {"subset_simulation": _rare, "converging": _converged, "refinement": _refined}


MOST_COLUMNS, MOST_FACTORS = 12, 6
"""Largest number of columns drawn, and of factors that each is drawn over, strongest first."""
MOST_POINTS = 250
"""Most runs drawn as points."""
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
    """Write the report atomically."""
    html.write_page(campaign_page(study, date=date, replay=replay, level=level), path)


def campaign_page(study: Study, *, date: str = "", replay: bool = True, level: float = 0.95) -> str:
    """Text of the report.

    `date` is printed below the title, `replay` adds the films of stored runs, `level` is the
    confidence of all intervals.
    """
    if not 0.0 < finite("level", level) < 1.0:
        raise InvalidValue(f"level = {level} must be between 0 and 1, such as 0.95")
    digest = study.digest()  # reads everything: damaged parts are left out of all that follows
    study.folder.verify_trajectories()
    report = _Report(study, level)
    groups = case_groups(study, report.totals)
    films = films_of(study, groups) if replay else {}
    sections = {
        "what-was-found": ("What the design found", found_html(study)),
        "all-probabilities": ("Probabilities", report.probabilities()),
        "all-distributions": ("Distributions", report.distributions()),
        "all-sensitivities": ("Sensitivity", report.sensitivities() if report.totals.runs else ""),
        **report.over_factors(),
        "chosen-runs": ("Runs to look at", report.chosen_runs(groups, list(films))),
    }
    shown = {anchor: pair for anchor, pair in sections.items() if pair[1]}
    entries = {anchor: title for anchor, (title, _) in shown.items()}
    entries |= {"replay-section": "Replay"} if films else {}
    body = [
        report.head(digest, date),
        html.contents(entries),
        *(html.section(anchor, *pair) for anchor, pair in shown.items()),
        html.replay_section(list(films.values()), "Run"),
    ]
    style = html.asset("campaign/campaign.css")
    title = f"Campaign: {study.plan['name']}"
    return html.document(title, "".join(body), html.replay_data(list(films.values())), style)


class _Report:
    """Sections of the report of a campaign as HTML; empty if there is nothing to show.

    Args:
        study: the campaign.
        level: confidence of all intervals.
    """

    def __init__(self, study: Study, level: float) -> None:
        self.study, self.level, self.plan = study, level, study.plan
        self.columns = {one.name: one for one in study.columns}
        self.totals = data.totals_of(study, MOST_FAILED)
        self.drawn = not reason_against(study.plan)
        """Whether the runs are a sample with valid intervals."""
        self.numbers = study.names("number")[:MOST_COLUMNS]
        truths = [n for n in study.names("truth") if n != FAILED or self.totals.failed]
        self.truths = truths[:MOST_COLUMNS]
        spreads = (data.spread_of(study, name, level) for name in self.numbers)
        self.spreads = [one for one in spreads if one is not None]

    def _label(self, name: str) -> str:
        """Label of a column with its unit, such as "v_x in m/s"."""
        unit = self.columns[name].unit if name in self.columns else ""
        return f"{name} in {unit}" if unit and unit != "1" else name

    def _named(self, name: str, shown: str) -> Html:
        """A name with the description of its column below."""
        meaning = self.columns[name].meaning if name in self.columns else ""
        return Html(f"{escape(shown)}<small>{escape(meaning)}</small>")

    def head(self, digest: str, date: str) -> str:
        study, plan, totals, design = self.study, self.plan, self.totals, self.plan["design"]
        badges = (
            html.badge("good", "finished") if study.finished else html.badge("dim", "under way")
        )
        if lost := lost_runs(study):
            badges = html.badge("bad", f"{counted(lost, 'run')} missing")
        share = ""
        if totals.failed:
            badges += " " + html.badge("bad", f"{totals.failed} failed")
            share = f" ({html.percent(totals.failed / totals.runs)})"
        settings = ", ".join(
            f"{name.replace('_', ' ')}{'' if value is True else f' {value}'}"
            for name, value in design.items()
            if name != "kind" and isinstance(value, (str, int, float)) and value is not False
        )
        run = plan["experiment"]
        words = [v for v in run.values() if isinstance(v, str) and len(v) <= 40]
        numbers = ((n, v) for n, v in run.items() if isinstance(v, (int, float)))
        words += [f"{name.replace('_', ' ')} {value}" for name, value in numbers]
        seconds = study.folder.notes.get("seconds")
        facts = {
            "runs": str(totals.runs),
            "failed": f"{totals.failed}{share}",
            "what is run": ", ".join(words[:8]),
            "design": f"{design.get('kind', '').replace('_', ' ')}: {settings}",
            "seed": str(plan["seed"]),
            "time": f"{seconds:.3g} s" if isinstance(seconds, (int, float)) else "",
            "digest": digest,
        }
        factors = factor_sheet(study)
        text = json.dumps(_shorten(plan), indent=1, ensure_ascii=False)
        text = text if len(text) <= _PLAN_LETTERS else f"{text[:_PLAN_LETTERS]} …"
        return html.header(
            plan["name"],
            date,
            badges,
            f"<div class='plan'><div class='card'>{html.facts_list(facts)}</div>",
            f"<div class='card'>{'' if factors is None else factors.report()}</div></div>",
            *(f'<p class="bad">{escape(one)}</p>' for one in study.folder.damaged()),
            f"<details><summary>The whole plan</summary><pre>{escape(text)}</pre></details>",
        )

    def _caution(self, more: str, columns: Collection[str]) -> str:
        """Caution on the shares and intervals of a section with these columns."""
        even = {"sobol": "Sobol points", "latin_hypercube": "a Latin hypercube"}
        kind = self.plan["design"].get("kind", "")
        if reason := reason_against(self.plan):
            return html.remark(f"{more} Shares of the runs, no probabilities: {reason}.")
        if kind in even:
            more += (
                f" Runs of {even[kind]} are treated as independent, although they are more even."
            )
        elif kind == "saltelli":
            more += " Only the first and the last run of each sample count: they are independent."
        for name in columns:
            if own := reason_for_no_interval(self.plan, name):
                more += f" No interval of {name}: {own}."
        return html.remark(more)

    def probabilities(self) -> str:
        """Probabilities of true-or-false columns, with intervals where they are valid."""
        estimates = data.probabilities(self.study, self.truths, self.level) if self.truths else {}
        if not estimates:
            return ""
        head = "probability" if self.drawn else "share"
        heads = ["", head, f"{html.percent(self.level)} confidence", "runs"]
        rows = [
            [
                self._named(name, name),
                number_text(one.value),
                f"{number_text(one.low)} to {number_text(one.high)}" if isfinite(one.low) else "–",
                f"{one.happened} of {one.runs}",
            ]
            for name, one in estimates.items()
        ]
        sheet = Sheet(heads, rows, range(1, len(heads)))
        intervals = any(isfinite(one.low) for one in estimates.values())
        about = "Clopper-Pearson intervals, which have at least the stated confidence."
        table = (sheet if intervals else sheet.without(2)).report()
        return self._caution(about, estimates) + table

    def distributions(self) -> str:
        """Mean, quantiles and histogram of each column."""
        if not self.spreads:
            return ""
        figures = "".join(
            html.figure(
                escape(one.name) + _out_of_sight(one), histogram_svg(one, self._label(one.name))
            )
            for one in self.spreads
            if len(one.edges)
        )
        sure = (
            f", with their intervals of {html.percent(self.level)} confidence" if self.drawn else ""
        )
        known = [one.name for one in self.spreads]
        left = self.study.names("number")[MOST_COLUMNS:]
        empty = [name for name in self.numbers if name not in known]
        more = html.remark(f"Not drawn: {listed(list(left))}") if left else ""
        more += html.remark(f"Without a finite number: {listed(empty)}") if empty else ""
        about = self._caution(f"Lines are at 5, 50 and 95 %{sure}.", known)
        return f'{about}{self._spread_table()}<div class="charts">{figures}</div>{more}'

    def _spread_table(self) -> str:
        heads = ("", "runs", "mean", "std", "lowest", *map(html.percent, data.SHARES), "highest")
        rows: list[list[str]] = []
        for one in self.spreads:
            extent, numbers = one.extent, map(_with_interval, one.quantiles)
            lost = ((extent.without, "without"), (extent.infinite, "infinite"))
            beside = ", ".join(f"{count} {kind}" for count, kind in lost if count)
            runs = Html(f"{extent.runs}{f'<small>{beside}</small>' if beside else ''}")
            std, low, high = map(number_text, (extent.std, extent.low, extent.high))
            name = self._named(one.name, self._label(one.name))
            rows.append([name, runs, _with_interval(one.mean), std, low, *numbers, high])
        return Sheet(heads, rows, range(1, len(heads))).report()

    def sensitivities(self) -> str:
        """Sobol indices of columns as bars; empty for other designs."""
        if self.plan["design"].get("kind") != "saltelli":
            return ""
        figures: list[str] = []
        remarks: list[str] = []
        for name in (*self.numbers, *self.truths):
            try:
                sobol = self.study.sensitivity(name, self.level)
            except SkidpadError as error:
                remarks.append(str(error))
                continue
            first = np.column_stack([sobol.first, sobol.first_low, sobol.first_high]).tolist()
            total = np.column_stack([sobol.total, sobol.total_low, sobol.total_high]).tolist()
            order = np.argsort(-sobol.total, kind="stable").tolist()
            groups = [BarGroup(sobol.factors[k], (tuple(first[k]), tuple(total[k]))) for k in order]
            low, high = float(sobol.first_low.min()), float(sobol.total_high.max())
            # Intervals of a column with extreme outliers may leave the picture.
            low, high = min(-0.05, max(low, -0.5)), max(1.05, min(high, 1.5))
            bars = bars_svg(groups, "share of the variance", low, high)
            figures.append(html.figure(escape(self._label(name)), bars))
            if sobol.left_out:
                remarks.append(
                    f"{name}: {sobol.left_out} of {sobol.left_out + sobol.samples} "
                    "samples are left out, since a run of them has no number"
                )
        legend = (
            '<p class="source">Share of the variance that a factor explains: '
            '<i class="swatch b0"></i>alone, <i class="swatch b1"></i>with all that it does '
            f"together with others; with intervals of {html.percent(self.level)} confidence.</p>"
        )
        return f'{legend}{html.notes_list(remarks)}<div class="charts">{"".join(figures)}</div>'

    def chosen_runs(self, groups: Sequence[CaseGroup], films: Sequence[int]) -> str:
        """Table of each group of runs, with links to their films (run numbers in order)."""
        factors, tables = self.study.factors[:_MOST_FACTORS], ""
        for group in groups:
            column = [group.column] if group.column else []
            head = ["run", *map(self._label, (*column, *factors)), ""]
            rows: list[list[str]] = []
            for case in group.cases:
                own = _factors_of(self.study, case.run)
                value = [Html(f"<b>{number_text(case.value)}</b>")] if column else []
                link = Html(html.play_link(films.index(case.run))) if case.run in films else ""
                numbers = (number_text(own[name]) for name in factors)
                rows.append([str(case.run), *value, *numbers, link])
            table = Sheet(head, rows, range(1, len(head) - 1)).report()
            tables += f"<h3>{escape(group.title)}</h3>{table}"
        return tables

    def over_factors(self) -> dict[str, tuple[str, str]]:
        """Sections that show columns over factors: responses and surfaces."""
        study, extents, runs = self.study, self.totals.extents, self.totals.runs
        factors = {name: factor_of(name, plain) for name, plain in self.plan["factors"].items()}
        views: dict[str, data.View] = {
            s.name: (float(s.edges[0]), float(s.edges[-1])) for s in self.spreads if len(s.edges)
        }
        views |= dict.fromkeys(self.truths, (0.0, 1.0))

        def cut(parts: int) -> dict[str, data.Bins]:
            pairs = {name: data.bins_of(one, extents[name], parts) for name, one in factors.items()}
            return {name: bins for name, bins in pairs.items() if bins is not None}

        bins = cut(min(max(runs // _RUNS_OF_PART, 4), _MOST_PARTS))
        if not bins or not views:
            return {}
        by_column: dict[str, list[data.Response]] = {}
        for one in data.responses_of(study, views, bins, self.level):
            by_column.setdefault(one.column, []).append(one)
        points = data.sampled_runs(study, [*bins, *views], runs, MOST_POINTS)
        responses = "".join(self._responses(own, views, points) for own in by_column.values())
        cells = min(max(int((runs / _RUNS_OF_CELL) ** 0.5), 4), _MOST_CELLS)
        sure = f" with {html.percent(self.level)} confidence" if self.drawn else ""
        about = html.remark(
            "Lines are means and bands hold 5 to 95 % of the runs; of a true-or-false column, its "
            f"share{sure}. Points are some of the runs. Factors that explain most of the variance "
            "come first."
        )
        return {
            "all-responses": ("Responses", about + responses),
            "all-surfaces": ("Surfaces", self._surfaces(by_column, views, cut(cells))),
        }

    def _responses(
        self,
        own: Sequence[data.Response],
        views: Mapping[str, data.View],
        points: Mapping[str, Any],
    ) -> str:
        """A column over its factors, strongest first."""
        column, figures = own[0].column, list[str]()
        for one in own[:MOST_FACTORS]:
            at = (points[one.factor], points[column])
            labels = (self._label(one.factor), self._label(column))
            caption = f"{escape(one.factor)} <small>explains {100.0 * one.strength:.0f} %</small>"
            figures.append(html.figure(caption, response_svg(one, views[column], at, labels)))
        left = [one.factor for one in own[MOST_FACTORS:]]
        more = html.remark(f"Over others, less: {listed(left)}") if left else ""
        return f"<h3>{escape(column)}</h3>{html.side_by_side(figures, 'charts three')}{more}"

    def _surfaces(
        self,
        by_column: Mapping[str, Sequence[data.Response]],
        views: Mapping[str, data.View],
        bins: Mapping[str, data.Bins],
    ) -> str:
        """Surfaces of each column over the two factors that explain most of it."""
        pairs = {
            column: (own[0].factor, own[1].factor)
            for column, own in by_column.items()
            if len(own) > 1 and own[0].strength > 0.0
        }
        design, figures = self.plan["design"], list[str]()
        for one in data.surfaces_of(self.study, pairs, bins):
            labels = (self._label(one.x), self._label(one.y))
            limit = design.get("threshold") if design.get("column") == one.column else None
            drawing = surface_html(one, views[one.column], labels, limit)
            figures.append(html.figure(escape(self._label(one.column)), drawing))
        return html.side_by_side(figures, "charts three")


def _out_of_sight(spread: data.Spread) -> str:
    beyond = [
        f"{counted(count, 'run')} further {side}"
        for count, side in ((spread.below, "left"), (spread.above, "right"))
        if count
    ]
    return f" <small>{', '.join(beyond)}</small>" if beyond else ""


def _shorten(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _shorten(one) for name, one in value.items()}
    if isinstance(value, list) and len(value) > _PLAN_ITEMS and not isinstance(value[0], Mapping):
        return [*map(_shorten, value[:_PLAN_ITEMS]), f"… {len(value)} in all"]
    return [_shorten(one) for one in value] if isinstance(value, list) else value


_NOTEBOOK_MOST = 20
_LEVEL = 0.95


def study_html(study: Study) -> str:
    """HTML for a notebook: progress of a campaign and its results."""
    totals = data.totals_of(study, 0)
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
    estimates = data.probabilities(study, events, _LEVEL) if events else {}
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
"""Time in s without a request after which a page counts as closed."""
_FAREWELL = 2.0
"""Time in s for an open page to fetch the final state."""
_LOOK = 0.05


class LivePage:
    """Live progress page, served inside a `with` block at an address that others cannot guess."""

    def __init__(self, monitor: ProgressMonitor, port: int = 0) -> None:
        self._monitor = monitor
        self._asked = -_ATTENTION
        page = html.asset("progress/page.html")
        name = escape(str(monitor.plain()["name"]))
        self._server = html.PageServer(page.replace("{{name}}", name), port, self._data)
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
