"""`skidpad campaign`: many runs from one file, resumable, on this machine, a GPU or a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument

from ..core.files import counted, target_of
from ..errors import InvalidValue, MissingFile, require
from .options import AsJson, CampaignRun, NoBrowser, command_of
from .output import print_json, serve_film, size_text, warnings_as_notes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..run.trajectory import Trajectory
    from ..study.campaign import Campaign, Estimate
    from ..study.engines import Engine
    from ..study.results import Study
    from ..view.film import Film

STOPPED = 130
"""Exit status after Ctrl-C, as in shells."""
SUFFIXES = (".parquet", ".html")
PAGE_MB = 15.0
NONE = "–"


campaign = typer.Typer(
    name="campaign",
    help="Many runs from one file: check, run, resume, and look at the results.",
    no_args_is_help=True,
)

command = command_of(campaign)

File = Annotated[Path, Argument(metavar="FILE", help="The campaign in YAML.")]
Folder = Annotated[str, Argument(metavar="FOLDER", help="A path, or a URL of fsspec's.")]


@command
def run(file: File, out: str | None = None, *, request: CampaignRun) -> None:
    """Run all simulations missing in the folder and summarise them; resume continues later.

    Args:
        out [FOLDER]: skidpad-campaigns and the file's name if not given.
    """
    from ..study.plan_file import campaign_of

    with warnings_as_notes():
        run_campaign(campaign_of(file), out or str(Path("skidpad-campaigns") / file.stem), request)


@command
def resume(folder: Folder, *, request: CampaignRun) -> None:
    """Resume a stopped campaign; its file is stored in the folder."""
    from ..study.folder import Folder as CampaignFolder
    from ..study.plan_file import campaign_of_folder

    with warnings_as_notes():
        run_campaign(campaign_of_folder(CampaignFolder.open(folder)), folder, request)


@command
def check(file: File, json: AsJson = False) -> None:
    """Check a file: names, numbers of runs, time and size, estimated from some first runs."""
    from ..study.plan_file import campaign_of
    from .sheets import Console

    with warnings_as_notes():
        plan = campaign_of(file)
        estimate = plan.estimate()
    if json:
        print_json({**plan.plan(), "runs": plan.runs, "estimate": estimate._asdict()})
    else:
        Console().print(plan_sheet(plan, estimate))


@command
def status(folder: Folder, json: AsJson = False) -> None:
    """Show the progress of a campaign, also while another process runs it."""
    from ..study.campaign import state_of
    from ..study.results import Study
    from ..study.tables import DamagedPart
    from .sheets import Console

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedPart)  # the state lists damaged files
        state = state_of(Study.open(folder))
    if json:
        print_json(state)
    else:
        Console().print(state_sheet(state))


@command
def report(folder: Folder, out: Path | None = None) -> None:
    """Write all results to one page.

    Args:
        out [FILE]: report.html in the folder if not given.
    """
    from ..study.results import Study
    from .sheets import print_files

    with warnings_as_notes():
        study = Study.open(folder)
    if out is None and not isinstance(study.folder.path, Path):
        raise InvalidValue(f"{folder} is not a local folder: choose the output with --out")
    target = target_of(out or Path(study.folder.path) / "report.html")
    with warnings_as_notes():
        study.report(target)
    print_files({"report": target})


@command
def replay(
    folder: Folder,
    run: Annotated[int, Argument(min=0)],
    out: Path | None = None,
    no_browser: NoBrowser = False,
) -> None:
    """Repeat a run, bit for bit, and show it.

    Args:
        run [RUN]: Number of the run, from 0.
        out [FILE]: run.parquet or run.html; without, the browser opens.
    """
    from ..study.experiment import RUN
    from ..study.results import Study
    from . import sheets

    study = Study.open(folder)
    if out is not None:
        target_of(out)
        if out.suffix.lower() not in SUFFIXES:
            raise InvalidValue(f"--out {out} must end in {' or '.join(SUFFIXES)}")
    again = study.replay(run)
    names = (RUN, *(column.name for column in study.columns))
    row = {name: values[0] for name, values in study.folder.read(names, run, run + 1).items()}
    # All digits are printed, so that the values identify the run exactly.
    values = ((one, row[one.name]) for one in study.columns)
    rows = [
        (one.name, one.unit, repr(float(v)) if isinstance(v, float) else str(bool(v)).lower())
        for one, v in values
    ]
    sheets.Console().print(_table((f"run {run}", "unit", "value"), rows, (2,)))
    if out is not None and out.suffix.lower() == ".parquet":
        again.to_parquet(out)
    else:
        film = _film(study, run, again)
        if out is None:
            serve_film(film, "the replay is", limit_mb=PAGE_MB, browser=not no_browser)
            return
        film.to_html(out, limit_mb=PAGE_MB)
    sheets.print_files({f"run {run}": out})


@command
def export(folder: Folder, table: Path) -> None:
    """Write all runs as one table.

    Args:
        table [TABLE]: table.csv or table.parquet.
    """
    from ..study import results
    from .sheets import print_files

    count = results.export(results.Study.open(folder).folder, table)
    print_files({counted(count, "run"): table})


def run_campaign(plan: Campaign, folder: str, request: CampaignRun) -> None:
    """Run the missing simulations of a campaign and print the summary."""
    from ..core.progress import interactive
    from ..study.campaign import summary_of
    from .sheets import Console

    engine = _engine(plan, request)
    try:
        with _watched(plan, folder, engine, request) as watched:
            shows, chunk = interactive() and not request.json, request.chunk_seconds
            study = plan.run(folder, engine=watched, chunk_seconds=chunk, progress=shows)
    except KeyboardInterrupt:
        try:
            done = _runs_done(plan, folder)
        except InvalidValue:
            done = 0
        stopped = f"stopped: {done} of {plan.runs} runs are in {folder}; go on with "
        _print_aside(stopped, (f"skidpad campaign resume {quote(folder)}", "bold"))
        raise typer.Exit(STOPPED) from None
    summary = summary_of(study)
    if request.json:
        print_json(summary)
    else:
        Console().print(summary_sheet(summary))


def _engine(plan: Campaign, request: CampaignRun) -> Engine:
    from ..study.engines import ENGINES, engine_of

    if request.engine not in ENGINES:
        raise InvalidValue(f"--engine {request.engine} must be one of {', '.join(ENGINES)}")
    if request.engine != "ray":
        for option, setting in (("--address", request.address), ("--shared", request.shared)):
            if setting:
                raise InvalidValue(f"{option} needs --engine ray")
    if request.engine == "cuda" and request.workers is not None:
        raise InvalidValue("--workers needs --engine local or ray")
    # Check for missing packages before the folder is created. RayEngine imports Ray itself, because
    # Ray reads environment variables on import.
    if request.engine == "cuda":
        require("cupy", purpose="--engine cuda")
    if request.engine == "ray":
        from ..study.engines import RayEngine

        return RayEngine(request.address, request.workers, shared=request.shared)
    return engine_of(request.engine, plan.experiment, request.workers)


@contextmanager
def _watched(
    plan: Campaign, folder: str, engine: Engine, request: CampaignRun
) -> Generator[Engine]:
    """Context manager for the job engine, with a live progress page if requested."""
    if not request.page:
        yield engine
        return
    from ..study.engines import MonitoredEngine, ProgressMonitor
    from ..view.pages.campaign_report import LivePage

    monitor = ProgressMonitor(plan.name, plan.runs, _runs_done(plan, folder), plan.columns())
    with LivePage(monitor) as page:
        _print_aside("progress is at ", (page.url, "cyan"))
        try:
            yield MonitoredEngine(engine, monitor)
        except BaseException:
            monitor.end("stopped")
            raise
        monitor.end("finished")


def _print_aside(*parts: str | tuple[str, str]) -> None:
    from .sheets import Console, Text

    Console(stderr=True, soft_wrap=True).print(Text.assemble(*parts), highlight=False)


def _runs_done(plan: Campaign, folder: str) -> int:
    from ..study.folder import Folder

    try:
        missing = Folder.open(folder).missing(0, plan.runs)
    except MissingFile:
        return 0
    return plan.runs - sum(end - begin for begin, end in missing)


def plan_sheet(plan: Campaign, estimate: Estimate) -> RenderableType:
    """Sheet of a campaign's plan: factors, columns, and an estimate of time and size."""
    from .sheets import Group, Text

    units = plan.experiment.factor_units()
    pairs = plan.factors.items()
    factors = [(name, units[name], _number(one.low), _number(one.high)) for name, one in pairs]
    columns = (column for column in plan.columns() if column.name not in plan.factors)
    own = [(column.name, column.unit, column.kind, column.meaning) for column in columns]
    parts: list[RenderableType] = [Text(plan.name, "bold cyan"), Text(str(estimate))]
    if factors:
        parts += [Text(), _table(("factor", "unit", "lowest", "highest"), factors, (2, 3))]
    return Group(*parts, Text(), _table(("column", "unit", "kind", "meaning"), own, wraps=(3,)))


def state_sheet(state: Mapping[str, Any]) -> RenderableType:
    """Sheet of a campaign's progress: runs, failures, rate, size, and the remaining work."""
    from . import sheets
    from .sheets import Group, Text

    done, most, rate = state["runs"], state["most"], state["rate"]
    runs = str(done) if done == most else f"{done} (at most {most})"
    if state["writer"]:
        stage = f"written by {state['writer']}"
    elif state["missing"]:
        lost = counted(state["missing"], "run")
        stage = f"{lost} missing: skidpad campaign resume does them again"
    else:
        unfinished = "not finished: skidpad campaign resume continues"
        stage = "finished" if state["finished"] else unfinished
    facts = {
        "runs": runs if state["finished"] else f"{done} of {most}, {done / most:.1%}",
        "failed": str(state["failed"]),
        "rate": NONE if rate is None else f"{rate:.0f} runs/s" if rate >= 1000.0
        else f"{rate:.3g} runs/s",
        "size": NONE if state["bytes"] is None else size_text(state["bytes"]),
        "digest": state["digest"],
        "state": stage,
    }  # fmt: skip
    heading = Text.assemble((state["name"], "bold cyan"), f"  {state['folder']}", overflow="fold")
    damage = [Text(f"damaged: {text}", "red", overflow="fold") for text in state["damaged"]]
    return Group(heading, sheets.facts(facts.items()), *damage)


def summary_sheet(summary: Mapping[str, Any]) -> RenderableType:
    """Sheet of a campaign's results: progress, means and quantiles of metrics, event probabilities,
    outcome.
    """
    from ..study.experiment import FAILED
    from .sheets import Group, Text

    parts: list[RenderableType] = [state_sheet(summary)]
    if summary["reason"]:
        parts += [Text(), Text(f"No means: {summary['reason']}.", "yellow")]
    elif summary["caution"]:
        parts += [Text(), Text(f"No intervals: {summary['caution']}.", "yellow")]
    numbers, truths = summary["numbers"], summary["truths"]
    if numbers and summary["reason"]:
        ends = {
            name: map(_number, (one["lowest"], one["highest"])) for name, one in numbers.items()
        }
        extremes = [(name, numbers[name]["unit"], *texts) for name, texts in ends.items()]
        parts += [Text(), _table(("metric", "unit", "lowest", "highest"), extremes, (2, 3))]
    elif numbers:
        parts += [Text(), _means(numbers)]
    shown = {name: one for name, one in truths.items() if name != FAILED or one["happened"]}
    if shown:
        parts += [Text(), _shares(shown, "share" if summary["caution"] else "probability")]
    if summary["failed"] and shown.keys() - {FAILED}:
        parts += [Text(f"{summary['failed']} failed, counted as not.")]
    if summary["outcome"]:
        rows = [(n.replace("_", " "), _words(value)) for n, value in summary["outcome"].items()]
        parts += [Text(), _table(("the design found", ""), rows, wraps=(1,))]
    if kept := summary["trajectories"]:
        listed = ", ".join(map(str, kept[:8])) + (", ..." if len(kept) > 8 else "")
        parts += [Text(), Text(f"Whole runs kept: {listed}", overflow="fold")]
    return Group(*parts)


def _means(numbers: Mapping[str, Any]) -> RenderableType:
    """Table of mean and quantiles of each metric, with the number of runs without a value, if
    any."""
    from ..study.campaign import SHARES

    heads = ("metric", "unit", "mean", *(f"{100 * share:g} %" for share in SHARES), "without")
    most = max(one["runs"] for one in numbers.values())
    rows: list[list[str]] = []
    for name, one in numbers.items():
        cells = [NONE] * (1 + len(SHARES))
        if mean := one.get("mean"):
            known = mean["low"] is not None and mean["high"] is not None
            half = f" ± {0.5 * (mean['high'] - mean['low']):.2g}" if known else ""
            quantiles = (_number(quantile["value"]) for quantile in one["quantiles"].values())
            cells = [f"{_number(mean['value'])}{half}", *quantiles]
        rows.append([name, one["unit"], *cells, str(most - one["runs"] or "")])
    return _table_without_last(heads, rows, range(2, len(heads)), "")


def _shares(truths: Mapping[str, Any], share: str) -> RenderableType:
    rows = [
        (
            name,
            f"{one['happened']} of {one['runs']}",
            _number(one.get("value")),
            NONE if one.get("low") is None else f"{_number(one['low'])} to {_number(one['high'])}",
        )
        for name, one in truths.items()
    ]
    heads = ("event", "runs", share, "with 95 % confidence")
    return _table_without_last(heads, rows, range(1, len(heads)), NONE)


def _table_without_last(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int], nothing: str
) -> RenderableType:
    """Table that omits its last column if every cell in the column is `nothing`."""
    if all(row[-1] == nothing for row in rows):
        heads, rows, numbers = heads[:-1], [row[:-1] for row in rows], numbers[:-1]
    return _table(heads, rows, numbers)


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    wraps: Sequence[int] = (),
) -> RenderableType:
    from ..view.sheet import Sheet
    from .sheets import legible

    return legible(Sheet(heads, rows, numbers, wraps))


def _words(value: Any) -> str:
    """Text for a value of the outcome; long lists are shortened."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, str)):
        return str(value)
    if value is None or isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(one)}" for name, one in value.items())
    return "; ".join(map(_words, value[:12])) + ("; ..." if len(value) > 12 else "")


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.4g}"


def _film(study: Study, run: int, again: Trajectory) -> Film:
    import numpy as np

    from ..view.film import Film
    from ..view.stages import trajectory_stage

    vehicle: Any = getattr(study.campaign.experiment, "vehicle", None)
    if vehicle is None:
        instead = "--out run.parquet writes its numbers"
        raise InvalidValue(f"run {run} has no vehicle that could be drawn: {instead}")
    title = f"{study.plan['name']}, run {run}"
    stage, times, rows = trajectory_stage({title: again}, vehicle, title=title)
    return Film(stage, times, rows.astype(np.float32))
