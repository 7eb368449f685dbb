"""Fast DDS as the other side: `peer.cpp`, compiled once in a run of the tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ros2.dds import DOMAIN, string, wait_for

SOURCE = Path(__file__).with_name("peer.cpp")
_HEADER = "#include <fastrtps/utils/IPLocator.h>"
_MISSING = "Fast DDS is not tested: there is no g++ with libfastrtps-dev"


def compiled_peer() -> Path:
    """The program, in the folder of this run; skips the test where it cannot be compiled."""
    program = Path(os.environ["SKIDPAD_CACHE"]) / "fast_dds_peer"
    if program.exists():
        return program
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip(_MISSING)
    look = [compiler, "-E", "-x", "c++", "-"]
    if subprocess.run(look, input=_HEADER.encode(), capture_output=True).returncode:
        pytest.skip(_MISSING)
    program.parent.mkdir(parents=True, exist_ok=True)
    # Under its name when it is whole: workers of one run share the folder.
    partial = program.with_name(f"{program.name}.{os.getpid()}")
    command = [compiler, "-std=c++17", str(SOURCE), "-o", str(partial), "-lfastrtps", "-lfastcdr"]
    subprocess.run(command, check=True)
    partial.replace(program)
    return program


class Peer:
    """The program while it runs; what it hears is `heard`."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [compiled_peer(), str(DOMAIN), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.heard: list[bytes] = []
        self.counts = {"readers": 0, "writers": 0}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        wait_for(lambda: self._ready.is_set() or self.process.poll() is not None, "the peer")
        assert self.process.poll() is None, "the peer has ended"

    def wait_for_match(self, kind: str, count: int = 1) -> None:
        """Wait until it has so many "readers" or "writers"."""
        wait_for(lambda: self.counts[kind] == count, f"{count} {kind} of the peer")

    def connect(self, heard: list[bytes]) -> None:
        """Publish "first" until our volatile subscription hears it.

        That the peer has found the subscription is not enough. The subscription may find the peer
        later, and Cyclone DDS skips what a writer has sent before its first heartbeat.
        """
        wait_for(lambda: heard or self.write(string("first")), "the first message of the peer")

    def write(self, data: bytes) -> None:
        """Let it publish bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data.hex() + "\n")
        self.process.stdin.flush()

    def stop(self) -> None:
        """Let it do nothing, and keep its connections."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, whatever it is at."""
        self.process.kill()
        self._thread.join()
        with self.process:
            pass

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            kind, _, rest = line.strip().partition(" ")
            if kind == "data":
                self.heard.append(bytes.fromhex(rest))
            elif kind in self.counts:
                self.counts[kind] = int(rest)
            else:
                self._ready.set()


@contextmanager
def fast_dds(*arguments: str) -> Generator[Peer]:
    """A peer with the arguments of peer.cpp behind the domain."""
    peer = Peer(*arguments)
    try:
        yield peer
    finally:
        peer.close()
