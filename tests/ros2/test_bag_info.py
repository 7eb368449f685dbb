"""`skidpad info` of bags: what `ros2 bag info` tells, here beside what rosbags counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.files.bags import TYPES, write_bag, write_database
from skidpad.cli import main
from skidpad.view.recording.bag_tools import bag_info, recover_bag
from skidpad.view.recording.mcap import open_mcap

rosbag2 = pytest.importorskip("rosbags.rosbag2")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")


def said(capsys: pytest.CaptureFixture[str], path: Path, code: int = 0) -> str:
    with pytest.raises(SystemExit) as end:
        main(["info", str(path)])
    assert end.value.code == code
    output = capsys.readouterr()
    return " ".join((output.err if code else output.out).split())


def bag_of(folder: Path, storage: str) -> Path:
    if storage == "mcap":
        write_bag(folder)
    else:
        folder.mkdir()
        write_database(folder / "bag_0.db3")
        recover_bag(folder)
    return folder


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
@pytest.mark.parametrize("alone", [False, True])
def test_topics_types_counts_and_times(
    tmp_path: Path, storage: str, alone: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = bag_of(tmp_path / "bag", storage)
    path = next(file for file in bag.glob("bag_0.*")) if alone else bag
    text = said(capsys, path)
    info = bag_info(path)
    with rosbag2.Reader(bag) as reader:
        assert info.messages == reader.message_count
        assert info.end - info.start + 1 == reader.duration
        assert f"messages {reader.message_count} of {len(TYPES)} topics" in text
        for connection in reader.connections:
            count = connection.msgcount
            assert f"{connection.topic} {connection.msgtype} {count}" in text
    assert f"storage {storage}" in text
    assert "state complete" in text


def test_faults_are_told_with_what_mends_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = bag_of(tmp_path / "bag", "mcap")
    (bag / "metadata.yaml").unlink()
    text = said(capsys, bag)
    assert "metadata.yaml is missing; skidpad recover mends it" in text
    file = bag / "bag_0.mcap"
    file.write_bytes(file.read_bytes()[:-20])
    text = said(capsys, bag)
    assert "not closed: cut off, or still being written; metadata.yaml is missing" in text


def test_a_file_without_a_whole_message_is_not_promised_to_be_mended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = bag_of(tmp_path / "bag", "mcap") / "bag_0.mcap"
    with open_mcap(file) as contents:
        begin = contents.chunks[0].offset
    alone = tmp_path / "alone.mcap"
    alone.write_bytes(file.read_bytes()[: begin + 50])
    assert "still being written; nothing can be saved" in said(capsys, alone)
    with pytest.raises(SystemExit) as end:
        main(["recover", str(alone)])
    assert end.value.code == 1
    assert f"error: nothing of {alone} can be saved" in capsys.readouterr().err
    assert not alone.with_suffix(".recovered.mcap").exists()


def test_what_is_no_bag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is no bag: it has neither metadata.yaml nor .mcap nor .db3" in said(
        capsys, tmp_path, code=2
    )
    (tmp_path / "bag_0.db3").write_text("nothing of the kind")
    assert "is not a readable bag" in said(capsys, tmp_path, code=2)
    assert "is not a readable bag" in said(capsys, tmp_path / "bag_0.db3", code=2)
    shutil.rmtree(tmp_path)
    assert "No such file" in said(capsys, tmp_path, code=2)


def test_times_of_our_days_are_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from skidpad.view.recording import BagWriter

    name, type_ = next(iter(TYPES.items()))
    with BagWriter(tmp_path / "bag") as bag:
        bag.topic(f"/{name}", type_)
        bag.write(f"/{name}", 1_000_000_000 * 10**9, type_.encode(type_.Record()))
        bag.write(f"/{name}", 1_000_000_002 * 10**9 + 5 * 10**8, type_.encode(type_.Record()))
    text = said(capsys, tmp_path / "bag")
    assert "start 2001-09-09 01:46:40 UTC" in text  # As every user of Unix knows.
    assert "duration 2.5 s" in text
