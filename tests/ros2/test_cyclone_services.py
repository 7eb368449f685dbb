"""Services over DDS, asked by a client written from the layout of rmw_cyclonedds alone."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from ros2.clients import Client
from ros2.dds import STRING, program, string, transport, wait_for
from skidpad.errors import InvalidValue
from skidpad.ros2.dds import DEFAULT, Reply
from skidpad.ros2.messages.types import service_type

pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")

TRIGGER = service_type("std_srvs/srv/Trigger")
NOTHING = b"\x00\x01\x00\x00\x00\x00\x00\x00"
"""The request of a Trigger: one byte that stands for no fields, filled up."""


def triggered(message: str) -> bytes:
    """A response of `std_srvs/Trigger` that says yes."""
    text = string(message)
    return text[:4] + b"\x01\x00\x00\x00" + text[4:]


@contextmanager
def client(service: str = "/go", *, hears: bool = True) -> Generator[Client]:
    opened = Client(service, TRIGGER, hears=hears)
    try:
        yield opened
    finally:
        opened.close()


def test_a_request_is_answered_with_its_own_header() -> None:
    asked: list[bytes] = []

    def handler(data: bytes, reply: Reply) -> None:
        asked.append(data)
        reply(triggered(str(len(asked))))

    with transport() as here, client() as caller:
        here.serve("/go", TRIGGER, handler)
        answers = [caller.call(NOTHING) for _ in range(5)]
        assert answers == [triggered(str(k)) for k in range(1, 6)]
        assert asked == [NOTHING] * 5
        assert sorted(caller.answers) == [1, 2, 3, 4, 5]


def test_another_process_is_asked() -> None:
    with program("echo_node.py", "closed"), client("/echo/trigger") as caller:
        # A request is lost if the other process finds the client's writer only afterwards.
        wait_for(lambda: caller.heard(caller.ask(NOTHING)) or caller.answers, "an answer")
        assert set(caller.answers.values()) == {triggered("done")}


def test_clients_get_their_own_answers() -> None:
    """Requests that are outstanding at the same time, answered in the other order."""
    waiting: list[Reply] = []
    with transport() as here, client() as one, client() as other:
        here.serve("/go", TRIGGER, lambda data, reply: waiting.append(reply))
        numbers = []
        for caller in (one, other, one):
            numbers.append(caller.ask(NOTHING))
            wait_for(lambda: len(waiting) == len(numbers), "the request")
        for k, reply in reversed(list(enumerate(waiting))):
            reply(triggered(str(k)))
        for k, caller in enumerate((one, other, one)):
            wait_for(lambda k=k, caller=caller: caller.heard(numbers[k]), "the answer")
            assert caller.answers[numbers[k]] == triggered(str(k))


def test_a_request_is_answered_once_from_whatever_thread() -> None:
    faults: list[str] = []

    def answer(reply: Reply) -> None:
        reply(triggered("one"))
        try:
            reply(triggered("two"))
        except InvalidValue as error:
            faults.append(str(error))

    threads: list[threading.Thread] = []

    def handler(data: bytes, reply: Reply) -> None:
        threads.append(threading.Thread(target=answer, args=(reply,)))
        threads[-1].start()

    with transport() as here, client() as caller:
        here.serve("/go", TRIGGER, handler)
        assert caller.call(NOTHING) == triggered("one")
        threads[0].join()
        assert ["/go" in fault for fault in faults] == [True]


def test_a_client_whose_reader_is_found_late_is_answered_and_nobody_waits() -> None:
    with transport() as here, transport("b") as there, client(hears=False) as caller:
        answered = threading.Event()

        def handler(data: bytes, reply: Reply) -> None:
            reply(triggered("late"))
            answered.set()

        here.serve("/go", TRIGGER, handler)
        heard: list[bytes] = []
        here.subscribe("/topic", STRING, DEFAULT, heard.append)
        publisher = there.publisher("/topic", STRING, DEFAULT)
        number = caller.ask(NOTHING)
        wait_for(answered.is_set, "the handler")
        # The reply cannot be sent yet, and topics go on meanwhile.
        wait_for(lambda: publisher.readers, "the subscription")
        publisher.write(string("still here"))
        wait_for(lambda: heard, "a message")
        caller.hear()
        wait_for(lambda: caller.heard(number), "the answer")
        assert caller.answers[number] == triggered("late")


def test_a_client_that_has_left_is_forgotten() -> None:
    waiting: list[Reply] = []
    with transport() as here:
        here.serve("/go", TRIGGER, lambda data, reply: waiting.append(reply))
        with client(hears=False) as caller:
            caller.ask(NOTHING)
            wait_for(lambda: waiting, "the request")
        waiting[0](triggered("nobody"))
        with client() as caller:
            number = caller.ask(NOTHING)
            wait_for(lambda: len(waiting) == 2, "the request")
            waiting[1](triggered("somebody"))
            wait_for(lambda: caller.heard(number), "the answer")
    late = len(waiting)
    assert late == 2


def test_a_reply_after_closing_goes_nowhere() -> None:
    waiting: list[Reply] = []
    with client() as caller:
        with transport() as here:
            here.serve("/go", TRIGGER, lambda data, reply: waiting.append(reply))
            caller.ask(NOTHING)
            wait_for(lambda: waiting, "the request")
        waiting[0](triggered("late"))


def test_a_response_that_is_none_is_refused_and_a_right_one_may_follow() -> None:
    faults: list[str] = []

    def handler(data: bytes, reply: Reply) -> None:
        try:
            reply(b"\x00\x01\x00\x00")
        except InvalidValue as error:
            faults.append(str(error))
        reply(triggered("right"))

    with transport() as here, client() as caller:
        here.serve("/go", TRIGGER, handler)
        assert caller.call(NOTHING) == triggered("right")
        assert "service /go" in faults[0]
        assert "std_srvs/srv/Trigger_Response" in faults[0]


def test_services_have_ids_of_their_own() -> None:
    """Tools pair the reader and the writer of a service by what both have in their user data."""
    with transport() as here, client() as one, client("/stop") as other:
        for name in ("/go", "/stop"):
            here.serve(name, TRIGGER, lambda data, reply: reply(triggered("yes")))
        for caller in (one, other):
            assert caller.call(NOTHING) == triggered("yes")
        found = [caller.service_ids() for caller in (one, other)]
        assert all(len(set(ids)) == 1 for ids in found)
        assert found[0] != found[1]
        assert all(len(ids[0].split(".")) == 16 for ids in found)
