"""`tyres.write`: what is written reads back to an equal tyre, and the rest of the file stays."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skidpad import tyres
from skidpad.core import record
from skidpad.errors import InvalidValue, MissingFile
from skidpad.tyres import reading
from skidpad.tyres.magic_formula.formula import MagicFormula52
from skidpad.tyres.magic_formula.records import FrictionEllipse
from skidpad.tyres.reading import FOLDER, Options, document_of, tyre_of
from skidpad.tyres.tir_file import Document, constants_of, keys_of

DATA = Path(__file__).parents[1] / "data" / "tyres"
FILES = sorted([*DATA.glob("sets/*.tir"), *DATA.glob("syntax/*.tir"), *FOLDER.glob("*.tir")])
PATHS = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
QUIET = pytest.mark.filterwarnings("ignore:.*:UserWarning")


def again(tyre: tyres.Tyre, **options: object) -> tyres.Tyre:
    """The tyre after writing and reading."""
    data = document_of(tyre).encoded()
    return tyre_of(Document.parsed(data), options=Options(**options))  # type: ignore[arg-type]


@QUIET
@PATHS
def test_a_tyre_that_is_not_changed_is_written_with_the_same_bytes(
    file: Path, tmp_path: Path
) -> None:
    tyre = tyres.read(file)
    tyres.write(tyre, tmp_path / "x.tir")
    assert (tmp_path / "x.tir").read_bytes() == file.read_bytes()
    assert tyres.read(tmp_path / "x.tir") == tyre


@QUIET
@PATHS
def test_a_tyre_without_a_file_is_written_too(file: Path, tmp_path: Path) -> None:
    made = tyres.Tyre(tyres.read(file).record)
    tyres.write(made, tmp_path / "x.tir")
    read = tyres.read(tmp_path / "x.tir")
    assert read == made
    if type(made.record.combination) is not FrictionEllipse:
        assert read.filled == ()
    tyres.write(made.record, tmp_path / "y.tir")
    assert (tmp_path / "y.tir").read_bytes() == (tmp_path / "x.tir").read_bytes()


@pytest.mark.slow_cases("book205_61", "odd61", "race_slick", "reduced61", "units_61", "truck52")
@QUIET
@PATHS
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_values_read_back(file: Path, data: st.DataObject) -> None:
    tyre = tyres.read(file)
    ellipse = type(tyre.record.combination) is FrictionEllipse
    keys = [k for k in keys_of(type(tyre.record)) if not (ellipse and k.name.startswith("R"))]
    chosen = data.draw(st.lists(st.sampled_from(keys), max_size=6))
    numbers = st.floats(1e-12, 1e12)
    changed = tyre.with_values({key.leaf: data.draw(numbers) for key in chosen})
    # What is written matters here, for any number; some of them make no ordinary tyre.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "check_finite", lambda *_: None)
        assert again(changed) == changed


@pytest.mark.slow_cases("book205_61", "odd61", "race_slick", "reduced61", "units_61")
@QUIET
@PATHS
def test_whatever_the_options_were_the_plain_reading_is_equal(file: Path) -> None:
    version = tyres.read(file).version
    turn_slips = (None,) if version == "5.2" else (None, True, False)
    for missing in ("zero", "reduced"):
        for turn_slip in turn_slips:
            for side in ("left", "right"):
                tyre = tyres.read(
                    file, missing=missing, turn_slip=turn_slip, symmetric=True, side=side
                )
                assert again(tyre) == tyre


@QUIET
@pytest.mark.parametrize("steady", [True, pytest.param(False, marks=pytest.mark.slow)])
@PATHS
def test_mode_and_side_are_written(file: Path, steady: bool) -> None:
    tyre = replace(tyres.read(file), transient=not steady)
    turned = (tyre.with_values({"model.side": side}) for side in (1.0, -1.0))
    for one in (tyre, tyre.mirrored(), *turned):
        assert again(one) == one


def test_options_that_are_no_matter_of_the_file_are_asked_for_again() -> None:
    tyre = tyres.read(DATA / "sets" / "book205_61.tir", limits=True, book_angles=True)
    assert again(tyre, limits=True, book_angles=True) == tyre


def test_only_what_changed_is_written_anew() -> None:
    file = DATA / "syntax" / "everything_52.tir"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tyre = tyres.read(file).with_values(PKY2=1.75, PDY1=0.9, UNLOADED_RADIUS=0.35, PCX1=1.6)
    before = file.read_bytes().split(b"\r\n")
    after = document_of(tyre).encoded().split(b"\r\n")
    expected = [
        line.replace(b"PKY2=2.0012$", b"PKY2=1.75$")
        .replace(b"PDY1 = 1.0489            $", b"PDY1 = 0.9               $")
        .replace(b"RADIUS = .344 !", b"RADIUS = 0.35 !")
        for line in before
    ]
    expected += [b"[LONGITUDINAL_COEFFICIENTS]", b"PCX1                     = 1.6", b""]
    assert after == expected


@QUIET
def test_values_are_written_in_the_units_of_the_file() -> None:
    tyre = tyres.read(DATA / "syntax" / "units_61.tir")
    changed = tyre.with_values(WIDTH=0.2155, LONGVL=0.1, FZMAX=1 / 3, ALPMAX=1.2345678901234567)
    document = document_of(changed)
    assert document.values["DIMENSION"]["WIDTH"] == 215.5
    assert document.values["MODEL"]["LONGVL"] == 100.0
    assert again(changed) == changed


@QUIET
def test_a_changed_nominal_pressure_leaves_the_pressure_alone() -> None:
    text = "[MODEL]\nFITTYP=61\n[DIMENSION]\nUNLOADED_RADIUS=0.3\n[VERTICAL]\nFNOMIN=4000\n"
    tyre = tyre_of(Document.parsed(text.encode()))
    changed = tyre.with_values(NOMPRES=2.5e5)
    assert changed.pressure == 2.2e5
    assert again(changed) == changed


@QUIET
def test_a_tyre_of_5_2_without_weights_stays_what_it_is() -> None:
    text = (
        "[MODEL]\nFITTYP=6\nLONGVL=15\n[DIMENSION]\nUNLOADED_RADIUS=0.3\n[VERTICAL]\nFNOMIN=4000\n"
    )
    text += "VERTICAL_STIFFNESS=2e5\n"
    ellipse = tyre_of(Document.parsed(text.encode()))
    assert type(ellipse.record.combination) is FrictionEllipse
    with pytest.raises(InvalidValue, match="RBX1 = 3 cannot be written"):
        document_of(ellipse.with_values(RBX1=3.0))
    combined = record.unflatten(MagicFormula52, record.flatten(ellipse.record))
    changed = replace(ellipse, record=combined)
    assert again(changed) == changed


def test_what_cannot_be_written(tmp_path: Path) -> None:
    tyre = tyres.get("passenger_car")
    with pytest.raises(MissingFile, match="there is no folder"):
        tyres.write(tyre, tmp_path / "nowhere" / "x.tir")
    with pytest.raises(InvalidValue, match="it is a folder"):
        tyres.write(tyre, tmp_path)
    with pytest.raises(InvalidValue, match="tyre must be a tyre record"):
        tyres.write("x", tmp_path / "x.tir")
    for leaf in constants_of(type(tyre.record)):
        with pytest.raises(InvalidValue, match=rf"{leaf} = 3 cannot be written"):
            tyres.write(tyre.with_values({leaf: 3.0}), tmp_path / "x.tir")
    assert not list(tmp_path.iterdir())


def test_a_call_that_is_refused_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "x.tir"
    file.write_text("old")
    with pytest.raises(InvalidValue):
        tyres.write("x", file)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.tir"]
