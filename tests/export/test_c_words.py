"""Names that mean something in C or C++, by what compilers and their headers say."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.model import Model, VehicleFactory
from skidpad.errors import InvalidValue
from skidpad.export import Export, write_c, write_fmu
from skidpad.export.c_header import members
from skidpad.export.exported import is_reserved_member, is_reserved_name
from skidpad.units import m, m_s

HEADERS = (
    *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
    *("locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio"),
    *("stdlib", "string", "time", "wchar", "wctype"),
    *("stdalign", "stdnoreturn", "threads", "uchar"),
)
SINCE_C11 = HEADERS[-4:]
NASTY = (
    *("NULL", "EOF", "BUFSIZ", "stdin", "errno", "I", "NAN", "M_PI", "INT_MAX", "SIGINT", "ENOENT"),
    *("PRIx64", "linux", "bool", "typename", "template", "nullptr", "int", "register", "xor"),
    *("near", "printf", "sin", "size_t", "nasty_DT", "nasty_OK", "NULL_"),
)
"""Names of fields that compilers may not like, and a few that they do."""
INCLUDES = "".join(f"#include <{name}.h>\n" for name in HEADERS)
linux = pytest.mark.skipif(sys.platform != "linux", reason="headers are those of gcc on Linux")


def preprocessed(*options: str) -> str:
    command = ["gcc", "-std=gnu11", "-E", *options, "-xc", "-"]
    return subprocess.run(
        command, input=INCLUDES, check=True, capture_output=True, text=True
    ).stdout


@linux
def test_no_member_is_a_macro_of_the_standard_headers() -> None:
    """Macros with arguments are none without a bracket behind them."""
    macros = set(re.findall(r"^#define ([A-Za-z]\w*) ", preprocessed("-dM"), re.MULTILINE))
    assert {"NULL", "EOF", "stdin", "I"} <= macros
    assert [name for name in sorted(macros) if not is_reserved_member(name)] == []


@linux
def test_no_vehicle_is_a_function_of_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "all.c").write_text(INCLUDES)
    command = ["gcc", "-std=c11", "-c", "all.c", "-o", "all.o", "-aux-info", "all.txt"]
    subprocess.run(command, check=True, cwd=tmp_path)
    found = set(re.findall(r"\*?\b([A-Za-z]\w*) \(", (tmp_path / "all.txt").read_text()))
    assert {"printf", "sinf", "time"} <= found
    beginnings = re.compile("(atomic|call|cnd|mtx|thrd|tss)_.*|[a-z]+_(lock|exit|get)")
    missing = {name for name in found if not is_reserved_name(name)}
    # They can be: no name that skidpad writes is only that of the vehicle with such an end.
    assert {name for name in missing if not beginnings.fullmatch(name)} == set()


def nasty_car(name: str, fields: tuple[str, ...] = NASTY) -> sp.Vehicle:
    State: Any = record.define("State", dict.fromkeys(fields, m), dict.fromkeys(fields, 0.0))
    Input: Any = record.define("Input", {"NULL": m_s}, {"NULL": 0.0})
    Params: Any = record.define("Params", {"EOF": m_s}, {"EOF": 1.0})

    def derivative(x: Any, u: Any, w: Any, p: Any) -> Any:
        return State(*[u.NULL * p.EOF] * len(fields))

    model = Model(name, State, Input, Params, derivative=derivative)
    return VehicleFactory(model)()


@linux
@pytest.mark.parametrize(
    ("compiler", "options"),
    [
        ("gcc", ["-xc", "-std=c99"]),
        ("gcc", ["-xc", "-std=gnu11"]),
        ("g++", ["-xc++", "-std=c++20"]),
    ],
)
def test_fields_of_any_name_compile_behind_all_headers(
    tmp_path: Path, compiler: str, options: list[str]
) -> None:
    car = Export(nasty_car("nasty"), name="nasty")
    header, source, main = write_c(car, tmp_path)
    for text in (header, source, main) if compiler == "gcc" else (header,):
        left_out = {"gcc": SINCE_C11, "g++": ("complex", *SINCE_C11)}[compiler]
        first = "".join(f"#include <{name}.h>\n" for name in HEADERS if name not in left_out)
        subprocess.run(
            [compiler, *options, "-Wall", "-Werror", "-fsyntax-only", "-I", tmp_path, "-"],
            input=f'{first}#include "{text.name}"\n',
            text=True,
            check=True,
        )


def test_members_are_told_apart_and_keep_ordinary_names() -> None:
    named = dict(zip(NASTY, members(NASTY, "nasty"), strict=True))
    assert (named["NULL"], named["NULL_"]) == ("NULL_", "NULL__")
    assert (named["nasty_DT"], named["printf"], named["size_t"]) == (
        "nasty_DT_",
        "printf",
        "size_t",
    )
    assert len(set(named.values())) == len(NASTY)
    assert members(["α", "tyre.B", "tyre_B"]) == ("field_", "tyre_B", "tyre_B_")


def test_a_field_that_compilers_may_not_tell_from_another_is_refused() -> None:
    assert members(["a" * 63]) == ("a" * 63,)
    with pytest.raises(InvalidValue, match=r"field 'aaa.* has 300 letters in C; at most 63"):
        members(["a" * 300])


@pytest.mark.parametrize(
    "name",
    [
        *("class", "printf", "sin", "sinf", "time", "std", "FILE", "NULL", "size_t", "main"),
        *("NUL", "con", "COM1", "mtx"),
    ],
)
def test_a_vehicle_cannot_have_a_name_of_c(name: str) -> None:
    with pytest.raises(InvalidValue, match=f"name = '{name}' is reserved in C or C"):
        Export(sp.vehicles.get("commonroad_ks")(), name=name)


@pytest.mark.parametrize("name", ["a" * 300, "a\0", "a b", ""])
def test_a_vehicle_cannot_have_a_name_that_is_none(name: str) -> None:
    with pytest.raises(InvalidValue, match=r"name = .* is not a name in C; .* at most 63"):
        Export(sp.vehicles.get("commonroad_ks")(), name=name)


def attributes(element: ET.Element) -> Iterator[str]:
    for inner in element.iter():
        yield from inner.attrib.values()


def test_control_characters_of_a_vehicle_are_in_no_file(tmp_path: Path) -> None:
    car = nasty_car("a\0b\x1b")
    car = replace(car, model=replace(car.model, summary="one\0 two\ud800"))
    with zipfile.ZipFile(write_fmu(Export(car), tmp_path / "a.fmu", sources_only=True)) as file:
        root = ET.fromstring(file.read("modelDescription.xml"))
        sources = [file.read(one) for one in file.namelist() if one.endswith((".c", ".h"))]
    assert root.get("modelName") == "a\ufffdb\ufffd"
    assert root.get("description") == "one\ufffd two\ufffd"
    assert all(b"\0" not in text and b"\x1b" not in text for text in sources)
