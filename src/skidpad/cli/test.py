"""`skidpad test`: vehicles on the proving ground, compared with theory, each other, a log or
limits."""

# ruff: noqa: PT028 (the command is called test, but is not a test)

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ..errors import InvalidValue
from .options import ParameterFiles, Settings, manoeuvre_names, split_pairs, vehicles_and_sets
from .output import print_json

if TYPE_CHECKING:
    from ..study.manoeuvres.evaluation import Evaluation

OUT_OF_LIMITS = 1
"""Exit status if a limit is broken."""


def test(
    # Hidden, as the table of arguments would call it a list[str]; the text below says what it is.
    vehicle: Annotated[
        list[str] | None, Argument(metavar="VEHICLE", hidden=True, autocompletion=vehicles_and_sets)
    ] = None,
    manoeuvre: Annotated[list[str] | None, Option(autocompletion=manoeuvre_names)] = None,
    params: ParameterFiles = None,
    settings: Settings = None,
    against: str | None = None,
    names: Annotated[list[str] | None, Option("--map")] = None,
    at: float | None = None,
    wheelbase: float | None = None,
    limits: Path | None = None,
    variants: Annotated[int, Option(min=0)] = 0,
    spread: list[str] | None = None,
    seed: Annotated[int, Option(min=0)] = 0,
    json: str | None = None,
    junit: Path | None = None,
    html: Path | None = None,
    listed: Annotated[bool, Option("--list")] = False,
) -> None:
    """Put vehicles to the standard tests of the field: ISO manoeuvres and others.

    A VEHICLE is one of those that skidpad models lists, or one of its parameter sets, as in
    two_track:sports. The exit status is 1 if a limit is broken, and 2 if nothing could be tested,
    compared or checked against limits.

    Args:
        manoeuvre [NAME]: Only this one; may be given several times.
        against [FILE|LOG|VEHICLE]: Compare with an earlier JSON file, a measured log or another
            vehicle.
        names [COLUMN=SIGNAL]: What a column of the log is.
        at [S]: Time of the log at which the test begins.
        wheelbase [M]: Wheelbase of the vehicle of the log in m.
        limits [FILE]: Limits of metrics in YAML.
        variants: Vehicles whose parameters differ by --spread.
        spread [NAME=WIDTH]: How uncertain a parameter is, as in m=5%.
        seed: Of the variants.
        json [FILE]: Write all numbers as JSON; - prints them.
        junit [FILE]: Write the verdicts as JUnit XML.
        html [FILE]: Write the report, one page.
        listed: List the manoeuvres, and who can do them.
    """
    from ..core.files import target_of
    from ..study.manoeuvres.catalogue import select
    from .sheets import Console
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
    given = against, manoeuvre, cars, columns, at
    other = compared_with(*given, changed=changed, wheel_base=wheelbase)
    tests, other = other.adapt(tests)
    results = perform(tests, [*cars, *other.cars])
    own, others = results[: len(tests) * len(cars)], results[len(tests) * len(cars) :]
    evaluation = Evaluation(own, other.reference(own, others), held_to)
    _write(evaluation, json, junit, html)
    if all(result.unfit for result in own):
        raise InvalidValue(
            f"no manoeuvre was driven: {own[0].car.name} can do none of those requested (see above)"
        )
    if evaluation.reference is not None and not evaluation.compared:
        raise InvalidValue(f"--against {against}: none of the manoeuvres could be compared with it")
    if held_to is not None and not evaluation.checked:
        raise InvalidValue(
            f"--limits {limits}: 0 limits were checked: the file has limits of "
            f"{held_to.summary or 'nothing'}, and none of these was tested"
        )
    if evaluation.failed:
        raise typer.Exit(OUT_OF_LIMITS)


def _write(evaluation: Evaluation, json: str | None, junit: Path | None, html: Path | None) -> None:
    from ..study.manoeuvres.evaluation import as_json, write_json, write_junit
    from .sheets import Console, print_files
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
