"""`skidpad test`, `tune` and `lap`: performance of vehicles on the proving ground and on a track.

`test` compares metrics of the standard manoeuvres with theory, another vehicle, a log or limits;
`tune` finds parameters within bounds that reach target metrics; `lap` finds the lap of least time.
"""

# ruff: noqa: PT028 (the command is called test, but is not a test)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..core.files import counted, first_repeated, target_of
from ..errors import InvalidValue
from ..view.sheet import Sheet
from .options import (
    AsJson,
    ParameterFiles,
    Settings,
    VehicleName,
    bounds_of,
    is_vehicle,
    manoeuvre_names,
    names_of,
    number_of,
    pairs_of,
    split_pairs,
    vehicle_choices,
    vehicle_of,
    vehicles_and_sets,
)
from .output import print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..study.manoeuvres.case_run import CaseRun
    from ..study.manoeuvres.evaluation import Evaluation, Reference, Row
    from ..study.manoeuvres.manoeuvre import Manoeuvre
    from ..study.manoeuvres.proving_ground import Result
    from ..study.manoeuvres.subject import Subject
    from ..study.manoeuvres.tuning import Moved, Optimised, Reached


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
    """Test vehicles in standard manoeuvres: ISO manoeuvres and others.

    VEHICLE is a name listed by skidpad models, with an optional parameter set, as in
    two_track:sports. The exit status is 1 if a limit is broken, and 2 if nothing could be tested,
    compared or checked against limits.

    Args:
        manoeuvre [NAME]: Run only this manoeuvre; may be given several times.
        against [FILE|LOG|VEHICLE]: Compare with an earlier JSON file, a measured log or another
            vehicle.
        names [COLUMN=SIGNAL]: Signal that a column of the log contains.
        at [S]: Time in the log at which the test begins, in s.
        wheelbase [M]: Wheelbase in m of the vehicle that recorded the log.
        limits [FILE]: Limits of metrics in YAML.
        variants: Number of variants of each vehicle, with parameters drawn within --spread.
        spread [NAME=WIDTH]: Uncertainty of a parameter, as in m=5%.
        seed: Seed of the variants.
        json [FILE]: Write all numbers as JSON; - prints them.
        junit [FILE]: Write the verdicts as JUnit XML.
        html [FILE]: Write the report, one page.
        listed: List the manoeuvres and the vehicles that can perform them.
    """
    from ..study.manoeuvres.evaluation import Evaluation, Limits
    from ..study.manoeuvres.proving_ground import perform, select
    from .sheets import Console

    for path in (None if json == "-" else json, junit, html):
        if path is not None:
            target_of(path)  # raises before a long run
    if listed:
        cars = subjects_of(vehicle or [], params, settings)
        Console().print(manoeuvre_list(select(manoeuvre), cars))
        return
    if not vehicle:
        raise InvalidValue("name a vehicle to test, such as two_track; skidpad models lists them")
    tests = select(manoeuvre)
    held_to = None if limits is None else Limits.read(limits)
    if held_to is not None:
        held_to.check_manoeuvres(())
    cars = subjects_of(vehicle, params, settings, variants, spread, seed)
    columns = dict(split_pairs(names, "--map {}: expected NAME=VALUE", last=True))
    changed = bool(params or settings)
    given = against, manoeuvre, cars, columns, at
    other = Against.of(*given, changed=changed, wheel_base=wheelbase)
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


LOGS = (".csv", ".parquet", ".mcap", ".db3")
UNCHANGED = "(unchanged)"
"""Suffix of the name of a vehicle that a changed one is compared with: itself without
changes."""


def subjects_of(
    names: Sequence[str],
    params: Sequence[Path] | None = None,
    settings: Sequence[str] | None = None,
    variants: int = 0,
    spread: Sequence[str] | None = None,
    seed: int = 0,
) -> list[Subject]:
    """Vehicles under test, with variants if requested."""
    from ..study.manoeuvres.sensitivities import parse_spread, spread_out
    from ..study.manoeuvres.subject import Subject

    twice = first_repeated(names)
    if twice is not None:
        raise InvalidValue(f"{twice} is named twice; vehicles under test must differ")
    if spread and not variants:
        raise InvalidValue("--spread needs --variants, as in --variants 200")
    if variants and not spread:
        raise InvalidValue("--variants needs --spread, as in --spread m=5%")
    cars = {name: vehicle_of(name, params, settings) for name in names}
    if not variants:
        return [Subject(car, name=name) for name, car in cars.items()]
    widths = parse_spread(spread or ())
    return [spread_out(car, widths, variants, seed=seed, name=name) for name, car in cars.items()]


@dataclass(frozen=True)
class Against:
    """Comparison requested by `--against`, with the data known before the runs."""

    earlier: Reference | None = None
    drive: CaseRun | None = None
    aligned: bool = True
    wheel_base: float | None = None
    """Wheelbase of the measured vehicle in m; None for the wheelbase of the vehicle under test."""
    notes: Sequence[str] = ()
    cars: Sequence[Subject] = ()
    """Other vehicles, which have to drive too."""

    def adapt(self, tests: Sequence[Manoeuvre]) -> tuple[Sequence[Manoeuvre], Against]:
        """Manoeuvres adapted to settings determined from the log, and notes on the changes."""
        from ..study.manoeuvres.logs import adapt, adapted_settings

        if self.drive is None:
            return tests, self
        as_driven: list[Manoeuvre] = []
        notes = list(self.notes)
        for test in tests:
            try:
                as_driven.append(adapt(test, self.drive))
            except InvalidValue:  # `measured` reports the reason
                as_driven.append(test)
            if settings := adapted_settings(test, as_driven[-1]):
                notes.append(f"{test.name} is driven as the log was: {settings}")
        return as_driven, replace(self, notes=notes)

    def reference(self, results: Sequence[Result], others: Sequence[Result]) -> Reference | None:
        """Reference results for the comparison, from the vehicles under test and the other
        vehicles.
        """
        from ..study.manoeuvres.evaluation import Reference
        from ..study.manoeuvres.logs import measured_reference

        if self.drive is not None:
            how: Any = {"aligned": self.aligned, "wheel_base": self.wheel_base}
            return measured_reference(self.drive, results, notes=self.notes, **how)
        if self.cars:
            return Reference.of_results(self.cars[0].name, others)
        return self.earlier

    @classmethod
    def of(
        cls,
        against: str | None,
        tests: Sequence[str] | None,
        cars: Sequence[Subject],
        names: Mapping[str, str],
        at: float | None,
        *,
        changed: bool = False,
        wheel_base: float | None = None,
    ) -> Against:
        """Comparison for the text given to `--against`; `tests` are the manoeuvres chosen by the
        user.

        With `changed`, the vehicles under test have modified parameters, so each may be compared
        with the unmodified vehicle of the same name.
        """
        from ..study.manoeuvres.evaluation import earlier
        from ..study.manoeuvres.subject import Subject

        path = Path(against) if against is not None else Path()
        log = against is not None and (path.is_dir() or path.suffix.lower() in LOGS)
        of_log = {"map": names or None, "at": at, "wheelbase": wheel_base}
        given = [option for option, value in of_log.items() if value is not None]
        if given and not log:
            raise InvalidValue(f"--{given[0]} needs --against LOG")
        if against is None:
            return cls()
        if log:
            from ..study.logs.reading import read_log
            from ..study.manoeuvres.logs import drive_of_log

            if not tests:
                raise InvalidValue(
                    f"--against {against}: name the manoeuvre of the log with --manoeuvre, such as "
                    "step_steer"
                )
            drive, notes = drive_of_log(read_log(path, names), at)
            return cls(drive=drive, aligned=at is None, wheel_base=wheel_base, notes=notes)
        if path.suffix.lower() == ".json":
            return cls(earlier(path))
        under_test = against in [car.name for car in cars]
        if under_test and not changed:
            raise InvalidValue(
                f"--against {against}: this vehicle is itself under test; name another one, or "
                "change the vehicle under test with --set or --params"
            )
        if not is_vehicle(against):
            raise InvalidValue(
                f"--against {against} is neither a file of results (.json), nor a log "
                f"({', '.join(LOGS)}, or a bag), nor a vehicle; skidpad models lists the vehicles"
            )
        name = f"{against} {UNCHANGED}" if under_test else against
        return cls(cars=[Subject(vehicle_of(against), name=name)])


ABOVE = ("metric", "unit", "verdict")
"""Columns placed above the numbers if they do not all fit in one row."""


def evaluation_tables(evaluation: Evaluation) -> RenderableType:
    """Tables of an evaluation: each manoeuvre of each vehicle, then skipped manoeuvres and broken
    limits.
    """
    from . import sheets
    from .sheets import Group, Text

    parts: list[RenderableType] = []
    for car in evaluation.cars:
        parts.append(Text(car, "bold cyan"))
        reasons: dict[str, list[str]] = {}
        for result in (result for result in evaluation.results if result.car.name == car):
            test = result.manoeuvre
            if result.unfit:
                reasons.setdefault(result.unfit, []).append(test.name)
            if result.findings is not None:
                about = f"  {test.title}, {test.source}", "dim"
                parts.append(Text.assemble("\n", (test.name, "bold"), about))
                rows = [
                    row for row in evaluation.rows if (row.car, row.manoeuvre) == (car, test.name)
                ]
                parts += [_metrics_table(rows), *sheets.notes(result.findings.notes)]
        for reason, names in reasons.items():
            parts.append(Text(f"not driven: {', '.join(names)}: {reason}", "dim"))
    reference = evaluation.reference
    if len(evaluation.cars) > 1 and reference is None:
        first, second = evaluation.cars[:2]
        hint = f"in columns side by side: skidpad test {second} --against {first}, or --html"
        parts.append(Text(f"\n{hint}", "dim"))
    if reference is not None:
        missing = [f"{name}: {reason}" for name, reason in evaluation.not_compared.items()]
        parts.append(Text(f"against: {reference.name}", "dim"))
        parts += sheets.notes([*missing, *reference.notes])
    if evaluation.limits is not None:
        checked, failed = len(evaluation.checked), evaluation.failed
        for row in failed:
            place = f"{row.car}, {row.manoeuvre}, {row.name}"
            parts.append(Text(f"{row.verdict} {place}: {row.reason} {row.unit}", "red"))
        limits = counted(checked, "limit")
        text = f"{len(failed)} of {limits} broken" if failed else f"{limits} kept"
        skipped = len(evaluation.judged) - checked
        said = text if checked else f"{limits} checked"
        parts.append(Text(said + (f", {skipped} skipped" if skipped else ""), "bold"))
    return Group(*parts)


def _metrics_table(rows: Sequence[Row]) -> RenderableType:
    """Table with a row per metric; on a narrow terminal, names and verdicts stand above the
    numbers.
    """
    from ..study.manoeuvres.evaluation import FAIL, PASS
    from . import sheets
    from .sheets import Group, Text, cell_len

    styles = {PASS: "green", FAIL: "bold red"}
    verdicts = [Text(row.verdict, styles.get(row.verdict, "dim")) for row in rows]
    columns = _columns(rows)
    cells: list[Sequence[Any]] = [verdicts if head == "verdict" else own for head, own in columns]
    heads = [head for head, _ in columns]
    right = [k for k, head in enumerate(heads) if head not in ABOVE]
    sheet = Sheet(heads, list(zip(*cells, strict=True)), right)
    numbers = [own for head, own in columns if head not in ABOVE]
    widths = [max(map(cell_len, (heads[k], *own))) for k, own in zip(right, numbers, strict=True)]

    def line(texts: Sequence[str]) -> str:
        pairs = zip(texts, widths, strict=True)
        return "".join(
            f"  {' ' * (width - cell_len(text))}{text}" for text, width in pairs
        ).rstrip()

    width = sum(widths) + 2 * len(widths)
    lines = [Text(line([heads[k] for k in right]), "bold"), Text("─" * width)]
    for row, verdict, texts in zip(rows, verdicts, zip(*numbers, strict=True), strict=True):
        unit = f" in {row.unit}" if row.unit else ""
        lines.append(Text.assemble((row.name, "cyan"), unit, "  " if row.verdict else "", verdict))
        lines.append(Text(line(texts)))
    return sheets.Legible(sheets.table(sheet, padding=(0, 1, 0, 0)), Group(*lines), width)


def _columns(rows: Sequence[Row]) -> list[tuple[str, list[str]]]:
    """Headings and texts of the table columns, omitting columns that no row needs."""
    from ..study.manoeuvres.evaluation import NONE, difference_text, number_text

    columns = [
        ("metric", [row.name for row in rows]),
        ("value", [number_text(row.value) for row in rows]),
        ("unit", [row.unit for row in rows]),
    ]
    if any(row.interval for row in rows):
        ends = (row.interval and " to ".join(map(number_text, row.interval)) for row in rows)
        lacks = (f" ({row.lacking} without)" if row.lacking else "" for row in rows)
        pairs = zip(ends, lacks, strict=True)
        columns.append(("5 to 95 %", [f"{text}{more}" if text else NONE for text, more in pairs]))
    for head, field in (("theory", "theory"), ("against", "reference")):
        bases: list[float | None] = [getattr(row, field) for row in rows]
        if all(base is None for base in bases):
            continue
        known = list(zip(rows, bases, strict=True))
        texts = ["" if base is None else number_text(base) for base in bases]
        differences = [
            "" if base is None else difference_text(row.value, base, row.unit)
            for row, base in known
        ]
        columns += [(head, texts), ("diff.", differences)]
    if any(row.verdict for row in rows):
        columns.append(("limit", [str(row.limit or "") for row in rows]))
        columns.append(("verdict", [row.verdict for row in rows]))
    return columns


def manoeuvre_list(manoeuvres: Sequence[Manoeuvre], cars: Sequence[Subject]) -> RenderableType:
    """Table of all manoeuvres with their sources, and why a vehicle cannot do one.

    On a narrow terminal there is a single cell per manoeuvre.
    """
    from . import sheets

    names = [car.name for car in cars]
    rows: list[Sequence[str]] = []
    narrow: list[Sequence[str]] = []
    for one in manoeuvres:
        answers = [one.unfit(car) or "yes" for car in cars]
        rows.append((one.name, one.title, one.source, *answers))
        said = [
            text if text.startswith(name) else f"{name}: {text}"  # it may have the name already
            for name, text in zip(names, answers, strict=True)
        ]
        narrow.append((one.name, "\n".join([f"{one.title}, {one.source}", *said])))
    heads = ("manoeuvre", "what it is", "source", *names)
    wide = Sheet(heads, rows, wraps=range(1, len(heads)))
    heads = ("manoeuvre", "what it is, source, and who can do it")
    return sheets.Legible(sheets.table(wide), sheets.legible(Sheet(heads, narrow, wraps=(1,))))


OUT_OF_REACH = 1
"""Exit status if a target was not reached."""


def tune(
    vehicle: VehicleName,
    free: Annotated[list[str], Option()],
    target: list[str] | None = None,
    minimise: list[str] | None = None,
    maximise: list[str] | None = None,
    bounds: list[str] | None = None,
    params: list[Path] | None = None,
    settings: Settings = None,
    out: Path | None = None,
    iterations: Annotated[int, Option(min=1)] = 20,
) -> None:
    """Find the parameters of a vehicle that reach target metrics of the standard manoeuvres.

    Metrics can also be minimised or maximised. A METRIC is one of a manoeuvre, as in
    step_steer.yaw_rate_overshoot=0.05. The exit status is 1 if a target is out of reach; the
    nearest parameters are written all the same.

    Args:
        free [NAME,...]: Parameters to tune, as in l_f,roll_front.
        target [METRIC=VALUE]: Metric and its target value in SI units. May be repeated.
        minimise [METRIC]: Metric to minimise. May be repeated.
        maximise [METRIC]: Metric to maximise. May be repeated.
        bounds [NAME=LOW:HIGH]: Bounds of a parameter; by default ±20 % of its value. May be
            repeated.
        params [FILE]: Parameters to start from in YAML; later files win.
        out [FILE]: Write the parameters found, in YAML.
        iterations: Largest number of iterations.
    """
    from ..study.manoeuvres.tuning import tune as search
    from ..study.manoeuvres.tuning import usual_bounds
    from .sheets import Console, Text, legible

    if out is not None:
        target_of(out)
    car = vehicle_of(vehicle, params, settings)
    pairs = pairs_of("--target", target or ())
    goals = {name: number_of("--target", name, text) for name, text in pairs}

    def tell(done: int, missed: float) -> None:
        by = f": targets missed by up to {100.0 * missed:.3g} %" if goals else ""
        typer.echo(f"iteration {done}{by}", err=True)

    wanted: Any = {"minimise": minimise or (), "maximise": maximise or ()}
    names, ends = names_of(free), bounds_of(bounds)
    for name in ends:
        if name not in names:
            raise InvalidValue(f"--bounds {name}: it is not among --free {', '.join(names)}")
    found = {name: ends[name] if name in ends else usual_bounds(car, name) for name in names}
    result = search(car, goals, found, iterations=iterations, watch=tell, **wanted)

    def row(one: Reached | Optimised | Moved, wanted: str, status: str) -> tuple[str, ...]:
        return one.name, one.unit, f"{one.before:.5g}", f"{one.after:.5g}", wanted, status

    verdicts, at_bound = {True: "reached", False: "missed"}, {True: "at a bound", False: ""}
    targets = [row(one, f"{one.target:.5g}", verdicts[one.reached]) for one in result.targets]
    targets += [row(one, one.goal, "") for one in result.objectives]
    moved = [
        row(one, f"{one.low:.5g} to {one.high:.5g}", at_bound[one.at_bound])
        for one in result.params
    ]
    console = Console(soft_wrap=True)
    for rows, first, wanted_head in (
        (targets, "target", "wanted"),
        (moved, "parameter", "bounds"),
    ):
        heads = (first, "unit", "before", "after", wanted_head, "status")
        console.print(legible(Sheet(heads, rows, range(2, 5)), first="", show_edge=True))
    for note in result.notes:
        console.print(Text(note, "yellow"))
    if out is not None:
        result.write(out)
        typer.echo(f"parameters written to {out}")
    if not result.reached:
        raise typer.Exit(OUT_OF_REACH)


def lap(
    vehicle: Annotated[str, Argument(autocompletion=vehicle_choices)],
    track: Path,
    settings: Annotated[list[str] | None, Option("--set")] = None,
    width: float | None = None,
    standing: Annotated[bool, Option("--open")] = False,
    v_start: float = 5.0,
    margin: float = 0.0,
    step: float | None = None,
    starts: int = 1,
    sensitivities: Annotated[list[str] | None, Option()] = None,
    optimise: Annotated[list[str] | None, Option()] = None,
    out: Path | None = None,
    json: AsJson = False,
) -> None:
    """Find the lap of least time of VEHICLE on TRACK, a file.

    Args:
        settings [NAME=VALUE]: Parameter of the vehicle; may be given several times.
        width [M]: Width of a track whose file has no widths.
        standing: Start at --v-start and leave the final speed free, also on a closed track.
        v_start [M/S]: Speed at the beginning of an open lap.
        margin [M]: Distance to keep from the edges.
        step [M]: Largest step of the mesh. [default: the mean width of the track]
        starts: Number of initial guesses; the best lap is used.
        sensitivities [NAMES]: Parameters for which the derivative of the lap time is computed, or
            "all".
        optimise [NAME=LOW:HIGH]: Parameter to optimise within a range; may be given several times.
        out [FILE]: Write the lap to this CSV file.
    """
    from ..control import minimum_lap
    from ..geometry.maps import read_track
    from .sheets import Console, legible

    car = vehicle_of(vehicle, settings=settings)
    course = read_track(track, width=width)
    ranges = bounds_of(optimise, "--optimise")
    found = minimum_lap(
        car,
        course,
        closed=False if standing else None,
        v_start=v_start,
        margin=margin,
        step=step,
        starts=starts,
    )
    if ranges and found.converged:
        found = found.optimised(ranges)
    names = names_of(sensitivities)
    rows = found.sensitivities(None if names == ["all"] else names) if names else ()
    if out is not None:
        found.to_csv(out)
    setup = {name: found.parameter(name) for name in ranges}
    if json:
        document = {"schema": "lap/1", "time": found.time, "cost": found.cost}
        document |= {"converged": found.converged, "iterations": found.solution.iterations}
        print_json(document | {"setup": setup, "sensitivities": [row._asdict() for row in rows]})
        return
    if not found.converged:
        typer.echo("interrupted: this is the best iterate, which may violate the equations")
    typer.echo(
        f"{found.vehicle.name} on {found.track.name}: {found.time:.3f} s, "
        f"{found.v.min():.1f} to {found.v.max():.1f} m/s, {found.solution.iterations} iterations "
        f"in {found.solution.seconds:.1f} s"
    )
    for name, value in setup.items():
        typer.echo(f"{name} = {value:.6g}")
    if rows:
        shown = [
            (row.name, f"{row.value:.6g}", f"{row.time:.6g}", f"{row.per_percent:+.5f}")
            for row in sorted(rows, key=lambda row: -abs(row.per_percent))
        ]
        heads = ("parameter", "value", "s per unit", "s per %")
        Console().print(legible(Sheet(heads, shown, (1, 2, 3))))
    if out is not None:
        typer.echo(f"lap written to {out}")
