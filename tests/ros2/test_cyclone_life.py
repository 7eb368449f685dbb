"""Transports over DDS come and go: closed, left, forked, stopped."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from ros2.dds import ENVIRONMENT, STRING, program, string, transport, wait_for
from skidpad.errors import InvalidValue
from skidpad.ros2.cyclone import CycloneTransport
from skidpad.ros2.dds import DEFAULT, TF, Identity, Qos
from waiting import PATIENCE

pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")


def test_it_can_be_closed_from_a_callback_and_hears_no_more() -> None:
    deep = Qos(latched=True, depth=10)
    with transport("a") as here:
        publisher = here.publisher("/topic", STRING, deep)
        for text in ("first", "second", "third"):
            publisher.write(string(text))
        there = CycloneTransport(Identity("b"), ENVIRONMENT)
        heard: list[bytes] = []
        there.subscribe("/topic", STRING, deep, lambda data: heard.append(data) or there.close())
        wait_for(lambda: there.closed and not publisher.readers, "its leaving")
        there.close()
    assert heard == [string("first")]


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot stop a process")
def test_a_process_that_stops_holds_nobody_up() -> None:
    """With more outstanding than Cyclone's watermark, 500 kB, and than sockets hold."""
    with transport() as here, program("echo_node.py", "closed") as process:
        publisher = here.publisher("/ping", STRING, TF)
        heard: list[bytes] = []
        here.subscribe("/pong", STRING, DEFAULT, heard.append)
        wait_for(lambda: publisher.write(string("ready")) or heard, "the echo")
        process.send_signal(signal.SIGSTOP)
        returned = threading.Event()

        def write() -> None:
            for _ in range(100):
                publisher.write(string("x" * 10_000))
            publisher.write(string("last"))
            returned.set()

        threading.Thread(target=write, daemon=True).start()
        assert returned.wait(PATIENCE)
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: string("last") in heard, "the newest")


FORKING = """
import os, sys, warnings
warnings.simplefilter("ignore")  # Pythons since 3.12 warn of forks beside threads.
from ros2.dds import STRING, string, transport
from skidpad.ros2.dds import DEFAULT
with transport() as here:
    publisher = here.publisher("/topic", STRING, DEFAULT)
    here.subscribe("/topic", STRING, DEFAULT, lambda data: None)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    status = os.waitpid(child, 0)[1]
    publisher.write(string("still here"))
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_ends_as_any_process() -> None:
    with program("-c", FORKING) as process:
        said = process.communicate(timeout=PATIENCE)
        assert (process.returncode, *said) == (0, "0\n", "")


def test_after_closing_nothing_is_sent_and_nothing_can_be_added() -> None:
    with transport() as here:
        publisher = here.publisher("/topic", STRING, DEFAULT)
    publisher.write(string("late"))
    here.announce()
    assert here.warnings() == []
    with pytest.raises(InvalidValue, match="closed"):
        here.publisher("/other", STRING, DEFAULT)


def test_fifty_come_and_go_while_one_speaks() -> None:
    with transport("speaker") as here:
        publisher = here.publisher("/topic", STRING, DEFAULT)
        ended = threading.Event()

        def speak() -> None:
            while not ended.is_set():
                publisher.write(string("x"))
                ended.wait(0.001)

        speaker = threading.Thread(target=speak)
        speaker.start()
        try:
            for number in range(50):
                heard: list[bytes] = []
                with transport(f"listener_{number}") as there:
                    there.subscribe("/topic", STRING, DEFAULT, heard.append)
                    there.announce()
                    wait_for(lambda heard=heard: heard, "a message")
        finally:
            ended.set()
            speaker.join()
    assert not [thread for thread in threading.enumerate() if thread.name == "skidpad-dds"]


@pytest.mark.slow_cases("left")
@pytest.mark.parametrize("kind", ["closed", "left"])
def test_processes_end_without_a_word_under_traffic(kind: str) -> None:
    with transport() as here:
        publisher = here.publisher("/ping", STRING, DEFAULT)
        for _ in range(2):
            with program("echo_node.py", kind) as process:
                wait_for(lambda: publisher.readers, "the other process")
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                assert process.stdin is not None
                process.stdin.close()
                wait_for(
                    lambda p=process: publisher.write(string("x")) or p.poll() is not None,
                    "its end",
                )
                assert process.returncode == 0
                assert process.stderr is not None
                assert process.stderr.read() == ""
            wait_for(lambda: not publisher.readers, "its leaving")
