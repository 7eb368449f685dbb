"""`skidpad test`: vehicles on the proving ground, beside theory, each other, a log or limits."""

# ruff: noqa: PT028 (the command is called test and is none)

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import manoeuvre_names, vehicles_and_sets
from .run import Params, Settings

if TYPE_CHECKING:
    from ..study.manoeuvres.evaluation import Evaluation
    from ..study.manoeuvres.subject import Subject

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
    params: Params = None,
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
        float | None,
        typer.Option(metavar="M", help="Wheelbase of the vehicle of the log in m."),
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
    from .test_work import chosen_subjects, compared_with, split_pairs

    _check_targets(json, junit, html)
    if listed:
        _print_list(chosen_subjects(vehicle or [], params, settings), manoeuvre)
        return
    if not vehicle:
        raise InvalidValue("say which vehicle to test, as in two_track; skidpad models lists them")
    from ..study.manoeuvres.catalogue import chosen
    from ..study.manoeuvres.evaluation import Evaluation, Limits
    from ..study.manoeuvres.proving_ground import perform

    tests = chosen(manoeuvre)
    held_to = None if limits is None else Limits.read(limits)
    if held_to is not None:
        held_to.check_manoeuvres(())
    cars = chosen_subjects(vehicle, params, settings, variants, spread, seed)
    columns, changed = split_pairs("--map", names), bool(params or settings)
    other = compared_with(
        against, manoeuvre, cars, columns, at, changed=changed, wheel_base=wheelbase
    )
    tests, other = other.adapting(tests)
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


def _check_targets(json: str | None, junit: Path | None, html: Path | None) -> None:
    """Raise before a long run for files that cannot be written after it."""
    from ..core.files import target_of

    for path in (None if json == "-" else json, junit, html):
        if path is not None:
            target_of(path)


def _write(
    evaluation: Evaluation,
    json: str | None,
    junit: Path | None,
    html: Path | None,
) -> None:
    from rich.console import Console

    from ..study.manoeuvres.evaluation import as_json, write_json, write_junit

    if json == "-":
        from .output import print_json

        print_json(as_json(evaluation))
    else:
        from .test_work import evaluation_tables

        Console().print(evaluation_tables(evaluation))
    written: list[tuple[str, Path]] = []
    if json not in (None, "-"):
        written.append(("numbers", Path(json or "")))
        write_json(evaluation, written[-1][1])
    if junit is not None:
        write_junit(evaluation, junit)
        written.append(("JUnit", junit))
    if html is not None:
        from datetime import datetime

        evaluation.to_html(html, date=datetime.now().strftime("%Y-%m-%d %H:%M"))
        written.append(("report", html))
    if json != "-":
        from ..demo.performing import file_line

        for what, path in written:
            Console(soft_wrap=True).print(file_line(what, path))


def _print_list(cars: Sequence[Subject], wanted: Sequence[str] | None) -> None:
    from rich.console import Console

    from ..study.manoeuvres.catalogue import chosen
    from .test_work import manoeuvre_list

    Console().print(manoeuvre_list(chosen(wanted), cars))
