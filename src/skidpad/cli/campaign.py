"""`skidpad campaign`: many runs from one file, resumable, on this machine, a GPU or a cluster."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from ..errors import InvalidValue
from .options import AsJson, CampaignRun, NoBrowser, command_of
from .output import print_json, warnings_as_notes

campaign = typer.Typer(
    name="campaign",
    help="Many runs from one file: check it, run it, go on, look at what came out.",
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
    from .campaign_work import run_campaign

    with warnings_as_notes():
        run_campaign(campaign_of(file), out or str(Path("skidpad-campaigns") / file.stem), request)


@command
def resume(folder: Folder, *, request: CampaignRun) -> None:
    """Resume a stopped campaign; its file is stored in the folder."""
    from ..study.folder import Folder as CampaignFolder
    from ..study.plan_file import campaign_of_folder
    from .campaign_work import run_campaign

    with warnings_as_notes():
        run_campaign(campaign_of_folder(CampaignFolder.open(folder)), folder, request)


@command
def check(file: File, json: AsJson = False) -> None:
    """Check a file: names, numbers of runs, time and size, estimated from some first runs."""
    from ..study.plan_file import campaign_of
    from .campaign_work import plan_sheet
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
    from ..study.results import Study, state_of
    from ..study.tables import DamagedPart
    from .campaign_work import state_sheet
    from .sheets import Console

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedPart)  # the state has it
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
    from ..core.files import target_of
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
        run [RUN]: Its number, from 0.
        out [FILE]: run.parquet or run.html; without, the browser opens.
    """
    from ..study.results import Study
    from .campaign_work import replay_run

    replay_run(Study.open(folder), run, out, browser=not no_browser)


@command
def export(folder: Folder, table: Path) -> None:
    """Write all runs as one table.

    Args:
        table [TABLE]: table.csv or table.parquet.
    """
    from ..core.files import counted
    from ..study import results
    from .sheets import print_files

    count = results.export(results.Study.open(folder).folder, table)
    print_files({counted(count, "run"): table})
