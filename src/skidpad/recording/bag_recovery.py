"""Mending bags of ROS 2 whose program was killed: files without an index, and metadata.yaml."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..brief import brief_repr
from ..errors import InvalidValue
from ..files import path_of, replacing, yaml_of
from ..identify.bag import files_of_folder
from .bag_inspection import STORAGES, BagFile, BagInfo, bag_file, loose_messages, metadata_fault
from .bag_metadata import (
    NAME,
    ROOT,
    FileSpan,
    TopicAndCount,
    metadata_text,
    qos_profiles,
    qos_text,
    topic_text,
    write_metadata,
)
from .checksums import Damaged
from .contents import ChunkPlace, Contents, opened
from .mcap_file import McapFile, MessageIndexes
from .recorder import CHUNK_SIZE
from .recovery import NothingWhole, Recovered, message_indexes


class RecoveredBag(NamedTuple):
    """What became of a bag."""

    path: Path
    """Of the mended bag."""
    files: tuple[Recovered, ...]
    metadata: str
    """What was wrong with metadata.yaml; empty if nothing was, or if it is a file alone."""

    __repr__ = brief_repr

    @property
    def was_complete(self) -> bool:
        """Whether nothing had to be done."""
        return not self.metadata and all(file.was_complete for file in self.files)


class _Whole(NamedTuple):
    """What is whole in a file."""

    schemas: list[Any]
    channels: list[Any]
    chunks: list[tuple[ChunkPlace, list[MessageIndexes]]]
    damaged: int
    loose: int
    """Messages outside of chunks."""
    lost: int
    closed: bool


def recover_bag(
    path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> RecoveredBag:
    """Make a bag readable again with everything that is whole in it.

    A folder is mended where it is: a file that was cut off is replaced, and kept as `NAME.torn`;
    metadata.yaml is written anew unless it is right. With `out`, a new folder, it is only read. Of
    one .mcap of a bag, `out` is `NAME.recovered.mcap` beside it if it is not given, and nothing is
    written where no message of it is whole.
    """
    bag = path_of(path)
    if not bag.is_dir():
        target = bag.with_suffix(".recovered.mcap") if out is None else path_of(out, "out")
        return RecoveredBag(target, (_recovered_file(bag, target, alone=True),), "")
    files = files_of_folder(bag)
    if len({file.suffix.lower() for file in files}) > 1:
        raise InvalidValue(f"{bag} has files of MCAP and of SQLite: a bag has one kind")
    folder = bag if out is None else _new_folder(path_of(out, "out"))
    recovered = tuple(_recovered_file(file, folder / file.name) for file in files)
    mended = [bag_file(file.path) for file in recovered]
    fault = metadata_fault(bag, mended)
    if fault or folder != bag:
        write_metadata(folder, _metadata(bag, mended))
    return RecoveredBag(folder, recovered, fault)


def _new_folder(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidValue(f"{folder} exists; a bag needs a folder that is new or empty")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write to {folder}: {error.strerror or error}") from error
    return folder


def _recovered_file(source: Path, target: Path, *, alone: bool = False) -> Recovered:
    """A file made whole, at its place or another; one that is `alone` must have something whole."""
    if source.suffix.lower() == ".db3":
        bag_file(source)  # which says what is wrong with it, if anything is
        return _copied(source, target, Recovered(target, 0, 0, 0, True))
    with opened(source) as contents:
        whole = _whole(contents)
    complete = whole.closed and not whole.damaged
    if alone and not (complete or whole.chunks or whole.loose):
        raise NothingWhole(f"nothing of {source} can be saved: it has no message that is whole")
    kept = source.with_name(f"{source.name}.torn")
    if target == source and not complete and kept.exists():
        raise InvalidValue(f"{kept} is there already: move it away, or say where to with OUT")
    result = Recovered(target, len(whole.chunks), whole.damaged, whole.lost, complete)
    if complete:
        return _copied(source, target, result)
    with replacing(target) as temporary:
        with opened(source) as contents:
            _write(contents, whole, temporary)
        if target == source:
            _keep(source, kept)
    return result


def _copied(source: Path, target: Path, result: Recovered) -> Recovered:
    if source != target:
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)
    return result


def _keep(file: Path, kept: Path) -> None:
    """A second name for a file that is about to be replaced."""
    try:
        os.link(file, kept)
    except OSError:  # not every file system has links
        shutil.copyfile(file, kept)


def _whole(contents: Contents) -> _Whole:
    chunks: list[tuple[ChunkPlace, list[MessageIndexes]]] = []
    damaged = 0
    for chunk in contents.chunks:
        try:
            indexes = message_indexes(contents, contents.messages(chunk))
        except (Damaged, IndexError):
            damaged += 1
            continue
        if indexes:
            chunks.append((chunk, indexes))
    return _Whole(
        list(contents.schemas.values()),
        list(contents.channels.values()),
        chunks,
        damaged,
        len(contents.loose),
        len(contents.data) - contents.end,
        contents.complete and contents.statistics is not None,
    )


def _write(contents: Contents, whole: _Whole, path: Path) -> None:
    file = McapFile(
        path,
        whole.schemas,
        whole.channels,
        {},
        library=contents.library,
        profile=contents.profile,
    )
    try:
        for chunk, indexes in whole.chunks:
            file.add_chunk(contents.chunk(chunk), indexes)
        contents.channels = {channel.id: channel for channel in whole.channels}
        for block in loose_messages(contents, CHUNK_SIZE):
            indexes = message_indexes(contents, np.frombuffer(block, np.uint8))
            file.add_messages(memoryview(block), indexes)
        file.finish()
    finally:
        file.close()


def _metadata(bag: Path, files: Sequence[BagFile]) -> str:
    """Of what the files hold; what only the old one says is kept."""
    try:
        old: Any = yaml_of(bag / NAME)[ROOT]
        distro, custom = str(old.get("ros_distro", "unknown")), old.get("custom_data")
        # Readers take texts only.
        data = {str(key): str(value) for key, value in custom.items()} if custom else None
    except (InvalidValue, KeyError, TypeError, IndexError, AttributeError):
        distro, data = "unknown", None
    info = BagInfo(bag, tuple(files))
    spans = [FileSpan(file.path.name, file.start, file.end, file.messages) for file in files]
    topics = [
        TopicAndCount(
            topic_text(t.name, t.type, t.form, qos_text(qos_profiles(t.profiles)), t.type_hash),
            t.messages,
        )
        for t in info.topics
    ]
    storage = STORAGES[files[0].path.suffix.lower()]
    return metadata_text(storage, spans, topics, ros_distro=distro, custom_data=data)
