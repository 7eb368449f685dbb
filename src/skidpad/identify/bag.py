"""Bags of rosbag2: a folder with metadata.yaml and files of MCAP or SQLite, or one such file."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any, cast

from ..errors import InvalidValue, MissingFile
from ..files import LARGEST_BLOCK, open_file, reading, regular_file, yaml_of
from .gathering import Gathering, Signals
from .mcap_file import gather_mcap
from .message_columns import RosTopic, ros_type

SUFFIXES = (".mcap", ".db3")
_METADATA = "metadata.yaml"
_MCAP = b"\x89MCAP0\r\n\1"
"""How an MCAP file begins, up to the opcode of its header."""
_NUMBERED = re.compile(r"_(\d{1,9})$")


def is_bag(path: Path) -> bool:
    """Whether it is a bag rather than a recording of skidpad."""
    if path.is_dir() or path.suffix.lower() == ".db3":
        return True
    try:
        with open_file(path) as file:
            head = file.read(len(_MCAP) + 16)
    except (InvalidValue, OSError):
        return False
    # Behind the opcode comes the length of the header, then its profile.
    return head.startswith(_MCAP) and head[len(_MCAP) + 8 :] == b"\4\0\0\0ros2"


def read_bag(path: Path) -> tuple[Signals, dict[str, str]]:
    """The numbers of a bag, and what has none with the reason."""
    gathering = Gathering()
    for file in bag_files(path) if path.is_dir() else [path]:
        if file.suffix.lower() == ".db3":
            _gather_sqlite(file, gathering)
            continue
        try:
            gather_mcap(file, gathering)
        except MissingFile:
            raise
        except InvalidValue as error:
            if not is_bag(file):
                raise
            raise InvalidValue(
                f"{error}; `skidpad recover {path}` keeps what is whole, as of a bag whose program "
                "was killed"
            ) from error
    return gathering.signals(), gathering.unread


def bag_files(folder: Path) -> list[Path]:
    """The files of a bag in the order of time, as metadata.yaml names them if there is one."""
    if not (folder / _METADATA).exists():
        return files_of_folder(folder)
    about = yaml_of(folder / _METADATA)
    about = about.get("rosbag2_bagfile_information") if isinstance(about, dict) else None
    names = about.get("relative_file_paths") if isinstance(about, dict) else None
    if not isinstance(names, list) or not names:
        raise InvalidValue(f"{folder / _METADATA} names no files of a bag; {_remedy(folder)}")
    return [_file(folder, name) for name in cast("list[object]", names)]


def files_of_folder(folder: Path) -> list[Path]:
    """The files of a bag by what is there: `bag_0.mcap` and so on, in the order of the numbers."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES]
    # As rosbag2 itself: others may be copies.
    files = [file for file in files if _NUMBERED.search(file.stem)] or files
    if not files:
        raise InvalidValue(f"{folder} is no bag: it has neither {_METADATA} nor .mcap nor .db3")
    return sorted(files, key=_place)


def _place(file: Path) -> tuple[int, str]:
    number = _NUMBERED.search(file.stem)
    return (int(number[1]) if number else 0, file.name)


def _remedy(folder: Path) -> str:
    return f"`skidpad recover {folder}` writes it anew from the files that are there"


def _file(folder: Path, name: object) -> Path:
    parts = PurePosixPath(name).parts if isinstance(name, str) and "\0" not in name else ()
    if not parts or ".." in parts or PurePosixPath(*parts).is_absolute():
        raise InvalidValue(f"{folder / _METADATA}: {name!r:.100} is no file of the bag")
    # Before Galactic the name of the folder came first.
    file = folder.joinpath(*parts)
    if not file.exists() and parts[0] == folder.name:
        file = folder.joinpath(*parts[1:])
    if file.suffix.lower() not in SUFFIXES:
        raise InvalidValue(
            f"{file}: files of bags must be {' or '.join(SUFFIXES)}; unpack compressed ones with "
            "`ros2 bag convert`"
        )
    if not file.exists():
        raise MissingFile(f"{file} does not exist, but {_METADATA} names it; {_remedy(folder)}")
    return file


def _gather_sqlite(path: Path, gathering: Gathering) -> None:
    with reading(path, "is not a readable bag"), closing(opened_database(path)) as data:
        texts = _texts(data) if "message_definitions" in _tables(data) else {}
        topics = _topics(data, texts, gathering)
        query = "SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"
        for topic, time, message in data.execute(query):
            if not (isinstance(time, int) and time >= 0 and isinstance(message, bytes)):
                raise InvalidValue(f"a message has no time or no data: {time!r:.60}")
            if topic in topics:
                topics[topic].add(time, message, gathering)


def opened_database(path: Path) -> sqlite3.Connection:
    """A bag in SQLite, to be read; raises if it is none."""
    regular_file(path)
    data = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        # A stranger's schema may call functions, and a value may claim any size.
        data.execute("PRAGMA trusted_schema = OFF")
        data.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_BLOCK)
        if not {"topics", "messages"} <= _tables(data):
            raise InvalidValue("it has no tables of topics and messages")
    except BaseException:
        data.close()
        raise
    return data


def _tables(data: sqlite3.Connection) -> set[str]:
    query = "SELECT name FROM sqlite_schema WHERE type='table'"
    return {name for (name,) in data.execute(query)}


def _texts(data: sqlite3.Connection) -> dict[Any, str]:
    """Definitions by the names of types, which bags have since Iron."""
    query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
    return {
        name: text
        for name, encoding, text in data.execute(query)
        if encoding == "ros2msg" and isinstance(text, str)
    }


def _topics(
    data: sqlite3.Connection, texts: Mapping[Any, str], gathering: Gathering
) -> dict[Any, RosTopic]:
    topics: dict[Any, RosTopic] = {}
    for number, name, kind, form in data.execute(
        "SELECT id, name, type, serialization_format FROM topics"
    ):
        if not (isinstance(name, str) and isinstance(kind, str)):
            raise InvalidValue(f"topic {number!r:.60} has no name or no type")
        if form != "cdr":
            gathering.unread[name] = f"its messages are {form!r:.60} and not cdr"
            continue
        try:
            topics[number] = RosTopic(name, ros_type(kind, texts.get(kind)))
        except InvalidValue as error:
            gathering.unread[name] = str(error)
    return topics
