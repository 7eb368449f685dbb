"""Formats read by other packages: MDF4, CAN with a DBC, and AiM."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.study.logs import read_log

asammdf = pytest.importorskip("asammdf")
can = pytest.importorskip("can")
cantools = pytest.importorskip("cantools")
pytest.importorskip("libxrk")

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
FAST, SLOW = 0.01 * np.arange(300), 0.1 * np.arange(30)


def mdf(path: Path, version: str = "4.10") -> Path:
    with asammdf.MDF(version=version) as file:
        file.start_time = START
        fast = {"VehicleSpeed": ("km/h", 72.0 + np.sin(FAST)), "YawRate": ("deg/s", np.cos(FAST))}
        file.append([asammdf.Signal(values, FAST, unit=unit, name=name)
                     for name, (unit, values) in fast.items()])  # fmt: skip
        slow = {"Gear": np.arange(30, dtype=np.int16), "YawRate": np.arange(30.0)}
        file.append([asammdf.Signal(v, SLOW, name=name) for name, v in slow.items()])
        names = np.array([b"on", b"off"] * 15)
        file.append([asammdf.Signal(names, SLOW, name="State", encoding="latin-1")])
        return Path(file.save(path, overwrite=True))


@pytest.mark.parametrize("version", ["4.10", "3.30"])
def test_channels_of_mdf(version: str, tmp_path: Path) -> None:
    path = mdf(tmp_path / ("run.mf4" if version[0] == "4" else "run.mdf"), version)
    log = read_log(path)
    np.testing.assert_allclose(log["speed"].values, (72.0 + np.sin(FAST)) / 3.6)
    np.testing.assert_allclose(log["speed"].t, FAST, atol=1e-9)
    np.testing.assert_allclose(log["omega"].values, np.deg2rad(np.cos(FAST)))
    np.testing.assert_array_equal(log["gear"].values, np.arange(30))
    np.testing.assert_array_equal(log["YawRate (1)"].values, np.arange(30.0))
    assert log.unread == {"State": "it holds no numbers"}
    assert log.start == START.timestamp()


DBC = """VERSION ""
BU_: ECU
BO_ 291 Motion: 8 ECU
 SG_ Speed : 0|16@1+ (0.01,0) [0|0] "km/h" ECU
 SG_ YawRate : 16|16@1- (0.01,0) [0|0] "deg/s" ECU
 SG_ Status : 32|8@1+ (1,0) [0|0] "" ECU
BO_ 2566844926 Wheels: 8 ECU
 SG_ WheelSpeedFL : 7|16@0+ (0.01,0) [0|0] "km/h" ECU
 SG_ Status : 32|8@1+ (1,0) [0|0] "" ECU
"""
UNIX = START.timestamp()


def can_log(path: Path, begin: float = UNIX) -> Path:
    database = cantools.database.load_string(DBC)
    motion, wheels = database.get_message_by_name("Motion"), database.get_message_by_name("Wheels")
    with can.Logger(str(path)) as log:
        for k, t in enumerate(FAST.tolist()):
            values = {"Speed": 72.0 + 0.1 * k, "YawRate": 0.05 * (k - 150), "Status": k % 4}
            frames = [(motion, values, False)]
            if k % 10 == 0:
                frames.append((wheels, {"WheelSpeedFL": 72.0 + k, "Status": 1}, True))
            for message, data, extended in frames:
                log(can.Message(timestamp=begin + t, arbitration_id=message.frame_id,
                                is_extended_id=extended, data=message.encode(data)))  # fmt: skip
            log(can.Message(timestamp=begin + t, arbitration_id=0x7DF, is_extended_id=False))
        log(can.Message(timestamp=begin + 3.0, arbitration_id=291, is_extended_id=False, data=b"1"))
    return path


def definition(folder: Path) -> Path:
    (folder / "car.dbc").write_text(DBC)
    return folder / "car.dbc"


@pytest.mark.parametrize("suffix", ["log", "asc", "blf"])
def test_signals_of_a_can_log(suffix: str, tmp_path: Path) -> None:
    log = read_log(can_log(tmp_path / f"run.{suffix}"), dbc=definition(tmp_path))
    k = np.arange(300)
    np.testing.assert_allclose(log["speed"].values, (72.0 + 0.1 * k) / 3.6, rtol=1e-9)
    np.testing.assert_allclose(log["speed"].t - log["speed"].t[0], FAST, atol=2e-6)
    np.testing.assert_allclose(log["omega"].values, np.deg2rad(0.05 * (k - 150)), atol=1e-12)
    np.testing.assert_allclose(log["wheel_speed_fl"].values, (72.0 + k[::10]) / 3.6)
    np.testing.assert_array_equal(log["Motion.Status"].values, k % 4)
    assert (log["Wheels.Status"].values == 1.0).all()
    assert "1 identifier not defined in car.dbc: 0x7DF" in log.notes
    assert any(
        n.startswith("Motion: 1 message that the definition does not fit") for n in log.notes
    )
    if suffix == "log":
        assert log.start == pytest.approx(UNIX, abs=1e-6)


def message(token: bytes, content: bytes) -> bytes:
    """A message of the layout that libxrk describes, with its sum of bytes."""
    total = sum(content) & 0xFFFF
    head = b"<h" + token + struct.pack("<iB", len(content), 1) + b">"
    return head + content + b"<" + token + struct.pack("<H", total) + b">"


def aim(path: Path) -> Path:
    """Channels of floats (type 6) in %, G, deg/s and km/h, with samples of their own times."""
    names = {"PPS": 1, "LateralAcc": 3, "YawRate": 5, "Wheel FL": 16}
    heads = b""
    for k, (name, unit) in enumerate(names.items()):
        head = bytearray(112)
        struct.pack_into("<H", head, 0, k)
        head[12], head[20], head[64], head[72] = unit, 6, 32, 4
        head[24:32] = name.encode()[:8].ljust(8, b"\0")
        head[32:56] = name.encode().ljust(24, b"\0")
        heads += message(b"CHS ", bytes(head))
    track = bytearray(64)
    track[:4] = b"Ring"
    data = message(b"CNF ", heads) + message(b"TRK ", bytes(track))
    for i in range(50):
        # Time in ms; position and velocity in cm and cm/s, fixed to the earth; on the equator.
        gps = bytearray(56)
        struct.pack_into("<i", gps, 0, 20 * i)
        struct.pack_into("<iii", gps, 16, 637_813_700, 10 * i, 0)
        struct.pack_into("<iii", gps, 32, 0, 300, 400)
        data += message(b"GPS ", bytes(gps))
        for k in range(len(names)):
            data += b"(S" + struct.pack("<iHf", 20 * i, k, 0.5 * i + k) + b")"
    path.write_bytes(zlib.compress(data) if path.suffix == ".xrz" else data)
    return path


@pytest.mark.parametrize("suffix", ["xrk", "xrz"])
def test_channels_of_aim(suffix: str, tmp_path: Path) -> None:
    log = read_log(aim(tmp_path / f"run.{suffix}"))
    i = np.arange(50)
    np.testing.assert_allclose(log["throttle"].values, 0.005 * i, rtol=1e-6)
    np.testing.assert_allclose(log["a_y"].values, 9.80665 * (0.5 * i + 1.0), rtol=1e-6)
    np.testing.assert_allclose(log["omega"].values, np.deg2rad(0.5 * i + 2.0), rtol=1e-6)
    np.testing.assert_allclose(log["Wheel FL"].values, (0.5 * i + 3.0) / 3.6, rtol=1e-6)
    np.testing.assert_allclose(log["a_y"].t, 0.02 * i, atol=1e-9)
    np.testing.assert_allclose(log["speed"].values, 5.0)
    np.testing.assert_allclose(log["latitude"].values, 0.0, atol=1e-9)
    np.testing.assert_allclose(
        log["longitude"].values, np.rad2deg(0.1 * i / 6_378_137.0), atol=1e-8
    )


@pytest.mark.parametrize("kind", ["mf4", "mdf", "blf", "asc", "xrk", "xrz"])
@pytest.mark.parametrize("content", [b"", b"\0" * 300, b"MDF     4.10    " + b"\xff" * 400])
def test_other_content_is_refused(kind: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"run.{kind}"
    path.write_bytes(content)
    with pytest.raises(InvalidValue, match=rf"run\.{kind}"):
        read_log(path, dbc=definition(tmp_path))


@pytest.mark.parametrize("kind", ["mf4", "blf", "xrk"])
def test_files_cut_off_are_read_in_part_or_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"run.{kind}"
    {"mf4": mdf, "blf": can_log, "xrk": aim}[kind](path)
    data = path.read_bytes()
    read, refused = 0, list[str]()
    for end in np.linspace(10, len(data) - 10, 10, dtype=int).tolist():
        path.write_bytes(data[:end])
        try:
            read += bool(read_log(path, dbc=definition(tmp_path)).channels)
        except InvalidValue as error:
            refused.append(str(error))
    assert read + len(refused) == 10
    assert all(path.name in text for text in refused)


def test_what_a_can_log_needs(tmp_path: Path) -> None:
    path = can_log(tmp_path / "run.log")
    with pytest.raises(InvalidValue, match="a definition of their signals is needed: dbc="):
        read_log(path)
    (tmp_path / "bad.dbc").write_text("BO_ nothing")
    with pytest.raises(InvalidValue, match=r"bad\.dbc is not a readable definition"):
        read_log(path, dbc=tmp_path / "bad.dbc")
    with pytest.raises(InvalidValue, match=r"none\.dbc"):
        read_log(path, dbc=tmp_path / "none.dbc")
    (tmp_path / "other.dbc").write_text(DBC.replace("291", "292").replace("2566844926", "77"))
    with pytest.raises(InvalidValue, match=r"none of its \d+ messages is defined in .*other\.dbc"):
        read_log(path, dbc=tmp_path / "other.dbc")
