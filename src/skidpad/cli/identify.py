"""`skidpad log`, `compare`, `fit` and `estimate`: recorded runs, and vehicles that replay them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Argument, Option

from ..core.files import target_of
from ..errors import InvalidValue, SkidpadError, require_extras
from .options import (
    CALIBRATION,
    WITH_FILE,
    AsJson,
    Compat,
    ParameterFiles,
    Settings,
    VehicleName,
    bounds_of,
    calibrated_vehicle,
    compared_vehicles,
    names_of,
    number_of,
    pairs_of,
    set_values,
    split_pairs,
    vehicles_and_sets,
)
from .output import caught_texts, finite, print_json

if TYPE_CHECKING:
    from ..study.logs.log import Log
    from ..study.logs.preparation import Prepared

JOINED = "+"
"""Sign between files of one drive that were recorded with several clocks."""


class LogReading(NamedTuple):
    """Options for reading recorded runs.

    Args:
        logs [FILE]: Recorded run; may be repeated. Files of one drive are joined by a plus sign,
            as in imu.csv+gnss.csv; FILE@SECONDS adds an offset to the times of a file.
        names [COLUMN=CHANNEL]: What a column of the logs is; -CHANNEL reverses its sign.
        without [STEP]: Leave out a step of the preparation, as skidpad log names it.
        dbc [FILE]: Definition of the messages of a CAN log.
    """

    logs: Annotated[list[str] | None, Option("--log")] = None
    names: Annotated[list[str] | None, Option("--map")] = None
    without: list[str] | None = None
    dbc: Path | None = None

    def sources(self) -> list[Any]:
        """The recorded runs, as `compare` takes them."""
        if not self.logs:
            raise InvalidValue("no recorded run is given: name one with --log FILE")
        return [_source(text) for text in self.logs]

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `compare` and `fit` for reading and preparing logs."""
        return {"names": _names(self.names), "without": names_of(self.without), "dbc": self.dbc}


def _source(text: str) -> Any:
    """A file, or the files of one drive."""
    parts = text.split(JOINED)
    if len(parts) == 1 or Path(text).exists():
        return Path(text)
    return tuple(Path(part) for part in parts)


def _names(texts: Sequence[str] | None) -> dict[str, str]:
    fault = "--map {}: expected COLUMN=CHANNEL, as in delta=steer"
    return dict(split_pairs(texts, fault, last=True))


STOPPED = 130
"""Exit status after Ctrl-C, as in shells."""


@contextmanager
def _interruptible() -> Generator[None]:
    """Context that ends the command with a sentence on Ctrl-C, before any file is written."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing was written", err=True)
        raise typer.Exit(STOPPED) from None


UNUSABLE = 1
"""Exit status of `skidpad log` if a log cannot be prepared."""


def log(
    # Hidden, as the table of arguments would call it a list[str]; the text below says what it is.
    files: Annotated[list[str], Argument(metavar="FILE", hidden=True)],
    names: Annotated[list[str] | None, Option("--map")] = None,
    without: list[str] | None = None,
    dbc: Path | None = None,
    page: Path | None = None,
    json: AsJson = False,
) -> None:
    """Show what recorded runs contain: channels, rates, gaps, delays, and doubtful signs or units.

    A FILE is the file of a logger or the folder of a bag; files of one drive are joined by a plus
    sign, as in imu.csv+gnss.csv. The exit status is 1 if channels contradict each other, so that
    no vehicle can replay the run.

    Args:
        names [COLUMN=CHANNEL]: What a column of the logs is; -CHANNEL reverses its sign.
        without [STEP]: Leave out a step of the preparation; each line about it begins with its
            name.
        dbc [FILE]: Definition of the messages of a CAN log.
        page [FILE]: Write an HTML page of the run: channels over time, the drive on a map.
    """
    from ..study.logs.preparation import prepare
    from ..study.logs.reading import read_log

    if page is not None:
        target_of(page)
        if len(files) > 1:
            raise InvalidValue("--page writes the page of one run; name one FILE")
    found: list[tuple[Log, Prepared | None, str]] = []
    for text in files:
        own = read_log(_source(text), _names(names), dbc=dbc)
        try:
            found.append((own, prepare(own, without=names_of(without)), ""))
        except SkidpadError as error:
            found.append((own, None, str(error)))
    from .identify_sheets import log_as_json, log_sheet

    own, prepared, _ = found[0]
    if page is not None and prepared is not None:
        from ..view.pages.log_page import log_page

        log_page(prepared, page, log=own, date=_today())
    if json:
        logs = [log_as_json(*one) for one in found]
        print_json(finite({"schema": "log/1", "logs": logs}))
    else:
        from .sheets import Console

        for one in found:
            Console().print(log_sheet(*one))
        if page is not None and prepared is not None:
            typer.echo(f"page written to {page}")
    if any(problem for _, _, problem in found):
        raise typer.Exit(UNUSABLE)


def _today() -> str:
    return datetime.now().strftime("%Y-%m-%d %H:%M")


def _labels(texts: Sequence[str]) -> list[str]:
    """Names of vehicles for tables: without the folders of their files where that tells them
    apart."""
    if len(set(texts)) < len(texts):
        raise InvalidValue(f"{', '.join(texts)}: a vehicle is named twice")
    found = (WITH_FILE.fullmatch(text) for text in texts)
    short = [
        text if own is None else f"{own[1]}:{Path(own[2]).name}"
        for text, own in zip(texts, found, strict=True)
    ]
    return short if len(set(short)) == len(short) else list(texts)


Vehicles = Annotated[
    list[str], Argument(metavar="VEHICLE", hidden=True, autocompletion=vehicles_and_sets)
]


def compare(
    vehicles: Vehicles,
    logs: LogReading,
    params: ParameterFiles = None,
    settings: Settings = None,
    window: float | None = None,
    horizon: list[float] | None = None,
    channels: list[str] | None = None,
    at: str = "auto",
    free: list[str] | None = None,
    hold_out: str = "30%",
    out: Path | None = None,
    report: Path | None = None,
    json: AsJson = False,
) -> None:
    """Replay recorded runs by vehicles, show the errors, and which model the runs support.

    A VEHICLE is as skidpad models lists it; NAME:SET has a parameter set, NAME:FILE the parameters
    of a file, and MODULE:NAME is your own. A model that was fitted should be compared on runs
    that the fit has not seen.

    Args:
        window [S]: Length of the windows, which all vehicles start from the same measured state.
        horizon [S]: Time since the start of a window at which errors are shown; may be repeated.
        channels [NAME,...]: Channels to compare; by default all that do not drive the vehicles.
        at: Point of the vehicles that the runs describe: centre of mass, rear axle or body point.
        free [NAME,...]: Fit these parameters, as far as a vehicle has them, to the first part of
            each run, and compare over the rest.
        hold_out [SHARE]: Part of each run, at its end, that a fit leaves to the comparison.
        out [FOLDER]: Draw measured and replayed channels, and errors over time, into this folder.
        report [FILE]: Write the report, one HTML page.
    """
    from ..study.identify import comparison as study
    from ..study.identify.replay import HORIZONS

    if report is not None:
        target_of(report)
    if out is not None:
        require_extras("plots", purpose="The plot of a comparison")
    own, lacks = compared_vehicles(_labels(vehicles), vehicles, params, settings)
    with _interruptible(), caught_texts(Warning) as notes:
        found = study.compare(
            {name: car for name, (car, _) in own.items()},
            logs.sources(),
            window=window,
            horizons=horizon or HORIZONS,
            channels=names_of(channels) or None,
            at=at,
            calibration={name: values for name, (_, values) in own.items()},
            fit=names_of(free) or None,
            hold_out=_share(hold_out),
            **logs.options(),
        )
    from .identify_sheets import comparison_as_json, comparison_sheet

    notes = [*lacks, *found.notes, *dict.fromkeys(notes)]
    if json:
        print_json(finite(comparison_as_json(found, notes)))
    else:
        from .sheets import Console

        Console().print(comparison_sheet(found, notes))
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidValue(f"cannot write to the folder {out}: {error.strerror}") from error
        for k, name in enumerate(found.logs):
            found.plot(out / f"replay_{k + 1}.png", name)
        found.plot_horizons(out / "errors.png")
        if not json:
            typer.echo(f"plots written to {out}")
    if report is not None:
        found.report(report, date=_today())
        if not json:
            typer.echo(f"report written to {report}")


def estimate(
    vehicle: VehicleName,
    logs: LogReading,
    states: Annotated[list[str], Option()],
    params: ParameterFiles = None,
    settings: Settings = None,
    measured: list[str] | None = None,
    walk: list[str] | None = None,
    method: str = "ekf",
    causal: bool = False,
    out: Path | None = None,
    json: AsJson = False,
) -> None:
    """Estimate states and parameters of a vehicle over recorded runs, such as v_y and friction.

    Inputs that a run does not contain, such as the force of drive and brakes, are estimated too.

    Args:
        states [NAME,...]: States, parameters and quantities to estimate, as in v_y,sideslip,mu.
        measured [NAME=STD]: Standard deviation of a channel; may be repeated. By default that of
            its noise.
        walk [NAME=SIZE]: Growth of a parameter's deviation per square root of a second; may be
            repeated.
        method: ekf, ukf or mhe.
        causal: Use at each moment only what was measured before.
        out [FILE]: Write the estimates over time as CSV.
    """
    from ..core.files import target_of
    from ..study.identify.drives import calibrated, prepare_logs
    from .identify_sheets import StateEstimates, estimates_as_json, estimates_sheet, estimates_table

    if out is not None:
        target_of(out)
        if len(logs.sources()) > 1:
            raise InvalidValue("--out writes the estimates of one log; name one with --log")
    car, calibration = calibrated_vehicle(vehicle, params, settings)
    names = names_of(states)
    given = {n: number_of("--measured", n, t) for n, t in pairs_of("--measured", measured or ())}
    walks = {n: number_of("--walk", n, t) for n, t in pairs_of("--walk", walk or ())}
    options = logs.options()
    # Kalman filters take white noise; that of a smoothed channel is not.
    options["without"] = [*options["without"], "filter"]
    found: list[StateEstimates] = []
    with _interruptible(), caught_texts(Warning) as notes:
        for raw in prepare_logs(logs.sources(), **options):
            drive, told = calibrated(car, raw, calibration)
            notes += told
            found.append(
                StateEstimates.of(
                    car, drive, names, given, parameters=walks, method=method, smooth=not causal
                )
            )
    if json:
        print_json(finite(estimates_as_json(vehicle, found, notes)))
    else:
        from .sheets import Console

        Console().print(estimates_sheet(vehicle, found, notes))
    if out is not None:
        out.write_text(estimates_table(found[0]), encoding="utf-8")
        if not json:
            typer.echo(f"estimates written to {out}")


def fit(
    vehicle: VehicleName,
    logs: LogReading,
    free: list[str] | None = None,
    params: ParameterFiles = None,
    settings: Settings = None,
    compat: Compat = None,
    hold_out: Annotated[list[str] | None, Option()] = None,
    bounds: list[str] | None = None,
    prior: list[str] | None = None,
    window: float | None = None,
    longest: float = 1.0,
    starts: Annotated[int, Option(min=1)] = 3,
    at: str = "auto",
    out: Path | None = None,
    report: Path | None = None,
    json: AsJson = False,
) -> None:
    """Estimate parameters of a vehicle from recorded runs, with intervals, and judge the fit.

    The table shows the errors on the part of the runs that was fitted, and on the part that was
    held out. What the runs cannot tell is named below the table.

    Args:
        free [NAME,...]: Parameters to estimate, as in I_z,tyres.*.mu_y; a name with a star is one
            factor on all that match. log.NAME is a parameter of the sensors, delay.NAME the delay
            of a channel.
        hold_out [SHARE]: Part of each run, at its end, that judges the fit, as in 30%; or a run of
            its own.
        bounds [NAME=LOW:HIGH]: Ends of a parameter; may be repeated.
        prior [NAME=MEAN:STD]: What is known of a parameter beforehand; may be repeated.
        window [S]: Length of the windows, each of which starts from the measured state; by default
            a twelfth of the fitted time, from 1.5 to 5 s.
        longest [S]: Longest dead time to try.
        starts: Number of initial values that the fit is repeated from.
        at: Point of the vehicle that the runs describe: centre of mass, rear axle or body point.
        out [FILE]: Write the parameters in YAML, for --params and VEHICLE:FILE, with the same
            parameter set as in the fit.
        report [FILE]: Write the report, one HTML page.
    """
    from ..study.identify import fitting
    from ..vehicles.registry import COMMAND_DRIVEN

    for target in (out, report):
        if target is not None:
            target_of(target)
    more: dict[str, Any] = {"at": at, "bounds": bounds_of(bounds), "priors": _priors(prior)}
    own: Any = vehicle
    if vehicle in COMMAND_DRIVEN:  # by name, so that Autoware can read the file
        values = set_values(settings)
        apart = {n: float(v) for n, v in values.items() if n.startswith(CALIBRATION)}
        values = {n: v for n, v in values.items() if n not in apart}
        more |= {"params": [*(params or ()), values], "compat": compat, "calibration": apart}
    elif compat is not None:
        raise InvalidValue("--compat needs one of Autoware's vehicles")
    else:
        own, more["calibration"] = calibrated_vehicle(vehicle, params, settings)
    with _interruptible(), caught_texts(Warning) as notes:
        found = fitting.fit(
            own,
            logs.sources(),
            names_of(free) or None,
            hold_out=_held_out(hold_out),
            window=window,
            longest=longest,
            starts=starts,
            **more,
            **logs.options(),
        )
    own_file = WITH_FILE.fullmatch(vehicle)
    found = replace(found, named=vehicle if own_file is None else own_file[1])
    if out is not None:
        found.write(out)
    if report is not None:
        found.report(report, date=_today())
    from .identify_sheets import fit_as_json, fit_sheet

    notes = [*found.notes, *dict.fromkeys(notes)]
    if json:
        print_json(finite(fit_as_json(found, notes)))
        return
    from .sheets import Console

    Console().print(fit_sheet(found, notes))
    if out is not None:
        typer.echo(f"parameters written to {out}")
    if report is not None:
        typer.echo(f"report written to {report}")


def _held_out(texts: Sequence[str] | None) -> Any:
    """Share or runs that judge a fit."""
    if not texts:
        return 0.3
    (first, *others) = texts
    if others or Path(first.split(JOINED)[0]).exists():
        return [_source(text) for text in texts]
    return _share(first)


def _share(text: str) -> float:
    """A share from a text such as 30% or 0.3."""
    share = number_of("--hold-out", "share", text.removesuffix("%").strip())
    return share / 100.0 if text.endswith("%") else share


def _priors(texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation by name."""
    found: dict[str, tuple[float, float]] = {}
    for name, text in pairs_of("--prior", texts or ()):
        mean, colon, deviation = text.partition(":")
        if not colon:
            raise InvalidValue(f"--prior {name}={text}: expected NAME=MEAN:STD, as in I_z=1500:200")
        found[name] = number_of("--prior", name, mean), number_of("--prior", name, deviation)
    return found
