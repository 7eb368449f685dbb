"""`skidpad campaign`: many runs from one file, resumable, on this machine, a GPU or a cluster."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidValue
from .options import AsJson, CampaignRun, NoBrowser, with_groups
from .output import print_json, warnings_as_notes

campaign = typer.Typer(
    name="campaign",
    help="Many runs from one file: check it, run it, go on, look at what came out.",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The campaign in YAML.")]
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="A path, or a URL of fsspec's.")]


@campaign.command()
@with_groups
def run(
    file: File,
    out: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="skidpad-campaigns and the file's name if not given."),
    ] = None,
    *,
    request: CampaignRun,
) -> None:
    """Do all runs that the folder does not have yet, and sum them up; resume goes on."""
    from ..study.plan_file import campaign_of
    from .campaign_work import run_campaign

    with warnings_as_notes():
        run_campaign(campaign_of(file), out or str(Path("skidpad-campaigns") / file.stem), request)


@campaign.command()
@with_groups
def resume(folder: Folder, *, request: CampaignRun) -> None:
    """Go on with what was stopped; the folder has the file."""
    from ..study.folder import Folder as CampaignFolder
    from ..study.plan_file import campaign_of_folder
    from .campaign_work import run_campaign

    with warnings_as_notes():
        run_campaign(campaign_of_folder(CampaignFolder.open(folder)), folder, request)


@campaign.command()
def check(file: File, json: AsJson = False) -> None:
    """Check a file: names, numbers of runs, time and size, told from some first runs."""
    from rich.console import Console

    from ..study.plan_file import campaign_of
    from .campaign_work import plan_sheet

    with warnings_as_notes():
        plan = campaign_of(file)
        estimate = plan.estimate()
    if json:
        print_json({**plan.plan(), "runs": plan.runs, "estimate": estimate._asdict()})
    else:
        Console().print(plan_sheet(plan, estimate))


@campaign.command()
def status(folder: Folder, json: AsJson = False) -> None:
    """How far a campaign is, also while another process runs it."""
    from rich.console import Console

    from ..study.results import Study, state_of
    from ..study.tables import DamagedPart
    from .campaign_work import state_sheet

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedPart)  # the state has it
        state = state_of(Study.open(folder))
    if json:
        print_json(state)
    else:
        Console().print(state_sheet(state))


@campaign.command()
def report(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="report.html in the folder if not given.")
    ] = None,
) -> None:
    """Write one page with everything that was found."""
    from ..core.files import target_of
    from ..study.results import Study
    from .sheets import print_files

    with warnings_as_notes():
        study = Study.open(folder)
    if out is None and not isinstance(study.folder.path, Path):
        raise InvalidValue(f"{folder} is not on this machine: say where to with --out")
    target = target_of(out or Path(study.folder.path) / "report.html")
    with warnings_as_notes():
        study.report(target)
    print_files({"report": target})


@campaign.command()
def replay(
    folder: Folder,
    run: Annotated[int, typer.Argument(metavar="RUN", min=0, help="Its number, from 0.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="run.parquet or run.html; without, the browser opens."),
    ] = None,
    no_browser: NoBrowser = False,
) -> None:
    """Repeat a run, bit for bit, and look at it."""
    from ..study.results import Study
    from .campaign_work import replay_run

    replay_run(Study.open(folder), run, out, browser=not no_browser)


@campaign.command()
def export(
    folder: Folder,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="table.csv or table.parquet.")],
) -> None:
    """Write all runs as one table."""
    from ..core.files import counted
    from ..study import results
    from .sheets import print_files

    count = results.export(results.Study.open(folder).folder, table)
    print_files({counted(count, "run"): table})
