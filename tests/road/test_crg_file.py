"""Reading OpenCRG files: blocks, comments, errors that name file and line, files of anyone."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from road.crg_files import FORMATS, crg_bytes, numbered, sections, stored
from skidpad.road.crg import read_crg

TEXT = """* a comment outside of blocks
$ct   ! names count in small and capital letters
anything = at all  ! kept
$                                                                        ignored beyond column 72
$Road_Crg
reference_line_increment = 1.0D0   ! an exponent of Fortran
* reference_line_start_u = 5
LONG_SECTION_V_RIGHT     =-1.50
long_section_v_left      = .5
unknown_word = 3
$!****
$ROAD_CRG_OPTS
BORDER_MODE_U = 2
BORDER_MODE_V = two
$
$KD_DEFINITION
#:LRFI
U:reference line u,m,2.0,1.0
D:reference line phi,rad
D:long  section at v = -1.500,m
D:long section at v =  0.500,m
$
$$$$$$$$10
**unused** 0.1000000-0.2000000
 0.0000000 0.3000000 0.4000000  what is beyond the last column does not count
 0.0000000 0.5000000 *missing*
"""


def test_a_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    file = read_crg(stored(tmp_path, TEXT.encode()))
    assert file.comment.strip() == "anything = at all  ! kept"
    assert file.header == {
        "reference_line_increment": 1.0,
        "long_section_v_right": -1.5,
        "long_section_v_left": 0.5,
        "unknown_word": 3.0,
    }
    assert file.lines["long_section_v_right"] == 8
    assert file.options == {"border_mode_u": 2.0}
    assert file.channels[1].name == "long section at v = -1.500"
    assert file.virtual[0].start == 2.0
    np.testing.assert_array_equal(
        file.rows, [[np.nan, 0.1, -0.2], [0.0, 0.3, 0.4], [0.0, 0.5, np.nan]]
    )


def test_lines_of_windows_are_lines(tmp_path: Path) -> None:
    file = read_crg(stored(tmp_path, TEXT.replace("\n", "\r\n").encode()))
    assert file.rows.shape == (3, 3)


def test_a_bytes_of_binary_rows_may_look_like_lines(tmp_path: Path) -> None:
    """A number may hold the bytes of a line's end, or of a dollar sign."""
    number = float(np.frombuffer(b"\x0a\x24\x24\x0a", ">f4")[0])
    rows = np.full((3, 7), number)
    rows[1, 1] = np.nan
    road = {"reference_line_increment": 1.0}
    file = read_crg(stored(tmp_path, crg_bytes(rows, numbered(7), "KRBI", road=road)))
    np.testing.assert_array_equal(file.rows, rows)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("= 1.0D0", "= one", r"line 6: 'one' is not a finite number"),
        ("= 1.0D0", "= nan", r"line 6: 'nan' is not a finite number"),
        ("= 1.0D0", "= 0.0", r"line 18: .*must be greater than 0|line 6"),
        ("reference_line_increment = 1.0D0", "reference_line_increment", r"line 6: .* a name, ="),
        ("LONG_SECTION_V_RIGHT     =-1.50", "LONG_SECTION_V_RIGHT = -9", r"line 8: long_section_v"),
        ("$!****\n", "", r"line 11: \$ROAD_CRG_OPTS begins inside"),
        ("$KD_DEFINITION\n", "", r"line 21: a block ends here"),
        ("#:LRFI", "#:LRFX", r"line 17: .*'LRFX'; allowed are LRFI, LDFI, KRBI, KDBI"),
        ("#:LRFI\n", "", "must have a format"),
        ("phi,rad", "phi,deg", r"line 19: the unit 'deg'"),
        ("-1.500,m", "-1.500,mm", r"line 20: the unit 'mm'"),
        ("v =  0.500", "2", r"both long sections at v ="),
        ("v = -1.500", "v = x", r"line 20: .* has no number"),
        ("v =  0.500", "v = -1.500", "same position"),
        ("D:long section at v =  0.500,m\n", "", "1 long sections"),
        ("0.4000000  what", "0.4x00000  what", r"line 25: '0\.4x00000' is not a finite number"),
        (" 0.0000000 0.3000000 0.4000000", "           0.3000000 0.4000000", "line 25: ''"),
        (" 0.0000000 0.5000000", "**unused** 0.5000000", "no number in row 3"),
        (" 0.5000000 *missing*", " *missing* *missing*", "row 3 has no height"),
        ("$$$$$$$$10\n", "", "begins with"),
    ],
)
def test_errors_name_the_file_the_line_and_what_is_wrong(
    tmp_path: Path, before: str, after: str, words: str
) -> None:
    assert before in TEXT
    text = TEXT.replace(before, after, 1)
    if before == "= 1.0D0" and after == "= 0.0":
        text = text.replace("2.0,1.0", "2.0,0.0")
    path = stored(tmp_path, text.encode())
    with pytest.raises(sp.InvalidValue, match=words) as caught:
        sp.Road.load(path)
    assert str(path) in str(caught.value)


def test_rows_that_end_too_early_are_an_error(tmp_path: Path) -> None:
    road = {"reference_line_increment": 1.0}
    short = crg_bytes(np.ones((3, 10)), numbered(10), "LRFI", road=road)
    with pytest.raises(sp.InvalidValue, match=r"line 2\d: the last row has 1 of its 2 lines"):
        sp.Road.load(stored(tmp_path, short[: short.rstrip().rfind(b"\n") + 1]))
    binary = crg_bytes(np.ones((3, 10)), numbered(10), "KDBI", road=road)
    with pytest.raises(sp.InvalidValue, match="fewer than 10 numbers"):
        sp.Road.load(stored(tmp_path, binary[:-16]))
    with pytest.raises(sp.InvalidValue, match="has 1 rows"):
        sp.Road.load(stored(tmp_path, crg_bytes(np.ones((1, 2)), numbered(2), road=road)))


def test_a_gap_within_a_row_is_an_error(tmp_path: Path) -> None:
    rows = np.ones((3, 4))
    rows[1, 2] = np.nan
    with pytest.raises(sp.InvalidValue, match="row 2 has a gap"):
        sp.Road.load(stored(tmp_path, crg_bytes(rows, numbered(4))))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(sp.MissingFile, match=r"nowhere\.crg"):
        sp.Road.load(tmp_path / "nowhere.crg")
    with pytest.raises(sp.InvalidValue):
        sp.Road.load(tmp_path)


def _damaged(content: bytes, draw: random.Random) -> bytes:
    """A file with some bytes changed, cut out, repeated or moved."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 6)):
        at, length = draw.randrange(len(data) + 1), draw.randint(1, 40)
        kind = draw.randrange(5)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] = draw.randrange(256)
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length]
        elif kind == 3:
            data[at:at] = draw.choice(
                [b"$", b"\n", b"1e999", b"-1", b"9" * 30, b"=", b"\xff", b"*"]
            )
        else:
            other = draw.randrange(len(data) + 1)
            data[at : at + length] = data[other : other + length]
    return bytes(data)


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_raise_our_error_or_none(tmp_path: Path, kind: str) -> None:
    draw = random.Random(f"crg {kind}")
    rows = np.column_stack([0.02 * np.arange(12.0), np.zeros((12, 4))])
    road = {"reference_line_start_u": 0.0, "reference_line_increment": 1.0}
    road |= {"reference_line_end_u": 11.0, "long_section_v_right": -2.0}
    modifiers = {"scale_length": 1.5, "refpoint_u_fraction": 0.5, "refpoint_x": 3.0}
    channels = ["reference line phi,rad", *sections([-2.0, -1.0, 0.5, 2.0])]
    whole = crg_bytes(
        rows, channels, kind, road=road, modifiers=modifiers, virtual="reference line u,m,0,1"
    )
    read, faults = 0, list[str]()
    for _ in range(160):
        path = stored(tmp_path, _damaged(whole, draw))
        try:
            made = sp.Road.load(path)
        except sp.InvalidValue as error:
            faults.append(str(error))
        else:
            read += 1
            made.height(np.linspace(-5.0, 20.0, 7), np.linspace(-3.0, 3.0, 7))
    assert 4 < read < 156
    assert all(str(tmp_path) in fault for fault in faults)
