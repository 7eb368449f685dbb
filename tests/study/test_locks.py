"""One writer per folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from skidpad.study import storage
from skidpad.study.storage import CampaignInUse, LocalStorage, RemoteStorage, Storage, locked
from waiting import PATIENCE

HOLDER = """
import sys, time
from pathlib import Path
from skidpad.study.storage import locked
from skidpad.study.storage import LocalStorage
lock = locked(LocalStorage(Path(sys.argv[1])))
print("held", flush=True)
time.sleep(600)
"""

FORKED = """
import os, sys, time
from pathlib import Path
from skidpad.study.storage import locked
from skidpad.study.storage import LocalStorage
lock = locked(LocalStorage(Path(sys.argv[1])))
if os.fork():
    time.sleep(600)
print("child:", lock.held, flush=True)
sys.stdin.read()
print("child ends", flush=True)
"""


@pytest.fixture(params=["local", "owner file", "memory"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Storage:
    if request.param == "memory":
        return RemoteStorage(f"memory://locks-{uuid.uuid4().hex}")
    if request.param == "owner file":  # a file system that knows no locks

        def unknown(_: object) -> bool:
            raise OSError(storage.errno.ENOLCK, "No locks available")

        monkeypatch.setattr(storage, "_try_lock", unknown)
    return LocalStorage(tmp_path)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait(PATIENCE)
    child.stdout.close()


def test_one_at_a_time(place: Storage) -> None:
    lock = locked(place)
    with pytest.raises(CampaignInUse, match=rf"written by process {os.getpid()} on .+ since 20"):
        locked(place)
    assert lock.held
    lock.release()
    lock.release()
    assert not lock.held
    again = locked(place)
    assert again.held
    again.release()


def test_a_process_that_is_killed_lets_go(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    place = LocalStorage(tmp_path)
    with pytest.raises(CampaignInUse, match=f"process {holder.pid} "):
        locked(place)
    holder.send_signal(signal.SIGKILL)
    holder.wait(PATIENCE)
    lock = locked(place)
    lock.release()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_hold_the_lock_of_its_parent(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", FORKED, str(tmp_path)], stdin=-1, stdout=-1, text=True
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    assert parent.stdout.readline() == "child: False\n"
    parent.kill()
    parent.wait(PATIENCE)
    locked(LocalStorage(tmp_path)).release()  # the child lives still
    parent.stdin.close()
    assert parent.stdout.readline() == "child ends\n"
    parent.stdout.close()


def test_an_owner_that_died_here_is_followed() -> None:
    place = RemoteStorage(f"memory://locks-{uuid.uuid4().hex}")
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], stdout=-1)
    owner = {"host": socket.gethostname(), "pid": int(child.stdout), "since": "2020", "token": "x"}
    place.write("lock", json.dumps(owner).encode())
    if os.name != "nt":
        assert locked(place).held


def test_an_owner_elsewhere_must_be_broken() -> None:
    place = RemoteStorage(f"memory://locks-{uuid.uuid4().hex}")
    owner = {"host": "node-17", "pid": 1, "since": "2020-01-01T00:00:00+00:00", "token": "x"}
    place.write("lock", json.dumps(owner).encode())
    with pytest.raises(CampaignInUse, match=r"process 1 on node-17 since 2020.*break_lock=True"):
        locked(place)
    lock = locked(place, break_lock=True)
    assert lock.held
    other = locked(place, break_lock=True)
    assert not lock.held
    lock.release()  # not its own any more
    assert other.held


def test_an_owner_file_that_makes_no_sense_is_told_of() -> None:
    place = RemoteStorage(f"memory://locks-{uuid.uuid4().hex}")
    place.write("lock", b"\xff[1")
    with pytest.raises(CampaignInUse, match="written by another process"):
        locked(place)
