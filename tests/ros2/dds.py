"""What the tests of DDS share: a domain of their own on the loopback interface, and waiting."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import skidpad
from skidpad.ros2.cyclone import CycloneTransport
from skidpad.ros2.dds import Identity
from skidpad.ros2.messages import message_type
from waiting import PATIENCE

DOMAIN = 1 + os.getpid() % 100
ENVIRONMENT = {"ROS_DOMAIN_ID": str(DOMAIN), "ROS_LOCALHOST_ONLY": "1"}
STRING = message_type("std_msgs/msg/String")


def string(text: str) -> bytes:
    """A `std_msgs/String` as CDR, filled up to a multiple of 4 as on the wire."""
    data = text.encode() + b"\x00"
    body = len(data).to_bytes(4, "little") + data
    return b"\x00\x01\x00\x00" + body + bytes(-len(body) % 4)


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.002)


@contextmanager
def transport(name: str = "car", **more: str) -> Generator[CycloneTransport]:
    """A node's connection in the domain of this process."""
    opened = CycloneTransport(Identity(name), {**ENVIRONMENT, **more})
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def program(name: str, *arguments: str, **more: str) -> Generator[subprocess.Popen[str]]:
    """A program of this folder, or one given to "-c", in another process and the same domain."""
    path = os.pathsep.join([str(Path(skidpad.__file__).parents[1]), str(Path(__file__).parents[1])])
    file = [str(Path(__file__).with_name(name))] if name.endswith(".py") else []
    with subprocess.Popen(
        [sys.executable, *(file or [name]), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path, **more},
    ) as process:
        try:
            yield process
        finally:
            process.kill()
