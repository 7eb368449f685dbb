"""Writes a campaign with processes killed at random moments: path, seed, number of kills, of runs.

Prints the digest, how many were killed and how many merged. Ends with an error if a part that a
process had told of is not there afterwards, or one cannot be read.
"""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from campaign_folders import NAMES, plan, rows
from skidpad.study import tables
from skidpad.study.folder import Folder

REPORT = struct.Struct("qq")

warnings.simplefilter("error")
os.fsync = lambda fd: None  # only a loss of power needs it
tables.LEVEL = 4


def write(path: str, seed: int, runs: int, pipe: int) -> None:
    """What a process does that may be killed."""
    dice = random.Random(seed)
    folder = Folder.create(path, plan())
    missing = folder.missing(0, runs)
    dice.shuffle(missing)
    for begin, end in missing:
        while begin < end:
            stop = min(end, begin + dice.randint(1, 6))
            folder.write_part(begin, stop, rows(begin, stop))
            os.write(pipe, REPORT.pack(begin, stop))
            begin = stop
            if dice.random() < 0.3:
                folder.merge()
    folder.merge()
    folder.close()


def killed(path: str, seed: int, runs: int, dice: random.Random) -> list[tuple[int, int]]:
    """Parts that a process told of before it was killed."""
    ends = os.pipe()
    child = os.fork()
    if not child:
        os.close(ends[0])
        try:
            write(path, seed, runs, ends[1])
            os._exit(0)
        finally:
            os._exit(3)
    os.close(ends[1])
    told = b""
    for _ in range(dice.randint(0, 25)):
        told += os.read(ends[0], REPORT.size)
    time.sleep(dice.random() * 0.008)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    while data := os.read(ends[0], 1 << 16):
        told += data
    os.close(ends[0])
    return [*REPORT.iter_unpack(told)]


def main(path: str, seed: int, kills: int, runs: int) -> None:
    dice = random.Random(seed)
    finished: list[tuple[int, int]] = []
    for k in range(kills):
        finished += killed(path, 1000 * seed + k, runs, dice)
        if not finished and not Path(path, "plan.json").exists():
            continue
        with Folder.open(path, write=True) as folder:
            assert folder.verify() == []
            lost = [part for part in finished if folder.missing(*part)]
            assert not lost, lost
            read = folder.read(("run", *NAMES))
            whole = rows(0, runs)
            for name in NAMES:
                assert read[name].tobytes() == whole[name][read["run"]].tobytes()
        left = [file for file in Path(path).rglob(".*") if file.suffix == ".tmp"]
        assert not left, left
    ends = os.pipe()
    write(path, seed, runs, ends[1])
    folder = Folder.open(path)
    assert folder.missing(0, runs) == []
    print(folder.digest(), len(finished), len(os.listdir(Path(path, "runs"))))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
