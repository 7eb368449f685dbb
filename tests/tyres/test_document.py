"""Text of tyre property files: what it means, and that nothing of it is lost."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.tyres.tir_file import Document, number_in
from texts import texts

DATA = Path(__file__).parents[1] / "data" / "tyres"
FILES = sorted([*DATA.glob("sets/*.tir"), *DATA.glob("syntax/*.tir")])


def parsed(text: str) -> Document:
    return Document.parsed(text.encode("latin-1"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_that_is_read_is_written_with_the_same_bytes(file: Path) -> None:
    data = file.read_bytes()
    assert Document.parsed(data, str(file)).encoded() == data


def test_a_file_with_everything_means_what_it_says() -> None:
    meaning = json.loads((DATA / "syntax" / "everything_52.json").read_text("utf-8"))
    document = Document.parsed((DATA / "syntax" / "everything_52.tir").read_bytes())
    assert document.encoding == meaning["encoding"]
    assert document.line_end == "\r\n"
    assert list(document.sections) == list(meaning["sections"])
    tables = {table.section: table for table in document.tables}
    for section, keys in meaning["sections"].items():
        expected = dict(keys)
        if "table" in expected:
            table = tables[section]
            assert list(table.columns) == expected.pop("table_columns")
            assert [list(row) for row in table.rows] == expected.pop("table")
        assert document.values[section] == expected
    assert [entry.key for entry in document.repeated()] == ["PDY1"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0), (".5", 0.5), ("1.", 1.0), ("+1.6E+01", 16.0), ("1e-005", 1e-5),
        ("2.45D-1", 0.245), ("-3d2", -300.0), ("0,5", None), ("1 2", None), ("nan", None),
        ("inf", None), ("0x10", None), ("1_000", None), ("", None), ("-", None), ("e5", None),
        ("٣", None), ("1e999", float("inf")),
    ],
)  # fmt: skip
def test_numbers(text: str, number: float | None) -> None:
    assert number_in(text) == number


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K = 'a $ b' $ c", "a $ b"),
        ("K = 'driver's tyre'", "driver's tyre"),
        ('K="x=y"!z', "x=y"),
        ("K=1$r", 1.0),
        ("K = 1 ! it's 'quoted'", 1.0),
        ("K = bare text", "bare text"),
        ("K =", None),
        ("K = ''", ""),
        ("K = '12'", "12"),
        ("k\t=\t2", 2.0),
        ("K = 'AB' $ it's 'x'", "AB"),
    ],
)
def test_values(line: str, value: object) -> None:
    assert parsed(f"[s]\n{line}\n").values["S"]["K"] == value


def test_a_key_is_known_by_its_section() -> None:
    document = parsed("[UNITS]\nMASS='kg'\n[INERTIA]\nMASS=9.3\n")
    assert document.values == {"UNITS": {"MASS": "kg"}, "INERTIA": {"MASS": 9.3}}


def test_remarks_sections_and_tables_of_unknown_kind_are_kept() -> None:
    text = (
        "free text\n(COMMENTS)\n{comment_string}\n'Tire - unknown'\n[A] $ x\n{p, q}\n1, 2d0\nx y\n"
    )
    document = parsed(text)
    assert document.encoded().decode() == text
    assert document.tables[1].rows == ((1.0, 2.0), ("x", "y"))
    assert [line for _, line, _ in document.loose] == [1, 2]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[MODEL\n", "line 1"),
        ("\n[]\n", "line 2"),
        ("[A]\nK = 'open\n", "line 2: K"),
        ("[A]\n{x y\n", "line 2"),
        ("[A]\n\0", "zero bytes"),
    ],
)
def test_what_is_no_document_is_refused_with_its_line(text: str, where: str) -> None:
    with pytest.raises(InvalidValue, match=where):
        Document.parsed(text.encode(), "x.tir")
    with pytest.raises(InvalidValue, match=r"^x\.tir"):
        Document.parsed(text.encode(), "x.tir")


def test_values_are_exchanged_in_place_and_added_in_their_section() -> None:
    text = "[A]\r\nK = 1.5     $ why\r\nL =\r\n\r\n$ end of A\r\n[b]\r\nM = 'x'"
    changed = parsed(text).with_texts(
        {("A", "K"): "-2.25", ("a", "l"): "3", ("B", "N"): "4", ("C", "O"): "5", ("A", "P"): "6"}
    )
    assert changed.encoded().decode() == (
        "[A]\r\nK = -2.25   $ why\r\nL = 3\r\nP                        = 6\r\n\r\n$ end of A\r\n"
        "[b]\r\nM = 'x'\r\nN                        = 4\r\n[C]\r\nO                        = 5\r\n"
    )
    assert changed.values == {
        "A": {"K": -2.25, "L": 3.0, "P": 6.0},
        "B": {"M": "x", "N": 4.0},
        "C": {"O": 5.0},
    }


def test_the_last_of_two_values_is_the_one_that_is_exchanged() -> None:
    changed = parsed("[A]\nK = 1\nK = 2\n").with_texts({("A", "K"): "3"})
    assert changed.encoded() == b"[A]\nK = 1\nK = 3\n"


def test_documents_are_pickled_and_compared() -> None:
    document = parsed("[A]\nK = 1\n")
    assert document.values["A"] == {"K": 1.0}
    again = pickle.loads(pickle.dumps(document))
    assert again == document
    assert hash(again) == hash(document)
    assert "2 lines, 1 section" in repr(document)


TEXTS = texts(60, "ab1=[]{}()'\"$! \t\r\n.-+eD,ü\x85\x0b")


@given(TEXTS)
def test_any_text_is_kept_or_refused(text: str) -> None:
    data = text.encode("latin-1")
    message = "x.tir"
    try:
        document = Document.parsed(data, "x.tir")
    except InvalidValue as error:
        document, message = None, str(error)
    assert message.startswith("x.tir")
    if document is None:
        return
    assert document.encoded() == data
    assert all(1 <= entry.line <= len(document.lines) for entry in document.entries)


@given(TEXTS, st.sampled_from(["1", "-2.5e-07", "'x'"]))
def test_a_value_that_is_put_in_is_the_one_that_is_read(text: str, value: str) -> None:
    try:
        document = Document.parsed(text.encode("latin-1"))
    except InvalidValue:
        return
    places = [(entry.section, entry.key) for entry in document.entries if entry.section]
    for section, key in [*places, ("NEW", "KEY")]:
        changed = document.with_texts({(section, key): value})
        read = Document.parsed(changed.encoded())
        expected = value.strip("'") if value.startswith("'") else float(value)
        assert read.values[section][key] == expected
        others = {**document.values, section: {**document.values.get(section, {}), key: expected}}
        assert {name: keys for name, keys in read.values.items()} == others
