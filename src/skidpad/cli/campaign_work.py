"""A campaign in the terminal: it runs, it may be stopped, it is summed up.

Tables of campaigns: what a file asks for, how far it is, what came out.

One run of a campaign again: its numbers, its trajectory, its replay page.
"""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import typer
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core.files import counted, target_of
from ..core.progress import interactive
from ..demo.performing import file_line
from ..errors import InvalidValue, MissingFile, require
from ..run.trajectory import Trajectory
from ..study.campaign import Campaign, Estimate
from ..study.engines import ENGINES, Engine, MonitoredEngine, ProgressMonitor, engine_of
from ..study.experiment import FAILED, RUN, Column
from ..study.folder import Folder
from ..study.results import SHARES, Study, summary_of
from ..view.film import Film
from ..view.pages.page import PageServer, html_of
from ..view.stages import trajectory_stage
from .legible import Legible
from .output import print_json

NONE = "–"


def plan_values(plan: Campaign, estimate: Estimate) -> dict[str, Any]:
    """What a file asks for, as plain values."""
    return {**plan.plan(), "runs": plan.runs, "estimate": estimate._asdict()}


def plan_sheet(plan: Campaign, estimate: Estimate) -> RenderableType:
    """What differs between runs, what is kept of each, and what it will take."""
    units = plan.experiment.factor_units()
    factors = [
        (name, units[name], _shown(one.low), _shown(one.high)) for name, one in plan.factors.items()
    ]
    own = [
        (column.name, column.unit, column.kind, column.meaning)
        for column in plan.columns()
        if column.name not in plan.factors
    ]
    parts: list[RenderableType] = [Text(plan.name, "bold cyan"), Text(str(estimate))]
    if factors:
        parts += [Text(), _table(("factor", "unit", "lowest", "highest"), factors, numbers=(2, 3))]
    return Group(*parts, Text(), _table(("column", "unit", "kind", "meaning"), own, wraps=(3,)))


def state_sheet(state: Mapping[str, Any]) -> RenderableType:
    """How far a campaign is."""
    rows = [
        ("runs", _of_most(state)),
        ("failed", str(state["failed"])),
        ("rate", _rate(state["rate"])),
        ("size", NONE if state["bytes"] is None else _size(state["bytes"])),
        ("digest", state["digest"]),
        ("state", _state(state)),
    ]
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*row)
    heading = Text.assemble((state["name"], "bold cyan"), f"  {state['folder']}", overflow="fold")
    return Group(heading, grid, *_damage(state))


def summary_sheet(summary: Mapping[str, Any]) -> RenderableType:
    """What a campaign found."""
    parts: list[RenderableType] = [state_sheet(summary)]
    if summary["reason"]:
        parts += [Text(), Text(f"No means: {summary['reason']}.", "yellow")]
    elif summary["caution"]:
        parts += [Text(), Text(f"No intervals: {summary['caution']}.", "yellow")]
    numbers, truths = summary["numbers"], summary["truths"]
    if numbers:
        table = _chosen_table(numbers) if summary["reason"] else _number_table(numbers)
        parts += [Text(), table]
    told = {name: one for name, one in truths.items() if name != FAILED or one["happened"]}
    if told:
        parts += [Text(), _truth_table(told, "share" if summary["caution"] else "probability")]
    if summary["failed"] and told.keys() - {FAILED}:
        parts += [Text(f"{summary['failed']} failed, counted as not.")]
    if summary["outcome"]:
        parts += [Text(), _outcome(summary["outcome"])]
    kept = summary["trajectories"]
    if kept:
        shown = ", ".join(map(str, kept[:8])) + (", ..." if len(kept) > 8 else "")
        parts += [Text(), Text(f"Whole runs kept: {shown}", overflow="fold")]
    return Group(*parts)


def run_table(columns: Sequence[Column], row: Mapping[str, Any], run: int) -> RenderableType:
    """All numbers of one run."""
    rows = [(one.name, one.unit, _value(row[one.name])) for one in columns]
    return _table((f"run {run}", "unit", "value"), rows, numbers=(2,))


def _value(value: Any) -> str:
    """In full: a run is known by its bits."""
    return repr(float(value)) if isinstance(value, float) else str(bool(value)).lower()


def _number_table(numbers: Mapping[str, Any]) -> RenderableType:
    heads = ("metric", "unit", "mean", *(f"{100 * share:g} %" for share in SHARES), "without")
    most = max((one["runs"] for one in numbers.values()), default=0)
    rows = [(name, one["unit"], *_cells(one, most)) for name, one in numbers.items()]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return _table(heads, rows, numbers=range(2, len(heads)))


def _cells(one: Mapping[str, Any], most: int) -> Iterator[str]:
    if "mean" not in one:
        yield from (NONE,) * (1 + len(SHARES))
    else:
        mean = one["mean"]
        yield _with_interval(mean)
        for quantile in one["quantiles"].values():
            yield _shown(quantile["value"])
    yield str(most - one["runs"]) if most > one["runs"] else ""


def _chosen_table(numbers: Mapping[str, Any]) -> RenderableType:
    rows = [
        (name, one["unit"], _shown(one["lowest"]), _shown(one["highest"]))
        for name, one in numbers.items()
    ]
    return _table(("metric", "unit", "lowest", "highest"), rows, numbers=(2, 3))


def _truth_table(truths: Mapping[str, Any], share: str) -> RenderableType:
    rows = [
        (
            name,
            f"{one['happened']} of {one['runs']}",
            _shown(one["value"]) if "value" in one else NONE,
            NONE if one.get("low") is None else f"{_shown(one['low'])} to {_shown(one['high'])}",
        )
        for name, one in truths.items()
    ]
    heads = ("event", "runs", share, "with 95 % confidence")
    if all(row[-1] == NONE for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return _table(heads, rows, numbers=range(1, len(heads)))


def _outcome(outcome: Mapping[str, Any]) -> RenderableType:
    """What the design found; of long lists only how many there are."""
    rows = [(name.replace("_", " "), _plain(value)) for name, value in outcome.items()]
    return _table(("the design found", ""), rows, wraps=(1,))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, str)):
        return str(value)
    if value is None or isinstance(value, float):
        return _shown(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return "; ".join(map(_plain, value[:12])) + ("; ..." if len(value) > 12 else "")


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    wraps: Sequence[int] = (),
) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for k, head in enumerate(heads):
        style = "cyan" if k == 0 else ""
        justify = "right" if k in numbers else "left"
        table.add_column(head, style=style, justify=justify, no_wrap=k not in wraps)
    for row in rows:
        table.add_row(*map(Text, row))
    return Legible(table)


def _damage(state: Mapping[str, Any]) -> list[RenderableType]:
    return [Text(f"damaged: {text}", "red", overflow="fold") for text in state["damaged"]]


def _state(state: Mapping[str, Any]) -> str:
    if state["writer"]:
        return f"written by {state['writer']}"
    if state["missing"]:
        lost = counted(state["missing"], "run")
        return f"{lost} missing: skidpad campaign resume does them again"
    return "finished" if state["finished"] else "not finished: skidpad campaign resume goes on"


def _of_most(state: Mapping[str, Any]) -> str:
    done, most = state["runs"], state["most"]
    if state["finished"]:
        return str(done) if done == most else f"{done} (at most {most})"
    return f"{done} of {most}, {done / most:.1%}"


def _rate(rate: float | None) -> str:
    if rate is None:
        return NONE
    return f"{rate:.0f} runs/s" if rate >= 1000.0 else f"{rate:.3g} runs/s"


def _with_interval(one: Mapping[str, float | None]) -> str:
    if one["low"] is None or one["high"] is None:
        return _shown(one["value"])
    return f"{_shown(one['value'])} ± {0.5 * (one['high'] - one['low']):.2g}"


def _size(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} B"


def _shown(value: float | None) -> str:
    return NONE if value is None else f"{value:.4g}"


STOPPED = 130
"""Exit status after Ctrl-C, as shells have it."""


class Request(NamedTuple):
    """How a campaign is to be run."""

    engine: str
    address: str | None
    shared: bool
    workers: int | None
    chunk_seconds: float
    page: bool
    json: bool


def performed(plan: Campaign, folder: str, request: Request) -> None:
    """Run what is missing and print the summary."""
    engine = _engine(plan, request)
    try:
        with _watched(plan, folder, engine, request) as who:
            study = plan.run(
                folder,
                engine=who,
                chunk_seconds=request.chunk_seconds,
                progress=interactive() and not request.json,
            )
    except KeyboardInterrupt:
        _tell_stop(plan, folder)
        raise typer.Exit(STOPPED) from None
    summary = summary_of(study)
    if request.json:
        print_json(summary)
    else:
        Console().print(summary_sheet(summary))


def _engine(plan: Campaign, request: Request) -> Engine:
    if request.engine not in ENGINES:
        raise InvalidValue(f"--engine {request.engine} must be one of {', '.join(ENGINES)}")
    if request.engine != "ray":
        for option, setting in (("--address", request.address), ("--shared", request.shared)):
            if setting:
                raise InvalidValue(f"{option} goes with --engine ray")
    if request.engine == "cuda" and request.workers is not None:
        raise InvalidValue("--workers goes with --engine local or ray")
    # A missing package is reported before a folder is made. RayEngine imports Ray itself, because
    # Ray reads environment variables on import.
    if request.engine == "cuda":
        require("cupy", purpose="--engine cuda")
    if request.engine == "ray":
        from ..study.engines import RayEngine

        return RayEngine(request.address, request.workers, shared=request.shared)
    return engine_of(request.engine, plan.experiment, request.workers)


@contextmanager
def _watched(plan: Campaign, folder: str, engine: Engine, request: Request) -> Generator[Engine]:
    """The engine, with a page that shows what it does as long as it does it."""
    if not request.page:
        yield engine
        return
    from ..view.pages.campaign_report import LivePage

    monitor = ProgressMonitor(plan.name, plan.runs, _there(plan, folder), plan.columns())
    with LivePage(monitor) as page:
        Console(stderr=True, soft_wrap=True).print(
            Text.assemble("progress is at ", (page.url, "cyan")), highlight=False
        )
        try:
            yield MonitoredEngine(engine, monitor)
        except BaseException:
            monitor.end("stopped")
            raise
        monitor.end("finished")


def _there(plan: Campaign, folder: str) -> int:
    """Runs that a folder has already."""
    try:
        missing = Folder.open(folder).missing(0, plan.runs)
    except MissingFile:
        return 0
    return plan.runs - sum(end - begin for begin, end in missing)


def _tell_stop(plan: Campaign, folder: str) -> None:
    """One line: how far it is, and how to go on."""
    try:
        done = _there(plan, folder)
    except InvalidValue:
        done = 0
    text = f"stopped: {done} of {plan.runs} runs are in {folder}; go on with "
    again = Text(f"skidpad campaign resume {quote(folder)}", "bold")
    Console(stderr=True, soft_wrap=True).print(Text.assemble(text, again), highlight=False)


SUFFIXES = (".parquet", ".html")
PAGE_MB = 15.0


def replayed(study: Study, run: int, out: Path | None, *, browser: bool) -> None:
    """Print a run, and write it or show it."""
    if out is not None:
        target_of(out)
        if out.suffix.lower() not in SUFFIXES:
            raise InvalidValue(f"--out {out} must end in {' or '.join(SUFFIXES)}")
    again = study.replay(run)
    Console().print(run_table(study.columns, _row(study, run), run))
    if out is not None and out.suffix.lower() == ".parquet":
        again.to_parquet(out)
    elif out is not None:
        _film(study, run, again).to_html(out, limit_mb=PAGE_MB)
    else:
        _show(_film(study, run, again), browser)
        return
    Console(soft_wrap=True).print(file_line(f"run {run}", out))


def _row(study: Study, run: int) -> dict[str, Any]:
    names = (RUN, *(column.name for column in study.columns))
    read = study.folder.read(names, run, run + 1)
    return {name: values[0] for name, values in read.items()}


def _film(study: Study, run: int, again: Trajectory) -> Film:
    vehicle: Any = getattr(study.campaign.experiment, "vehicle", None)
    if vehicle is None:
        raise InvalidValue(
            f"run {run} has no vehicle that could be drawn: --out run.parquet writes its numbers"
        )
    title = f"{study.plan['name']}, run {run}"
    stage, times, rows = trajectory_stage({title: again}, vehicle, title=title)
    return Film(stage, times, rows.astype(np.float32))


def _show(film: Film, browser: bool) -> None:
    server = PageServer(html_of(film, limit_mb=PAGE_MB))
    typer.echo(f"the replay is at {server.url}  (Ctrl-C ends it)")
    sys.stdout.flush()
    if browser:
        webbrowser.open(server.url)
    try:
        server.run()
    except KeyboardInterrupt:
        typer.echo("")
