"""Bags of rosbag2: a folder with metadata.yaml and files of MCAP or SQLite, or one such file."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any, cast

from ..errors import InvalidValue, MissingFile
from ..files import LARGEST_BLOCK, reading, yaml_of
from .gathering import Gathering, Signals
from .mcap_file import gather_mcap
from .message_columns import RosTopic, ros_type

SUFFIXES = (".mcap", ".db3")
_METADATA = "metadata.yaml"


def read_bag(path: Path) -> tuple[Signals, dict[str, str]]:
    """The numbers of a bag, and what has none with the reason."""
    found = Gathering()
    for file in _files(path) if path.is_dir() else [path]:
        if file.suffix.lower() == ".db3":
            _gather_sqlite(file, found)
        else:
            gather_mcap(file, found)
    return found.signals(), found.unread


def _files(folder: Path) -> list[Path]:
    """The files of a bag in the order of time."""
    if not (folder / _METADATA).exists():
        files = sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)
        if not files:
            raise InvalidValue(f"{folder} is no bag: it has neither {_METADATA} nor .mcap nor .db3")
        return files
    about = yaml_of(folder / _METADATA)
    about = about.get("rosbag2_bagfile_information") if isinstance(about, dict) else None
    names = about.get("relative_file_paths") if isinstance(about, dict) else None
    if not isinstance(names, list) or not names:
        raise InvalidValue(f"{folder / _METADATA} names no files of a bag")
    return [_file(folder, name) for name in cast("list[object]", names)]


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
        raise MissingFile(f"{file} does not exist, but {_METADATA} names it")
    return file


def _gather_sqlite(path: Path, found: Gathering) -> None:
    if not path.exists():
        raise MissingFile(f"{path} does not exist")
    with (
        reading(path, "is not a readable bag"),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as data,
    ):
        # A stranger's schema may call functions, and a value may claim any size.
        data.execute("PRAGMA trusted_schema = OFF")
        data.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_BLOCK)
        tables = {
            name for (name,) in data.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        }
        if not {"topics", "messages"} <= tables:
            raise InvalidValue("it has no tables of topics and messages")
        texts = _texts(data) if "message_definitions" in tables else {}
        topics = _topics(data, texts, found)
        query = "SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"
        for topic, time, message in data.execute(query):
            if not (isinstance(time, int) and time >= 0 and isinstance(message, bytes)):
                raise InvalidValue(f"a message has no time or no data: {time!r:.60}")
            if topic in topics:
                topics[topic].add(time, message, found)


def _texts(data: sqlite3.Connection) -> dict[Any, str]:
    """Definitions by the names of types, which bags have since Iron."""
    query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
    return {
        name: text
        for name, encoding, text in data.execute(query)
        if encoding == "ros2msg" and isinstance(text, str)
    }


def _topics(
    data: sqlite3.Connection, texts: Mapping[Any, str], found: Gathering
) -> dict[Any, RosTopic]:
    topics: dict[Any, RosTopic] = {}
    for number, name, kind, form in data.execute(
        "SELECT id, name, type, serialization_format FROM topics"
    ):
        if not (isinstance(name, str) and isinstance(kind, str)):
            raise InvalidValue(f"topic {number!r:.60} has no name or no type")
        if form != "cdr":
            found.unread[name] = f"its messages are {form!r:.60} and not cdr"
            continue
        try:
            topics[number] = RosTopic(name, ros_type(kind, texts.get(kind)))
        except InvalidValue as error:
            found.unread[name] = str(error)
    return topics
