"""Files of MoTeC: as written by skidpad, and put together by hand from the published layout."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.study.logs import Channel, Log, read_log, write_motec

T = np.arange(400) / 100.0


def by_hand(*channels: tuple[str, str, int, bytes, tuple[int, int], tuple[int, ...]]) -> bytes:
    """A file of the layout that ldparser describes, field by field at its place.

    Channels are name, unit, rate, samples, (kind, size), (shift, multiplier, scale, decimals).
    """
    first, size = 11336, 124
    data = bytearray(first + size * len(channels))
    struct.pack_into("<I", data, 0, 64)
    struct.pack_into("<II", data, 8, first, len(data))
    struct.pack_into("<I", data, 36, 8180)
    struct.pack_into("<HHH", data, 64, 1, 0x4240, 0xF)
    struct.pack_into("<I8sHHI", data, 70, 12345, b"ADL", 420, 0xADB0, len(channels))
    data[94:104] = b"05/12/2018"
    data[126:134] = b"17:42:07"
    data[158:164] = b"driver"
    struct.pack_into("<I", data, 1502, 0xC81A4)
    for k, (name, unit, rate, samples, kind, numbers) in enumerate(channels):
        place = first + k * size
        after = place + size if k + 1 < len(channels) else 0
        count = len(samples) // kind[1]
        struct.pack_into(
            "<IIII", data, place, max(place - size, 0) * (k > 0), after, len(data), count
        )
        struct.pack_into("<HHHH", data, place + 16, 0x2EE1 + k, *kind, rate)
        struct.pack_into("<hhhh", data, place + 24, *numbers)
        struct.pack_into("<32s8s12s", data, place + 32, name.encode("latin-1"), b"short",
                         unit.encode("latin-1"))  # fmt: skip
        data += samples
    return bytes(data)


PLAIN = (0, 1, 1, 0)
SPEED = (72.0 + np.arange(40.0)).astype("<f4")


def test_a_file_of_a_logger(tmp_path: Path) -> None:
    """Integers are scaled: (n / scale / 10^decimals + shift) * multiplier."""
    counts = np.arange(-20, 20)
    data = by_hand(
        ("Ground Speed", "km/h", 20, SPEED.tobytes(), (7, 4), PLAIN),
        ("G Force Lat", "G", 50, counts.astype("<i2").tobytes(), (3, 2), (0, 1, 1, 2)),
        ("Oil Temp", "C", 1, counts.astype("<i4").tobytes(), (5, 4), (3, 2, 5, 1)),
        ("Half", "°", 10, counts.astype("<f2").tobytes(), (7, 2), PLAIN),
        ("Texts", "", 10, b"abcdefgh", (9, 8), PLAIN),
    )
    (tmp_path / "run.ld").write_bytes(data)
    log = read_log(tmp_path / "run.ld")
    np.testing.assert_allclose(log["speed"].values, SPEED.astype(float) / 3.6, rtol=1e-12)
    np.testing.assert_allclose(log["speed"].t, np.arange(40) / 20.0)
    np.testing.assert_allclose(log["a_y"].values, 9.80665 * counts / 100.0, rtol=1e-12)
    np.testing.assert_allclose(log["a_y"].t, np.arange(40) / 50.0)
    np.testing.assert_allclose(log["Oil Temp"].values, (counts / 50.0 + 3.0) * 2.0 + 273.15)
    np.testing.assert_allclose(log["Half"].values, np.pi / 180.0 * counts)
    assert log.unread == {"Texts": "its samples are of an unknown type (9, 8 bytes)"}
    assert log.start == 1544031727.0  # of `date -u -d '2018-12-05 17:42:07' +%s`
    assert log["a_y"].source == "G Force Lat [G]"


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = {name: rng.normal(size=len(T)).astype(np.float32).astype(float)
              for name in ("v_x", "omega", "own name")}  # fmt: skip
    units = {"v_x": "m/s", "omega": "rad/s", "own name": "N·m"}
    channels = {name: Channel(T, one, units[name]) for name, one in values.items()}
    slow = Channel(np.arange(40.0) / 10.0, np.arange(40.0), "1")
    log = Log("weave", {**channels, "gear": slow}, start=1_700_000_000.0)
    path = write_motec(log, tmp_path / "run.ld", driver="D", vehicle="V", venue="W", comment="C")
    again = read_log(path)
    for ours, theirs in {"v_x": "speed", "omega": "omega", "own name": "own name"}.items():
        np.testing.assert_array_equal(again[theirs].values, values[ours])
        np.testing.assert_allclose(again[theirs].t, T, atol=1e-12)
        assert again[theirs].unit == units[ours]
    assert len(again["gear"].t) == 40
    assert again.start == log.start


def test_the_blocks_are_where_i2_expects_them(tmp_path: Path) -> None:
    """The places, marks and links of files of MoTeC's loggers, by the published layout."""
    log = Log("run", {"a": Channel(T, T, "m/s"), "b": Channel(T, -T, "rad")}, start=1.7e9)
    texts = {"driver": "Ann", "vehicle": "Car 7", "venue": "Ring", "comment": "dry"}
    data = write_motec(log, tmp_path / "run.ld", **texts).read_bytes()
    (mark,), (channels, samples), (event,) = (
        struct.unpack_from(form, data, place) for form, place in (("<I", 0), ("<II", 8), ("<I", 36))
    )
    assert (mark, channels, samples, event) == (64, 11336, 11336 + 2 * 124, 8180)
    assert struct.unpack_from("<HHH", data, 64) == (1, 0x4240, 0xF)
    assert struct.unpack_from("<I8sHHI", data, 70) == (8004, b"ADL".ljust(8, b"\0"), 420, 44464, 2)
    assert data[94:104] == b"14/11/2023"
    assert data[126:134] == b"22:13:20"
    assert struct.unpack_from("<I", data, 1502) == (0xC81A4,)
    for text, place in (("Ann", 158), ("Car 7", 222), ("Ring", 350), ("dry", 1572)):
        assert data[place : place + 64].rstrip(b"\0") == text.encode()
    # Event, venue and vehicle are a chain; channels are linked both ways.
    assert struct.unpack_from("<H", data, 8180 + 1152) == (5078,)
    assert data[5078:5082] == b"Ring"
    assert struct.unpack_from("<H", data, 5078 + 1098) == (1762,)
    assert data[1762:1767] == b"Car 7"
    assert struct.unpack_from("<IIII", data, 11336) == (0, 11460, samples, len(T))
    assert struct.unpack_from("<IIII", data, 11460) == (11336, 0, samples + 4 * len(T), len(T))
    assert struct.unpack_from("<HHHH", data, 11352) == (0x2EE1, 7, 4, 100)
    assert len(data) == samples + 8 * len(T)


def test_uneven_channels_are_interpolated(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    t = np.sort(T + rng.uniform(-0.003, 0.003, len(T)))
    values = np.where(np.arange(len(T)) == 50, np.nan, np.sin(t))
    late = Channel(1.0 + T, np.cos(T))
    path = write_motec(Log("run", {"one": Channel(t, values), "two": late}), tmp_path / "run.ld")
    log = read_log(path)
    grid = np.clip(t[0] + log["one"].t, t[0], t[-1])
    np.testing.assert_allclose(log["one"].values, np.sin(grid), atol=1e-4)
    after = log["two"].t + t[0] > 1.0
    np.testing.assert_allclose(log["two"].values[after], np.cos(log["two"].t + t[0] - 1.0)[after],
                               atol=1e-4)  # fmt: skip
    np.testing.assert_allclose(log["two"].values[~after], 1.0)


def damaged(change: str) -> bytes:
    data = bytearray(by_hand(*[("c", "m", 10, SPEED.tobytes(), (7, 4), PLAIN)] * 2))
    match change:
        case "mark":
            data[0] = 65
        case "short":
            return bytes(data[:900])
        case "loop":
            struct.pack_into("<I", data, 11460 + 4, 11336)
        case "far":
            struct.pack_into("<I", data, 11336 + 4, 0x7FFFFFFF)
        case _:
            return b""
    return bytes(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("mark", "is not a MoTeC log: it does not begin with the mark 64"),
        ("short", "is not a MoTeC log"),
        ("none", "is not a MoTeC log"),
        ("loop", "is damaged: the list of its channels has no end"),
        ("far", "is damaged: channel 2 begins at byte 2147483647 of"),
    ],
)
def test_damaged_files_are_refused(change: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.ld").write_bytes(damaged(change))
    with pytest.raises(InvalidValue, match=message):
        read_log(tmp_path / "run.ld")


@pytest.mark.parametrize(
    ("place", "form", "value", "problem"),
    [
        (12, "<I", 0xFFFFFFFF, "the file ends before its 4294967295 samples do"),
        (8, "<I", 0xFFFFFFF0, "the file ends before its 40 samples do"),
        (22, "<H", 0, "it has no rate"),
        (28, "<h", 0, "its scale is zero"),
    ],
)
def test_a_damaged_channel_is_left_out_with_the_reason(
    place: int, form: str, value: int, problem: str, tmp_path: Path
) -> None:
    data = bytearray(by_hand(
        ("bad", "m", 10, SPEED.tobytes(), (7, 4), PLAIN),
        ("good", "m", 10, SPEED.tobytes(), (7, 4), PLAIN),
    ))  # fmt: skip
    struct.pack_into(form, data, 11336 + place, value)
    (tmp_path / "run.ld").write_bytes(data)
    log = read_log(tmp_path / "run.ld")
    assert log.unread == {"bad": problem}
    assert len(log["good"].values) == 40


def test_files_cut_off_anywhere_are_read_or_refused(tmp_path: Path) -> None:
    data = by_hand(*[(f"c{k}", "m", 10, SPEED.tobytes(), (7, 4), PLAIN) for k in range(3)])
    counts: list[int] = []
    for end in range(0, len(data), 97):
        (tmp_path / "run.ld").write_bytes(data[:end])
        try:
            counts.append(len(read_log(tmp_path / "run.ld").channels))
        except InvalidValue:
            counts.append(0)
    assert counts == sorted(counts)
    assert counts[-1] == 2


def test_a_log_without_samples_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="has no samples"):
        write_motec(Log("empty", {}), tmp_path / "run.ld")
    assert not (tmp_path / "run.ld").exists()
