"""Tyre property files that are likely not what their author meant: warned of when they are read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.tyres import Tyre, reading
from skidpad.tyres.reading import FOLDER, Options, reversed_slopes, tyre_of
from skidpad.tyres.tir_file import Document

DATA = Path(__file__).parents[1] / "data" / "tyres"
CAR = (FOLDER / "passenger_car.tir").read_text("utf-8")
DOCUMENT = Document.parsed(CAR.encode(), "x.tir")


def changed(texts: Mapping[tuple[str, str], str]) -> Document:
    return DOCUMENT.with_texts(texts)


def without(*keys: str, section: str = "") -> Document:
    """The document of a car's tyre without some lines."""
    drop = {e.line for e in DOCUMENT.entries if e.key in keys or e.section == section}
    lines = [line for k, line in enumerate(DOCUMENT.lines, start=1) if k not in drop]
    text = "".join(line for line in lines if line.strip().upper() != f"[{section}]")
    return Document.parsed(text.encode(), "x.tir")


def told(document: Document, **options: str) -> list[str]:
    """What reading warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tyre_of(document, options=Options(**options))  # type: ignore[arg-type]
    return [str(one.message) for one in caught]


@pytest.mark.parametrize(
    "file", [*DATA.glob("sets/*.tir"), *FOLDER.glob("*.tir")], ids=lambda file: file.stem
)
def test_whole_files_raise_no_doubt(file: Path) -> None:
    texts = told(Document.parsed(file.read_bytes(), "x.tir"), missing="reduced")
    assert not [text for text in texts if "USE_MODE" not in text]


@pytest.mark.parametrize(
    ("key", "section", "words"),
    [
        ("PKY1", "LATERAL_COEFFICIENTS", "lateral force grows with the slip angle.*PKY1"),
        ("LKY", "SCALING_COEFFICIENTS", "lateral force grows with the slip angle"),
        ("PKX1", "LONGITUDINAL_COEFFICIENTS", "longitudinal force falls with slip.*PKX1"),
    ],
)
def test_slopes_of_other_axes(key: str, section: str, words: str) -> None:
    entry = DOCUMENT.entry(section, key)
    assert entry is not None
    assert entry.number is not None
    with pytest.warns(UserWarning, match=rf"x\.tir: .*{words}"):
        tyre = tyre_of(changed({(section, key): repr(-entry.number)}))
    assert reversed_slopes(tyre) == [n for n in sp.tyres.summary(tyre).warnings if "signs" in n]
    assert reversed_slopes(tyre)
    assert reversed_slopes(tyre.mirrored())


def test_ranges_that_end_below_their_beginning() -> None:
    ranges = {("VERTICAL_FORCE_RANGE", "FZMIN"): "9000", ("VERTICAL_FORCE_RANGE", "FZMAX"): "100"}
    (text,) = told(changed(ranges))
    assert "[VERTICAL_FORCE_RANGE] FZMIN = 9000 is above FZMAX = 100" in text
    light = Document.parsed(
        without("FZMIN").with_texts({("VERTICAL_FORCE_RANGE", "FZMAX"): "50"}).encoded(), "x.tir"
    )
    (text,) = told(light)
    assert "FZMIN = 100 is above FZMAX = 50" in text
    assert text.endswith("FZMIN is not in the file")


@pytest.mark.parametrize("part", ["LONGITUDINAL", "LATERAL"])
def test_a_whole_section_that_is_missing(part: str) -> None:
    section = f"{part}_COEFFICIENTS"
    (text,) = told(without(section=section))
    assert text.startswith(f"x.tir has no section [{section}]; filled with usual values")
    assert told(without(section=section), missing="reduced") == []


@pytest.mark.parametrize("key", ["PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1"])
def test_a_coefficient_that_decides_on_a_force(key: str) -> None:
    (text,) = told(without(key))
    assert text.startswith(f"x.tir lacks {key} of [")
    assert told(without(key), missing="reduced") == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("PKYl", "PKY1"), ("PYD1", "PDY1"), ("PDYY2", "PDY2"), ("PK3", "PKY3"), ("QDZI", "QDZ1")],
)
def test_keys_that_are_misspelt(wrong: str, right: str) -> None:
    lines = [
        line.replace(right, wrong, 1) if line.split("=")[0].strip() == right else line
        for line in DOCUMENT.lines
    ]
    texts = told(Document.parsed("".join(lines).encode(), "x.tir"), missing="reduced")
    (text,) = texts
    assert f"{wrong.upper()} is not known; did you mean {right}" in text
    assert text.startswith("x.tir, line ")


def test_one_digit_for_another_is_another_key() -> None:
    document = without("PEY4").with_texts({("LATERAL_COEFFICIENTS", "PEY9"): "0.1"})
    assert told(Document.parsed(document.encoded(), "x.tir")) == []


@pytest.mark.parametrize(("radius", "odd"), [("316", True), ("0.002", True), ("0.316", False)])
def test_a_radius_without_units(radius: str, odd: bool) -> None:
    text = "".join(without(section="UNITS").lines)
    document = Document.parsed(text.encode(), "x.tir")
    assert "UNITS" not in document.sections
    texts = told(document.with_texts({("DIMENSION", "UNLOADED_RADIUS"): radius}))
    assert any("seem not to be" in one for one in texts) is odd


@pytest.mark.parametrize("key", ["INFLPRES", "NOMPRES"])
def test_pressures_in_bar(key: str) -> None:
    (text,) = told(changed({("OPERATING_CONDITIONS", key): "2.2"}))
    assert f"{key} = 2.2 Pa is below 5 kPa" in text
    units = {("UNITS", "PRESSURE"): "'bar'"}
    pair = {("OPERATING_CONDITIONS", name): "2.2" for name in ("INFLPRES", "NOMPRES")}
    limits = {("INFLATION_PRESSURE_RANGE", "PRESMIN"): "1.5"}
    limits[("INFLATION_PRESSURE_RANGE", "PRESMAX")] = "3"
    assert told(changed({**units, **pair, **limits})) == []


FILES = [*sorted((DATA / "sets").glob("*.tir")), *sorted(FOLDER.glob("*.tir"))]


def mutated(document: Document, draw: np.random.Generator) -> Document:
    """A document with one of its numbers changed: scaled, turned over, or an extreme."""
    entries = [e for e in document.entries if e.number is not None and e.section != "UNITS"]
    entry = entries[draw.integers(len(entries))]
    assert entry.number is not None
    scale, extreme = 10.0 ** draw.uniform(-9.0, 9.0), 10.0 ** draw.uniform(100.0, 308.0)
    sign = draw.choice([-1.0, 1.0])
    value = sign * (scale * entry.number if draw.uniform() < 0.4 else extreme)
    return document.with_texts({(entry.section, entry.key): repr(float(value))})


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("limits", [False, True])
def test_what_is_read_is_finite_at_ordinary_contacts(file: Path, limits: bool) -> None:
    """Whatever one number of a file becomes, the file is refused or answers everywhere."""
    draw = np.random.default_rng(len(file.stem) + 100 * limits)
    document = Document.parsed(file.read_bytes(), file.name)
    read = 0
    for _ in range(15):
        changed = mutated(document, draw)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tyre = tyre_of(changed, options=Options("reduced", limits=limits))
        except InvalidValue:
            continue
        read += 1
        ranges, count = tyre.record.ranges, 300
        most = min(max(ranges.FZMIN, ranges.FZMAX), 5.0 * tyre.record.vertical.FNOMIN)
        least = min(ranges.FZMIN, most)
        at = {
            "F_z": draw.uniform(least, most, count), "kappa": draw.uniform(-1.0, 1.0, count),
            "alpha": draw.uniform(-0.5, 0.5, count), "gamma": draw.uniform(-0.2, 0.2, count),
            "v_x": draw.uniform(0.0, 50.0, count),
        }  # fmt: skip
        for question in ("forces", "stiffness", "peaks", "relaxation", "radii"):
            answer = getattr(tyre, question)(**at)
            for name, values in zip(answer._fields, answer, strict=True):
                assert np.isfinite(values).all(), (question, name)
    assert read > 3


@pytest.mark.parametrize(
    ("file", "key", "value"),
    [
        *(("odd52", "RCX1", "1e279"), ("odd52", "QHZ3", "1e84"), ("odd61", "PVY4", "1e49")),
        *(("book205_61", "LVY", "1e15"), ("odd61", "LFZO", "1.2e-9"), ("truck52", "PVY4", "1e152")),
    ],
)
def test_a_number_that_compiled_forces_cannot_take_is_refused(
    file: str, key: str, value: str
) -> None:
    """NumPy has sines and cosines of any angle."""
    document = Document.parsed((DATA / "sets" / f"{file}.tir").read_bytes(), "x.tir")
    (entry,) = (e for e in document.entries if e.key == key)
    with pytest.raises(InvalidValue, match=f"{key} = {value} makes .* of forces infinite or NaN"):
        tyre_of(document.with_texts({(entry.section, key): value}), options=Options("reduced"))


def test_a_negative_pressure_is_refused() -> None:
    with pytest.raises(InvalidValue, match="INFLPRES = -230000 must be at least 0"):
        tyre_of(changed({("OPERATING_CONDITIONS", "INFLPRES"): "-230000"}))


@pytest.mark.parametrize(
    ("section", "key", "what"),
    [
        ("ROLLING_COEFFICIENTS", "QSY7", "M_y of forces"),
        ("LONGITUDINAL_COEFFICIENTS", "PKX3", "F_x of forces"),
        ("DIMENSION", "UNLOADED_RADIUS", "of radii"),
    ],
)
def test_a_coefficient_that_makes_answers_infinite_is_named(
    section: str, key: str, what: str
) -> None:
    entry = DOCUMENT.entry(section, key)
    assert entry is not None
    with pytest.raises(InvalidValue) as error:
        tyre_of(changed({(section, key): "1e300"}))
    assert f"x.tir, line {entry.line}: {key} = 1e300 makes" in str(error.value)
    assert what in str(error.value)
    assert "infinite or NaN at F_z = " in str(error.value)


def test_numbers_in_quotes_are_numbers() -> None:
    quoted = {("MODEL", "FITTYP"): "'61'", ("MODEL", "USE_MODE"): '"-14"'}
    quoted[("DIMENSION", "UNLOADED_RADIUS")] = "'0.33'"
    tyre = tyre_of(changed(quoted))
    assert (tyre.version, tyre.side) == ("6.1", "right")
    assert tyre.record.dimension.UNLOADED_RADIUS == 0.33
    with pytest.raises(InvalidValue, match="UNLOADED_RADIUS = 'x' must be a number"):
        tyre_of(changed({("DIMENSION", "UNLOADED_RADIUS"): "'x'"}))


def test_other_keys_of_a_file_are_changed_in_its_text(tmp_path: Path) -> None:
    car = tyre_of(changed({("INERTIA", "MASS"): "9.3", ("SHAPE", "MASS"): "1"}))
    with pytest.raises(InvalidValue, match=r"several sections .*INERTIA.MASS or SHAPE.MASS"):
        car.with_values(MASS=10.0)
    heavy: Tyre = car.with_values({"INERTIA.MASS": 10.5, "PKY1": -21.0})
    sp.tyres.write(heavy, tmp_path / "x.tir")
    again = sp.tyres.read(tmp_path / "x.tir")
    assert again == heavy
    assert again.file_values["INERTIA"]["MASS"] == 10.5
    assert car.file_values["INERTIA"]["MASS"] == 9.3
    with pytest.raises(InvalidValue, match="no key 'MASS', nor has its file"):
        Tyre(car.record).with_values(MASS=1.0)
    with pytest.raises(InvalidValue, match="no key 'FITTYP'"):
        car.with_values(FITTYP=62)
    units = sp.tyres.read(DATA / "syntax" / "units_61.tir", missing="reduced")
    assert units.with_values(IXX=0.5).file_values["INERTIA"]["IXX"] == 0.5


def test_many_unknown_keys_are_read_in_no_more_time_than_they_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each unknown key was compared with each missing one: 50,000 of them took 15 s."""
    compared = 0
    compare: Any = vars(reading)["_one_edit"]

    def count(word: str, name: str) -> bool:
        nonlocal compared
        compared += 1
        return compare(word, name)

    monkeypatch.setattr(reading, "_one_edit", count)
    missing = ["PKY1_"] * 50
    section = "LATERAL_COEFFICIENTS"
    unknown = "".join(f"UNKNOWN{k} = 1\n" for k in range(5000))
    many = Document.parsed(f"[{section}]\nPKZ1_ = 1\n{unknown}".encode(), "x.tir")
    (doubt,) = reading.misspelt_keys(many, missing)
    assert "PKZ1_ is not known; did you mean PKY1_" in doubt
    assert compared <= 50 * 1000
