"""The server with real sockets: drivers, viewers, slow ones, rude ones, and worlds that fail."""

from __future__ import annotations

import json
import logging
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from skidpad import vehicles
from skidpad.core.body import Body, Geometry, Limits, Pose, Velocity, box
from skidpad.core.model import Model, VehicleFactory
from skidpad.errors import InvalidValue
from skidpad.units import m, m_s, one, rad
from skidpad.view import recording as mcap
from skidpad.view.live.messages import DIVERGED, PAUSED, RECORDING, Moment
from skidpad.view.live.server import LiveServer
from skidpad.view.live.session import Session
from view.live.clients import Client, served
from view.live.worlds import CAR, ROBOT, WALL, arena
from waiting import PATIENCE


@pytest.fixture(scope="module")
def shared() -> Iterator[LiveServer]:
    """One server for all tests that leave it as it was."""
    with served(Session(arena(CAR, ROBOT, WALL))) as server:
        yield server


@pytest.fixture
def server(shared: LiveServer) -> LiveServer:
    """The server with its world at the start, whoever was there before."""
    with Client(shared.url) as client:
        client.until(lambda _: client.status.get("driver", 0) is None)
        client.say("take")
        client.say("resume")
        client.say("factor", value=1.0)
        client.say("reset")
        client.text("vehicles")
        client.frames(1)
    return shared


def test_the_page_and_its_modules_are_served(server: LiveServer) -> None:
    page = httpx.get(server.url)
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    module = httpx.get(f"{server.url}/page/main.js")
    assert module.headers["content-type"].startswith("text/javascript")
    assert httpx.get(f"{server.url}/page/none.js").status_code == 404
    assert httpx.get(f"{server.url}/page/..%2f..%2ferrors.py").status_code == 404


def test_hello_says_everything(server: LiveServer) -> None:
    with Client(server.url) as client:
        hello = client.hello
        assert hello["protocol"] == 1
        assert (hello["paused"], hello["recording"], hello["factor"]) == (False, False, 1.0)
        assert [v["name"] for v in hello["vehicles"]] == ["car", "robot"]
        (frame,) = client.frames(1)
        assert frame.row.shape == (len(client.stage.channels),)
        assert client.value("x") == pytest.approx(0.0, abs=0.01)


def test_frames_come_in_order(server: LiveServer) -> None:
    with Client(server.url) as client:
        frames = client.frames(60)
        times = np.array([frame.time for frame in frames])
        numbers = np.array([frame.sequence for frame in frames])
        assert (np.diff(times) > 0.0).all()
        assert (np.diff(numbers) > 0).all()
        steps = times / 0.005
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)


def test_the_lidar_comes_with_the_frames(server: LiveServer) -> None:
    with Client(server.url) as client:
        frame = client.until(lambda h: isinstance(h, Moment) and len(h.scans) > 0)
        (scan,) = frame.scans
        assert scan.ranges[15] == pytest.approx(24.5, abs=0.2), "the wall, 24.5 m ahead"


def test_one_drives_and_the_other_is_refused(server: LiveServer) -> None:
    with Client(server.url) as one, Client(server.url) as two:
        one.say("take")
        one.until(lambda _: one.status.get("driver") == one.hello["you"])
        one.drive_until(lambda: one.value("x") > 1.0, ahead=1.0)
        two.say("take")
        assert "has the wheel" in two.text("error")["text"]
        two.drive(1.0)
        assert "only they may" in two.text("error")["text"]
        for message in ("pause", "resume", "reset", "step"):
            two.say(message)
            assert "only they may" in two.text("error")["text"]
        one.say("release")
        two.until(lambda _: two.status.get("driver", 0) is None)
        one.drive(1.0)
        assert "take it first" in one.text("error")["text"]
        two.say("take")
        two.until(lambda _: two.status.get("driver") == two.hello["you"])


def test_keys_move_the_car_and_a_wall_stops_it(server: LiveServer) -> None:
    with Client(server.url) as client:
        client.say("take")
        client.say("factor", value=4.0)
        client.drive_until(lambda: client.value("v_x") > 5.0, ahead=1.0)
        client.drive_until(lambda: client.value("x") > 20.0, ahead=1.0)
        client.drive_until(
            lambda: client.value("v_x") < 0.5 and client.value("x") > 20.0, ahead=1.0
        )
        assert client.value("x") < 24.5
        client.drive_until(lambda: client.value("v_x") < -1.0, ahead=-1.0)


def test_a_key_is_answered_after_the_frame_that_shows_it(server: LiveServer) -> None:
    with Client(server.url) as client:
        client.say("take")
        client.frames(3)
        client.drive(1.0, sent=4711.0)
        heard = client.text("heard")
        assert heard["sent"] == 4711.0
        assert client.value("tau_rl") > 0.0


def test_a_driver_who_falls_silent_brakes(server: LiveServer) -> None:
    with Client(server.url) as client:
        client.say("take")
        client.say("factor", value=0.5)  # far from the wall, however late frames are
        client.drive_until(lambda: client.value("v_x") > 2.0, ahead=1.0)
        client.until(lambda h: isinstance(h, Moment) and client.value("v_x") < 0.2)
        assert client.value("x") < 20.0
        assert client.status["driver"] == client.hello["you"], "the wheel is still theirs"


def test_a_driver_who_leaves_frees_the_wheel_and_the_car_stops(server: LiveServer) -> None:
    with Client(server.url) as watcher:
        with Client(server.url) as driver:
            driver.say("take")
            driver.say("factor", value=0.5)
            driver.drive_until(lambda: driver.value("v_x") > 2.0, ahead=1.0)
        watcher.until(lambda _: watcher.status.get("driver", 0) is None)
        watcher.until(lambda h: isinstance(h, Moment) and abs(watcher.value("v_x")) < 0.2)
        assert watcher.value("x") < 20.0


def test_pause_step_resume_factor(server: LiveServer) -> None:
    with Client(server.url) as client:
        client.say("take")
        client.say("pause")
        paused = client.until(lambda h: isinstance(h, Moment) and h.flags & PAUSED)
        client.say("step", count=3)
        stepped = client.until(lambda h: isinstance(h, Moment))
        assert stepped.time - paused.time == pytest.approx(0.015)
        client.say("resume")
        client.say("step")
        assert "single steps need a paused" in client.text("error")["text"]
        client.say("factor", value=0.1)
        client.until(lambda _: client.status.get("factor") == 0.1)
        client.say("factor", value=0.01)
        assert "from 0.1 to 20" in client.text("error")["text"]


def test_mass_is_felt_and_told_to_all(server: LiveServer) -> None:
    with Client(server.url) as client, Client(server.url) as other:
        client.say("take")
        client.say("param", vehicle="car", name="m", value=460.0)
        client.say("param", vehicle="car", name="m", value=46000.0)
        assert "must be from" in client.text("error")["text"]
        other.until(lambda _: other.vehicles[0]["params"][0]["value"] == 460.0)
        # Half the 8.9 m/s² of the light car, less its resistance of 350 N.
        client.drive_until(lambda: client.value("v_x") > 1.0, ahead=1.0)
        assert client.value("a_x") < 5.0


def test_a_box_is_dropped_and_hit(server: LiveServer) -> None:
    with Client(server.url) as client, Client(server.url) as other:
        client.say("take")
        client.say("drop", x=8.0, y=0.2, kind="box")
        client.text("stage")
        assert client.stage.body("box 1").kind == "block"
        client.drive_until(lambda: client.value("x", "box 1") > 8.5, ahead=1.0)
        other.text("stage")
        (frame,) = other.frames(1)
        assert other.value("x", "box 1", frame) >= 8.0
        client.say("reset")
        client.text("stage")
        assert "box 1" not in [body.name for body in client.stage.bodies]


@pytest.mark.parametrize(
    "garbage",
    ["", "\x00", "{}", "[]", '{"type":"drive"}', '{"type":"factor","value":NaN}', b"\x01\x02"],
)
def test_garbage_is_answered_and_changes_nothing(server: LiveServer, garbage: Any) -> None:
    with Client(server.url) as client:
        client.socket.send(garbage)
        assert client.text("error")["text"]
        client.frames(2)


@contextmanager
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What uvicorn logs, which goes to the terminal alone, is heard by the test, too."""
    logger = logging.getLogger("uvicorn")
    logger.addHandler(caplog.handler)
    try:
        yield
    finally:
        logger.removeHandler(caplog.handler)


@pytest.mark.parametrize("parts", [[b"\xff\xfe"], [b"caf\xc3", b"\xc3"]], ids=["whole", "in parts"])
def test_text_that_is_not_utf_8_ends_the_connection_with_one_line(
    server: LiveServer, caplog: pytest.LogCaptureFixture, parts: list[bytes]
) -> None:
    with logged(caplog), Client(server.url) as client, Client(server.url) as other:
        client.socket.send(parts if len(parts) > 1 else parts[0], text=True)
        with pytest.raises(ConnectionClosed) as closed:
            client.until(lambda _: False)
        other.frames(2)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    (line,) = (line for line in caplog.records if line.name == "uvicorn.error")
    assert line.getMessage() == "A client sent text that is not UTF-8; its connection was closed."
    assert (line.levelname, line.exc_info) == ("WARNING", None)


REQUESTS = [
    b"GET /page/%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /?token=%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\xff\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: skidpad_token=\xff\xfe\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://[\xff\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n\xff\xff",
    b"\xff\xfe\r\n\r\n",
]
"""With bytes that are not UTF-8 in the path, the query, each header that is read, and the body."""


@pytest.mark.parametrize("request_", REQUESTS)
def test_requests_that_are_not_utf_8_are_answered_without_a_traceback(
    server: LiveServer, caplog: pytest.LogCaptureFixture, request_: bytes
) -> None:
    with logged(caplog):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
            raw.sendall(request_)
            assert raw.recv(4096).startswith(b"HTTP/1.1 ")
        assert httpx.get(server.url).status_code == 200
    assert not [line for line in caplog.records if line.exc_info or line.levelno > logging.WARNING]


def test_a_message_that_is_too_long_ends_the_connection_and_no_other(server: LiveServer) -> None:
    with Client(server.url) as client, Client(server.url) as other:
        client.socket.send(json.dumps({"type": "take", "padding": "x" * 5000}))
        with pytest.raises(ConnectionClosed) as closed:
            client.until(lambda _: False)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        other.frames(5)


def flood(client: Client) -> None:
    """Talk too much, and listen to what comes of it."""
    end = time.monotonic() + PATIENCE
    with suppress(ConnectionClosed):
        while time.monotonic() < end:
            client.say("release")
    client.until(lambda _: False)


def test_who_talks_too_much_is_warned_then_put_out(server: LiveServer) -> None:
    with Client(server.url) as client, Client(server.url) as other:
        with pytest.raises(ConnectionClosed) as closed:
            flood(client)
        assert "too many messages" in "".join(text.get("text", "") for text in client.texts)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008
        other.frames(5)


BROAD = """
<vehicle name="robot"><init_pose>0 0 0</init_pose><dynamics class="differential"/>
  <sensor class="laser" name="broad">
    <sensor_period>0.02</sensor_period><nrays>20000</nrays></sensor>
</vehicle>"""


def test_a_client_that_reads_nothing_is_dropped_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("skidpad.view.live.app.STUCK", 3.0)
    with served(Session(arena(BROAD))) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # The other is there before, so that it hears of the one however soon that one is gone.
        with Client(server.url) as other:
            deaf.connect(("127.0.0.1", server.port))
            deaf.sendall(request(server, {}).encode())
            other.until(lambda _: other.status.get("viewers", 0) == 2)
            begin = other.frames(1)[0].time
            other.until(lambda _: other.status.get("viewers", 0) == 1)
            assert other.frames(10)[-1].time > begin, "for others the world goes on"


def test_a_client_may_ask_for_fewer_frames(server: LiveServer) -> None:
    with Client(server.url) as client:
        client.say("rate", value=4)
        skipped = 0.0
        while not skipped > 1.0:  # as soon as the server itself makes more than 4 a second
            skipped = float(np.median(np.diff([frame.sequence for frame in client.frames(4)])))


def test_a_recording_can_be_read_afterwards(tmp_path: Path) -> None:
    session = Session(arena(CAR, ROBOT, WALL), folder=tmp_path)
    with served(session) as server, Client(server.url) as client:
        client.say("take")
        client.say("record", on=True)
        client.until(lambda _: bool(client.status.get("recording")))
        file = Path(client.status["file"])
        assert file.parent == tmp_path
        client.until(lambda h: isinstance(h, Moment) and h.flags & RECORDING)
        client.drive_until(lambda: client.value("x") > 2.0, ahead=1.0)
        client.say("record", on=False)
        client.until(lambda _: client.status.get("recording") is False)
        assert f"recorded to {file}" in client.status["message"]
        recording = mcap.read(file)
    assert recording.complete
    assert [body.name for body in recording.stage.bodies] == ["car", "robot"]
    x = recording.rows[:, recording.stage.body("car").x]
    assert x[0] == pytest.approx(0.0, abs=0.1)
    assert x[-1] > 1.5
    assert recording.scans


def test_a_recording_goes_on_in_another_file_when_the_world_changes(tmp_path: Path) -> None:
    wanted = tmp_path / "run.mcap"
    session = Session(arena(CAR), record=wanted)
    with served(session) as server, Client(server.url) as client:
        client.say("take")
        client.frames(20)
        client.say("drop", x=30.0, y=5.0, kind="cone")
        client.text("stage")
        client.until(lambda _: str(client.status.get("file")).endswith("run-2.mcap"))
        client.frames(20)
    first, second = mcap.read(wanted), mcap.read(tmp_path / "run-2.mcap")
    assert first.complete
    assert second.complete
    assert [body.name for body in second.stage.bodies] == ["car", "cone 1"]


def test_others_need_the_token() -> None:
    with served(Session(arena(ROBOT)), token="let me in") as server:
        bare = server.url.partition("/?")[0]
        assert server.url.endswith("?token=let%20me%20in")
        assert httpx.get(bare).status_code == 403
        assert httpx.get(f"{bare}/page/main.js").status_code == 403
        assert httpx.get(f"{bare}/?token=wrong").status_code == 403
        for query in ("", "/?token=wrong"):
            with pytest.raises(InvalidStatus) as refused:
                Client(f"{bare}{query}")
            assert refused.value.response.status_code == 403
        with httpx.Client() as browser:
            assert browser.get(server.url).status_code == 200
            assert browser.get(f"{bare}/page/main.js").status_code == 200, "by its cookie"
        with Client(server.url) as client:
            client.frames(1)


def request(server: LiveServer, headers: dict[str, str]) -> str:
    """The beginning of a connection, with some headers of one's own."""
    given = {
        "Host": f"127.0.0.1:{server.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    return "GET /live HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in given.items()) + "\r\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, b"101"),
        ({"Host": "localhost"}, b"101"),
        ({"Origin": "http://evil.example"}, b"403"),
        ({"Origin": "null"}, b"403"),
        ({"Origin": "http://["}, b"403"),
        ({"Origin": "http://[::1"}, b"403"),
        ({"Host": "evil.example"}, b"403"),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, b"403"),
    ],
)
def test_pages_of_others_do_not_get_in(
    server: LiveServer, headers: dict[str, str], status: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
        raw.sendall(request(server, headers).encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 " + status)


def test_a_host_that_others_reach_has_a_token_by_itself() -> None:
    server = LiveServer(Session(arena(ROBOT)), host="0.0.0.0", port=0)
    server.stop()
    assert server.token
    assert f"?token={server.token}" in server.url


class Exploding(NamedTuple):
    """The state of a vehicle whose speed becomes infinite after 1.57 s."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    v_x: m_s = 0.0


class NoInput(NamedTuple):
    steer: rad = 0.0


class Growth(NamedTuple):
    rate: one = 1.0


def explosion(x: Any, u: Any, w: Any, p: Any) -> Exploding:
    """v' = 1 + v², whose solution is the tangent of time."""
    return Exploding(x.v_x, 0.0 * x.y, 0.0 * x.yaw, p.rate * (1.0 + x.v_x * x.v_x))


CRATE = Body(
    reference="its middle",
    pose=lambda x, p: Pose(x.x, x.y, x.yaw),
    velocity=lambda x, u, p: Velocity(x.v_x, 0.0 * x.v_x, 0.0 * x.v_x),
    placed=lambda x, pose, velocity, p: x._replace(**pose._asdict(), v_x=velocity.v_x),
    geometry=lambda p: Geometry(0.5, -0.5, (), (box(-0.5, 0.5, 1.0),), 1.0, 100.0, 20.0),
    limits=lambda p: Limits(),
    command=lambda x, demand, p: NoInput(demand.steer),
)


def test_a_world_that_diverges_stops_says_so_and_starts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Model("exploding", Exploding, NoInput, Growth, derivative=explosion, body=CRATE)
    monkeypatch.setitem(vehicles.registry._FACTORIES, "exploding", VehicleFactory(model))
    one = arena(
        '<vehicle name="bomb"><init_pose>0 9 0</init_pose>'
        '<dynamics class="skidpad:exploding"/></vehicle>'
    )
    session = Session(one, factor=4.0)
    with served(session) as server, Client(server.url) as client, Client(server.url) as other:
        text = client.text("diverged")["text"]
        assert "stopped at t = 1.5" in text
        assert "state of bomb is no longer finite" in text
        assert "Reset" in text
        frame = client.until(lambda h: isinstance(h, Moment) and h.flags & DIVERGED)
        assert frame.flags & PAUSED
        assert np.isfinite(frame.row).all(), "the last good moment is shown"
        assert 0.0 < frame.time < 1.58  # of the last frame, whenever that was made
        client.say("take")
        client.say("resume")
        assert "reset it first" in client.text("error")["text"]
        assert other.text("diverged")["text"] == text
        client.say("reset")
        again = client.until(lambda h: isinstance(h, Moment) and not h.flags & DIVERGED)
        assert again.time < 1.2
        with Client(server.url) as late:
            assert late.hello["paused"] in (True, False)
        client.text("diverged")


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidValue, match=rf"port {port}: .*in use"):
            LiveServer(Session(arena(ROBOT)), port=port)


def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr("skidpad.view.live.server.PORT", port)
        server = LiveServer(Session(arena(ROBOT)))
        server.stop()
    assert port < server.port < port + 50


def test_many_viewers_get_the_same_bytes(server: LiveServer) -> None:
    clients = [Client(server.url) for _ in range(8)]
    try:
        for client in clients:
            client.frames(2)
        seen = [{frame.sequence: frame.row.tobytes() for frame in c.frames(20)} for c in clients]
        common = set.intersection(*(set(numbers) for numbers in seen))
        assert common
        for number in common:
            assert len({one[number] for one in seen}) == 1
    finally:
        for client in clients:
            client.close()


def test_a_viewer_that_vanishes_is_forgotten(server: LiveServer) -> None:
    with Client(server.url) as watcher:
        gone = Client(server.url)
        gone.say("take")
        watcher.until(lambda _: watcher.status.get("driver") == gone.hello["you"])
        # A reset instead of a farewell, as when a machine goes down.
        gone.socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.socket.socket.close()
        watcher.until(lambda _: watcher.status.get("driver", 0) is None)
        gone.close()


def test_after_a_restart_clients_come_back() -> None:
    first = Session(arena(ROBOT))
    with served(first) as server:
        port = server.port
        client = Client(server.url)
        client.frames(3)
    with pytest.raises(ConnectionClosed) as closed:
        client.until(lambda _: False)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012
    client.close()
    with served(Session(arena(ROBOT)), port=port) as server, Client(server.url) as again:
        assert again.hello["you"] == 1
        again.frames(3)
