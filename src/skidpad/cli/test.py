"""`skidpad test`: vehicles on the proving ground, against theory, each other, a log or limits."""

# ruff: noqa: PT028 (the command is called test, but is not a test)

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import manoeuvre_names, vehicles_and_sets
from .options import ParameterFiles, Settings, split_pairs

if TYPE_CHECKING:
    from ..study.manoeuvres.evaluation import Evaluation

OUT_OF_LIMITS = 1
"""Exit status where a limit is broken."""


def test(
    # Hidden, as the table of arguments would call it a list[str]; the text below says what it is.
    vehicle: Annotated[
        list[str] | None,
        typer.Argument(metavar="VEHICLE", hidden=True, autocompletion=vehicles_and_sets),
    ] = None,
    manoeuvre: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this one; may be given several times.",
            autocompletion=manoeuvre_names,
        ),
    ] = None,
    params: ParameterFiles = None,
    settings: Settings = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|LOG|VEHICLE",
            help="Compare with an earlier JSON file, a measured log or another vehicle.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="COLUMN=SIGNAL", help="What a column of the log is."),
    ] = None,
    at: Annotated[
        float | None, typer.Option(metavar="S", help="Time of the log at which the test begins.")
    ] = None,
    wheelbase: Annotated[
        float | None, typer.Option(metavar="M", help="Wheelbase of the vehicle of the log in m.")
    ] = None,
    limits: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Limits of metrics in YAML.")
    ] = None,
    variants: Annotated[
        int, typer.Option(min=0, help="Vehicles whose parameters differ by --spread.")
    ] = 0,
    spread: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=WIDTH", help="How uncertain a parameter is, as in m=5%."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the variants.")] = 0,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write all numbers as JSON; - prints them.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the verdicts as JUnit XML.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report, one page.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the manoeuvres, and who can do them.")
    ] = False,
) -> None:
    """Put vehicles to the standard tests of the field: ISO manoeuvres and others.

    A VEHICLE is one of those that skidpad models lists, or one of its parameter sets, as in
    two_track:sports. The exit status is 1 if a limit is broken, and 2 if nothing could be tested,
    compared or held to limits.
    """
    from rich.console import Console

    from ..core.files import target_of
    from ..study.manoeuvres.catalogue import select
    from .test_work import compared_with, manoeuvre_list, subjects_of

    for path in (None if json == "-" else json, junit, html):
        if path is not None:
            target_of(path)  # raises before a long run
    if listed:
        cars = subjects_of(vehicle or [], params, settings)
        Console().print(manoeuvre_list(select(manoeuvre), cars))
        return
    if not vehicle:
        raise InvalidValue("say which vehicle to test, as in two_track; skidpad models lists them")
    from ..study.manoeuvres.evaluation import Evaluation, Limits
    from ..study.manoeuvres.proving_ground import perform

    tests = select(manoeuvre)
    held_to = None if limits is None else Limits.read(limits)
    if held_to is not None:
        held_to.check_manoeuvres(())
    cars = subjects_of(vehicle, params, settings, variants, spread, seed)
    columns = dict(split_pairs(names, "--map {}: expected NAME=VALUE", last=True))
    changed = bool(params or settings)
    other = compared_with(
        against, manoeuvre, cars, columns, at, changed=changed, wheel_base=wheelbase
    )
    tests, other = other.adapt(tests)
    results = perform(tests, [*cars, *other.cars])
    own, others = results[: len(tests) * len(cars)], results[len(tests) * len(cars) :]
    evaluation = Evaluation(own, other.reference(own, others), held_to)
    _write(evaluation, json, junit, html)
    if all(result.unfit for result in own):
        raise InvalidValue(f"nothing was driven: {own[0].car.name} can do none of it, see above")
    if evaluation.reference is not None and not evaluation.compared:
        raise InvalidValue(f"--against {against}: none of the manoeuvres could be compared with it")
    if held_to is not None and not evaluation.checked:
        raise InvalidValue(
            f"--limits {limits}: 0 limits checked; it has those of {held_to.summary or 'nothing'}, "
            f"and none of them was tested"
        )
    if evaluation.failed:
        raise typer.Exit(OUT_OF_LIMITS)


def _write(evaluation: Evaluation, json: str | None, junit: Path | None, html: Path | None) -> None:
    """Print the evaluation and write the files that were asked for."""
    from rich.console import Console

    from ..study.manoeuvres.evaluation import as_json, write_json, write_junit
    from .output import print_json
    from .sheets import print_files
    from .test_work import evaluation_tables

    written: dict[str, Path] = {}
    if json == "-":
        print_json(as_json(evaluation))
    else:
        Console().print(evaluation_tables(evaluation))
        if json is not None:
            written["numbers"] = Path(json)
            write_json(evaluation, Path(json))
    if junit is not None:
        written["JUnit"] = junit
        write_junit(evaluation, junit)
    if html is not None:
        from datetime import datetime

        written["report"] = html
        evaluation.to_html(html, date=datetime.now().strftime("%Y-%m-%d %H:%M"))
    if json != "-":
        print_files(written)
