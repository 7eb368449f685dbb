"""`tyres.read`: which equations a file asks for, what it leaves out, and what is refused."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from skidpad import tyres
from skidpad.core import record
from skidpad.errors import InvalidValue, MissingFile, SkidpadError
from skidpad.tyres import tir_file
from skidpad.tyres.magic_formula.coefficients import NoTurnSlip, TurnSlip
from skidpad.tyres.magic_formula.records import (
    BookAngles,
    Combined,
    FrictionEllipse,
    Uncombined,
    UsualLimits,
)
from skidpad.tyres.reading import Options, document_of, tyre_of
from skidpad.tyres.tir_file import Document

DATA = Path(__file__).parents[1] / "data" / "tyres"
SETS = {file.stem: file for file in sorted(DATA.glob("sets/*.tir"))}
LEAST = {
    "MODEL": {"FITTYP": "61", "LONGVL": "16"},
    "DIMENSION": {"UNLOADED_RADIUS": "0.3"},
    "VERTICAL": {"FNOMIN": "4000", "VERTICAL_STIFFNESS": "2e5"},
    "LONGITUDINAL_COEFFICIENTS": {"PCX1": "1.6", "PDX1": "1", "PKX1": "20"},
    "LATERAL_COEFFICIENTS": {"PCY1": "1.3", "PDY1": "1", "PKY1": "-20"},
}


def text_of(sections: dict[str, dict[str, str]]) -> str:
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def least(**model: str) -> Document:
    """The document with the fewest keys, and some more in [MODEL]."""
    sections = {**LEAST, "MODEL": {**LEAST["MODEL"], **model}}
    return Document.parsed(text_of(sections).encode(), "x.tir")


def quiet(file: Path, **options: object) -> tyres.Tyre:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return tyres.read(file, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "version", "side", "transient"),
    [
        ("book205_61", "6.1", "left", True),
        ("odd61", "6.1", "right", True),
        ("reduced61", "6.1", "left", True),
        ("suv62", "6.2", "right", True),
        ("truck52", "5.2", "left", True),
        ("odd52", "5.2", "left", True),
    ],
)
def test_sets_of_others(name: str, version: str, side: str, transient: bool) -> None:
    tyre = quiet(SETS[name])
    assert (tyre.version, tyre.side, tyre.transient, tyre.name) == (version, side, transient, name)


@pytest.mark.parametrize("name", SETS)
def test_every_key_of_a_file_reaches_its_leaf(name: str) -> None:
    tyre = quiet(SETS[name])
    assert tyre.document is not None
    leaves = dict(zip(record.names(type(tyre.record)), record.flatten(tyre.record), strict=True))
    places = {(key.section, key.name): key.leaf for key in tir_file.keys_of(type(tyre.record))}
    given = {(s, k): v for s, ks in tyre.document.values.items() for k, v in ks.items()}
    for place, leaf in places.items():
        if place in given:
            assert leaves[leaf] == given[place]
        else:
            assert place[1] in tyre.filled
    unknown = {k for s, k in given if (s, k) not in places and s not in ("MDI_HEADER", "UNITS")}
    swift = {
        "FITTYP",
        "USE_MODE",
        "TYRESIDE",
        "PROPERTY_FILE_FORMAT",
        "MASS",
        "IXX",
        "IYY",
        "GRAVITY",
    }
    swift_parts = ("BELT_", "FREQ_", "DAMP_", "ELLIPS_", "Q_BV", "ENV_")
    spin = ("PDXP", "PKYP", "PDYP", "PHYP", "PECP", "QDTP", "QCRP", "QBRP", "QDRP")
    prefixes = (*swift_parts, *spin)
    assert not {k for k in unknown - swift if not k.startswith(prefixes)}


def test_the_meaning_of_a_file_with_everything() -> None:
    meaning = json.loads((DATA / "syntax" / "everything_52.json").read_text("utf-8"))["meaning"]
    with pytest.warns(UserWarning, match="line") as caught:
        tyre = tyres.read(DATA / "syntax" / "everything_52.tir", missing="zero")
    assert tyre.version == meaning["version"]
    assert tyre.measured_on == meaning["side"]
    assert (tyre.side != tyre.measured_on) is meaning["mirrored"]
    assert type(tyre.record.combination) is FrictionEllipse
    texts = [str(warning.message) for warning in caught]
    assert any("line 51: PDY1 is given again" in text for text in texts)
    assert any("line 42: [DEFLECTION_LOAD_CURVE] is kept but not used" in text for text in texts)
    assert all(Path(warning.filename).name == Path(__file__).name for warning in caught)


def test_a_key_given_thousands_of_times_is_one_warning(tmp_path: Path) -> None:
    text = (DATA / "sets" / "truck52.tir").read_text("latin-1")
    many = "".join(f"UNKNOWN{k} = 1\nUNKNOWN{k} = 2\n" for k in range(100))
    own = "[OWN]\n" + "PCY1 = 1.3\n" * 3000
    (tmp_path / "t.tir").write_text(f"{text}\n{own}{many}", "latin-1")
    with pytest.warns(UserWarning, match="t.tir") as caught:
        tyres.read(tmp_path / "t.tir", missing="zero")
    texts = [str(warning.message) for warning in caught if "given" in str(warning.message)]
    assert len(texts) == 21
    assert "PCY1 is given again later, which counts; so are 2998 more of its values" in texts[0]
    assert "81 more keys are given several times" in texts[-1]


def test_values_in_other_units_are_in_si() -> None:
    expected = json.loads((DATA / "syntax" / "units_61.json").read_text("utf-8"))["SI"]
    tyre = tyres.read(DATA / "syntax" / "units_61.tir", missing="reduced")
    leaves = dict(zip(record.names(type(tyre.record)), record.flatten(tyre.record), strict=True))
    by_key = {name.rpartition(".")[2]: value for name, value in leaves.items()}
    checked = [key for key in expected if key.removesuffix("_per_rad") in by_key]
    assert len(checked) >= 20
    for key in checked:
        assert by_key[key.removesuffix("_per_rad")] == pytest.approx(expected[key], rel=3e-16)


def test_what_is_no_leaf_is_there_in_si_too() -> None:
    values = quiet(DATA / "syntax" / "units_61.tir").file_values
    assert values["INERTIA"]["IXX"] == 0.391
    assert values["UNITS"]["MASS"] == "kg"
    assert values["MODEL"]["VXLOW"] == 1.0
    assert tyres.Tyre(tyres.get("robot").record).file_values == {}


def test_what_a_file_with_few_keys_is_filled_with() -> None:
    tyre = quiet(SETS["reduced61"])
    given = {e.key for e in Document.parsed(SETS["reduced61"].read_bytes()).entries}
    leaves = [key.name for key in tir_file.keys_of(type(tyre.record))]
    assert tyre.filled == tuple(name for name in leaves if name not in given)
    assert tyre.record.rolling.QSY7 == 0.85
    assert tyre.record.aligning.QBZ9 == 10.0
    assert tyre.record.scaling.LMUX == 1.0
    assert tyre.record.longitudinal.PEX1 == 0.0
    zero = tyres.read(SETS["reduced61"], missing="zero")
    assert zero.record.rolling.QSY7 == 0.0
    assert zero.record.lateral.PKY4 == 2.0
    assert zero.record.vertical.Q_RE0 == 1.0
    assert zero.record.scaling.LMUX == 1.0
    assert zero.filled == tyre.filled


def test_a_file_of_5_2_does_not_inherit_numbers_of_6() -> None:
    tyre = tyre_of(least(FITTYP="6"))
    assert tyre.record.aligning.QBZ9 == 0.0
    assert tyre.record.aligning.QDZ8 == 0.0
    assert tyre.record.rolling.QSY1 == 0.0


def test_strict_reading_names_what_is_missing() -> None:
    with pytest.raises(
        InvalidValue, match=r"reduced61\.tir needs a value for \[MODEL\] VXLOW, .*more"
    ):
        tyres.read(SETS["reduced61"], missing="strict")
    assert quiet(SETS["odd61"], missing="strict").filled == ()


@pytest.mark.parametrize("missing", [None, "zero", "reduced"])
@pytest.mark.parametrize("section_and_key", ["DIMENSION UNLOADED_RADIUS", "VERTICAL FNOMIN"])
def test_no_policy_fills_radius_and_load(missing: str | None, section_and_key: str) -> None:
    section, key = section_and_key.split()
    sections = {**LEAST, section: {k: v for k, v in LEAST[section].items() if k != key}}
    document = Document.parsed(text_of(sections).encode(), "x.tir")
    with pytest.raises(InvalidValue, match=rf"^x\.tir needs a value for \[{section}\] {key}"):
        tyre_of(document, options=Options(missing))


def test_pressure_that_is_not_said_is_the_nominal_one() -> None:
    sections = {**LEAST, "OPERATING_CONDITIONS": {"NOMPRES": "180000"}}
    tyre = tyre_of(Document.parsed(text_of(sections).encode()))
    assert tyre.pressure == 180000.0
    assert "INFLPRES" in tyre.filled
    assert tyre_of(least()).pressure == 220000.0


@pytest.mark.parametrize(
    ("fittyp", "version"),
    [("5", "5.2"), ("6", "5.2"), ("21", "5.2"), ("52", "5.2"), ("60", "6.1"), ("61.0", "6.1"),
     ("62", "6.2")],
)  # fmt: skip
def test_versions(fittyp: str, version: str) -> None:
    assert tyre_of(least(FITTYP=fittyp)).version == version


def test_6_0_has_no_pressure_terms() -> None:
    tyre = tyre_of(least(FITTYP="60"))
    here = {"F_z": 3000.0, "alpha": 0.05, "kappa": 0.02}
    assert tyre.forces(**here, p=2.2e5) == tyre.forces(**here, p=1.5e5)


def test_a_factor_that_is_not_used_is_warned_of() -> None:
    text = text_of({**LEAST, "SCALING_COEFFICIENTS": {"LCZ": "0.9"}})
    with pytest.warns(UserWarning, match=r"line 18: LCZ = 0\.9 is kept but not used"):
        tyre_of(Document.parsed(text.encode()))


def test_pac2002_needs_no_fittyp() -> None:
    document = least(PROPERTY_FILE_FORMAT="'PAC2002'", FITTYP="")
    tyre = tyre_of(document)
    assert tyre.version == "5.2"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"FITTYP": "51"}, "line 2: FITTYP = 51 is a tyre of another kind"),
        ({"FITTYP": "'x'"}, "FITTYP = x is a tyre of another kind"),
        ({"FITTYP": "61.5"}, "FITTYP = 61.5"),
        ({"FITTYP": ""}, r"not a Magic Formula tyre: \[MODEL\] has no FITTYP"),
        ({"FITTYP": "52", "PROPERTY_FILE_FORMAT": "'MF-MCTYRE'"}, "motorcycle"),
        ({"FITTYP": "52", "PROPERTY_FILE_FORMAT": "'PAC_MC'"}, "motorcycle"),
        ({"PROPERTY_FILE_FORMAT": "'FTIRE'"}, "'FTIRE' is no Magic Formula"),
        ({"USE_MODE": "117"}, "last digit must be 0 to 5"),
        ({"USE_MODE": "'all'"}, "USE_MODE = 'all' must be a whole number"),
        ({"TYRESIDE": "'FRONT'"}, "TYRESIDE = 'FRONT' must be"),
        ({"LONGVL": "fast"}, "line 3: LONGVL = 'fast' must be a number"),
        ({"LONGVL": "-1"}, "line 3: LONGVL = -1 must be greater than 0"),
        ({"LONGVL": "1e999"}, "line 3: LONGVL = 1e999 must be finite"),
        ({"LONGVL": "16,7"}, "LONGVL = '16,7' must be a number"),
    ],
)
def test_what_is_refused(model: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidValue, match=words) as caught:
        tyre_of(least(**model))
    assert str(caught.value).startswith("x.tir")


def test_a_line_that_should_be_a_key_is_refused() -> None:
    document = Document.parsed((text_of(LEAST) + "VXLOW 1\n").encode(), "x.tir")
    with pytest.raises(InvalidValue, match=r"x\.tir, line 17: 'VXLOW 1' must be KEY = value"):
        tyre_of(document)


@pytest.mark.parametrize("text", ["", "hello\n", "[TIRE]\nA = 1\n", "\x89PNG\r\n\x1a\n"])
def test_other_files_are_refused_in_words(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.tir"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidValue, match=r"x\.tir is no"):
        tyres.read(file)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(MissingFile, match=r"nowhere\.tir"):
        tyres.read("nowhere.tir")


@pytest.mark.parametrize(
    ("mode", "combined", "turning", "transient", "mirrored"),
    [
        ("3", False, False, False, False),
        ("4", True, False, False, False),
        ("14", True, False, True, False),
        ("115", True, True, True, False),
        ("-14", True, False, True, True),
        ("404", True, False, False, False),
    ],
)
def test_use_mode(
    mode: str, combined: bool, turning: bool, transient: bool, mirrored: bool
) -> None:
    tyre = tyre_of(least(USE_MODE=mode))
    assert type(tyre.record.combination) is (Combined if combined else Uncombined)
    assert type(tyre.record.turn_slip) is (TurnSlip if turning else NoTurnSlip)
    assert tyre.transient is transient
    assert tyre.side == ("right" if mirrored else "left")
    assert tyre.measured_on == "left"


@pytest.mark.parametrize(("mode", "words"), [("124", "read as linear"), ("111", "uncombined")])
def test_use_modes_that_are_read_as_less(mode: str, words: str) -> None:
    with pytest.warns(UserWarning, match=rf"line \d+: USE_MODE = {mode} .*{words}"):
        tyre_of(least(USE_MODE=mode))


@pytest.mark.parametrize(
    ("text", "side"),
    [("'LEFT'", "left"), ("Right", "right"), ("'right'", "right"), ("'SYMMETRIC'", "left"),
     ("'Unknown'", "left")],
)  # fmt: skip
def test_sides(text: str, side: str) -> None:
    assert tyre_of(least(TYRESIDE=text)).measured_on == side


def test_options_choose_equations() -> None:
    tyre = tyres.read(SETS["book205_61"], limits=True, book_angles=True, turn_slip=True)
    kinds = [type(part) for part in tyre.record[-4:]]
    assert set(kinds) == {TurnSlip, UsualLimits, BookAngles, Combined}
    assert tyre.record.turn_slip.PECP1 != 0.0
    with pytest.raises(InvalidValue, match=r"turn_slip = True: .* is MF 5\.2"):
        tyres.read(SETS["truck52"], turn_slip=True)
    with pytest.raises(InvalidValue, match="missing = 'none' is unknown"):
        tyres.read(SETS["truck52"], missing="none")
    with pytest.raises(InvalidValue, match="side = 'front'"):
        tyres.read(SETS["truck52"], side="front")
    with pytest.raises(InvalidValue, match="limits = 1 must be True or False"):
        tyres.read(SETS["truck52"], limits=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["book205_61", "odd61", "odd52", "truck52"])
def test_a_symmetric_tyre_is_its_own_mirror_image(name: str) -> None:
    tyre = quiet(SETS[name], symmetric=True)
    here = {"F_z": 3500.0, "kappa": 0.04, "v_x": 20.0}
    left = tyre.forces(**here, alpha=0.07, gamma=0.03)
    right = tyre.forces(**here, alpha=-0.07, gamma=-0.03)
    assert np.allclose(
        [left.F_x, left.F_y, left.M_x, left.M_y, left.M_z],
        [right.F_x, -right.F_y, -right.M_x, right.M_y, -right.M_z],
        rtol=1e-12,
        atol=1e-9,
    )


def test_keys_in_neighbouring_sections_and_under_other_names_are_found() -> None:
    sections = {**LEAST, "MODEL": {**LEAST["MODEL"], "FITTYP": "6"}}
    sections["LATERAL_COEFFICIENTS"] = {"PCY1": "1.3", "PKY1": "-20"}
    sections = {**sections, "SCALING_COEFFICIENTS": {"LKYG": "0.5", "PDY1": "0.9"}}
    tyre = tyre_of(Document.parsed(text_of(sections).encode()))
    assert tyre.record.scaling.LKYC == 0.5
    assert tyre.record.lateral.PDY1 == 0.9


def mutated(data: bytes, random_: random.Random) -> bytes:
    """The bytes with a few of them changed, removed, doubled or moved."""
    parts = bytearray(data)
    for _ in range(random_.randint(1, 8)):
        at = random_.randrange(len(parts))
        what = random_.randrange(6)
        if what == 0:
            parts[at] = random_.randrange(256)
        elif what == 1:
            del parts[at : at + random_.randint(1, 40)]
        elif what == 2:
            parts[at:at] = parts[at : at + random_.randint(1, 60)]
        elif what == 3:
            parts[at:at] = bytes(random_.randrange(256) for _ in range(random_.randint(1, 12)))
        elif what == 4:
            words = (
                b"=",
                b"[",
                b"]",
                b"'",
                b"$",
                b"1e999",
                b"-",
                b"nan",
                b"{",
                b"\r",
                b"\n[UNITS]\n",
            )
            parts[at:at] = random_.choice(words)
        else:
            del parts[at:]
        if not parts:
            return b""
    return bytes(parts)


@pytest.mark.slow
def test_damaged_files_are_read_or_refused() -> None:
    random_ = random.Random(7)
    sources = [file.read_bytes() for file in (*SETS.values(), *DATA.glob("syntax/*.tir"))]
    messages: list[str] = []
    for k in range(2000):
        data = mutated(sources[k % len(sources)], random_)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                document = Document.parsed(data, "x.tir")
                assert document.encoded() == data
                tyre = tyre_of(document)
            except SkidpadError as error:
                messages.append(str(error))
            else:
                assert all(np.isfinite(record.flatten(tyre.record)))
                if k % 5 == 0:
                    assert document_of(tyre).encoded() == data
                    changed = tyre.with_values(PCX1=1.2345, FNOMIN=4321.0, RIM_WIDTH=0.2)
                    written = document_of(changed).encoded()
                    assert tyre_of(Document.parsed(written)) == changed
    assert all(message.startswith("x.tir") for message in messages)
    assert 200 < len(messages) < 1900
