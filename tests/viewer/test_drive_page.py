"""A page that drives, in a browser and from disk: the bits of the simulator, keys, recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import record, recording
from skidpad.controllers.abilities import abilities_of
from skidpad.controllers.driving import Axes, Memory, wish_of_keys, wish_to_stop
from skidpad.model import Vehicle
from skidpad.trajectory.trajectory import Trajectory
from skidpad.viewer.drive_page import Place, plane_place, world_place, write_drive_page
from skidpad.viewer.drive_page.places import Solid
from skidpad.world.xml import loads

Open = Callable[..., Any]

LARGEST = 3_000_000
"""Bytes of a page that people mail to each other."""
STEPS = 40

RECORDED = """(rows) => {
  const { world } = skidpad;
  world.send({ type: "pause" });
  world.reset();
  world.send({ type: "record", on: true });
  const made = rows.map((row) => world.stepWith(Float64Array.from(row)));
  world.send({ type: "record", on: false });
  return { made, csv: world.log.csv(world.head.vehicle.heads) };
}"""
"""Steps with rows of inputs from the start on, and what was recorded of them."""


def late() -> Vehicle:
    """A vehicle with dead times in its inputs."""
    delays = {"acc_time_delay": 0.1, "steer_time_delay": 0.24, "wheel_base": 2.79}
    return sp.vehicles.autoware("DELAY_STEER_ACC", delays)


CARS: dict[str, Callable[[], Vehicle]] = {
    "explicit": lambda: sp.vehicles.single_track(),
    "implicit": lambda: sp.vehicles.kinematic_bicycle(),
    "late": late,
}
"""By what is special about their steps; the implicit one also settles its start."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a car by its name, written once."""
    folder, written = tmp_path_factory.mktemp("drive"), dict[str, Path]()

    def page(name: str) -> Path:
        if name not in written:
            written[name] = folder / f"{name}.html"
            write_drive_page(CARS[name](), written[name])
        return written[name]

    return page


class Address:
    """A page on disk whose address asks for one of its modules."""

    def __init__(self, path: Path, module: str) -> None:
        self._path, self._module = path, module

    def as_uri(self) -> str:
        return f"{self._path.as_uri()}#{self._module}"


def inputs_of(vehicle: Vehicle, steps: int = STEPS) -> list[list[float]]:
    """Rows of inputs within the limits, another one for each step."""
    draws, ranges = np.random.default_rng(7), vehicle.limits.inputs
    columns: list[Any] = []
    for leaf in record.fields(vehicle.Input):
        low, high = np.clip(ranges.get(leaf.name, (-1.0, 1.0)), -0.3, 0.3).tolist()
        if leaf.allowed is not None:
            low = max(low, leaf.allowed.low)
        columns.append(draws.uniform(low, high, steps))
    return np.column_stack(columns).tolist()


def table(run: Trajectory) -> np.ndarray[Any, Any]:
    return np.column_stack([run.t, *(column.values for column in run.columns)])


@pytest.mark.parametrize(
    ("name", "module"),
    [("explicit", "fused"), ("explicit", "exact"), ("implicit", "fused"), ("late", "exact")],
)
def test_a_recorded_drive_has_the_bits_of_the_simulator(
    name: str, module: str, opened: Open, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    car = CARS[name]()
    rows = inputs_of(car)
    page = opened(Address(pages(name), module))
    assert page.evaluate("skidpad.world.vehicle.module.fused") == (module == "fused")
    driven = page.evaluate(RECORDED, rows)
    assert all(driven["made"])
    (tmp_path / "page.csv").write_text(driven["csv"])
    expected = sp.Simulator(car, 0.01).run(np.array(rows), steps=len(rows))
    expected.to_csv(tmp_path / "simulator.csv")
    heads = [(tmp_path / f"{who}.csv").read_text().split("\n")[0] for who in ("page", "simulator")]
    assert heads[0] == heads[1]
    found = table(Trajectory.from_csv(tmp_path / "page.csv"))
    assert found.tobytes() == table(expected).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", sp.vehicles.names())
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_vehicle_has_the_bits_of_the_simulator(
    name: str, opened: Open, tmp_path: Path
) -> None:
    car = sp.vehicles.named(name)
    path, rows = tmp_path / "page.html", inputs_of(car)
    write_drive_page(car, path)
    assert path.stat().st_size < LARGEST
    expected = table(sp.Simulator(car, 0.01).run(np.array(rows), steps=len(rows)))
    for module in ("fused", "exact"):
        page = opened(Address(path, module))
        (tmp_path / "page.csv").write_text(page.evaluate(RECORDED, rows)["csv"])
        assert table(Trajectory.from_csv(tmp_path / "page.csv")).tobytes() == expected.tobytes()


def test_keys_drive_the_car_and_it_stops_when_they_are_let_go(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    path = pages("explicit")
    assert path.stat().st_size < LARGEST
    page = opened(path)
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.poseOf('single_track').x > 3")
    page.keyboard.down("ArrowLeft")
    page.wait_for_function("skidpad.poseOf('single_track').yaw > 0.2")
    page.keyboard.up("ArrowLeft")
    page.keyboard.up("ArrowUp")
    page.keyboard.down("Space")
    page.wait_for_function(
        "skidpad.world.vehicle.motion(), Math.abs(skidpad.world.vehicle.velocity[0]) < 0.1"
    )
    page.keyboard.up("Space")
    assert "×" in page.text_content("#link-text")
    assert page.text_content("#link-text").endswith(("fused", "exact"))


def test_a_gamepad_drives(opened: Open, pages: Callable[[str], Path]) -> None:
    pad = """navigator.getGamepads = () => [{
      connected: true, mapping: "standard", axes: [-0.5, 0],
      buttons: Array.from({ length: 16 }, (_, k) => ({ value: k === 7 ? 1 : 0, pressed: k === 7 })),
    }];"""
    page = opened(pages("explicit"), before=pad)
    page.wait_for_function("skidpad.poseOf('single_track').yaw > 0.1")


def test_time_out_of_sight_is_not_caught_up(opened: Open, pages: Callable[[str], Path]) -> None:
    page = opened(pages("explicit"))
    owed = page.evaluate(
        """async () => {
        const { Pace } = await import("skidpad/pace.js");
        const pace = new Pace(0.01);
        const seen = [];
        for (const now of [5.0, 5.02, 20.0]) {
          pace.tick(now);
          seen.push(pace.owed);
          pace.owed = 0;
        }
        pace.tick(20.05);
        pace.restart();
        pace.tick(90.0);
        return [...seen, pace.owed];
        }"""
    )
    assert owed == pytest.approx([0.0, 0.02, 0.1, 0.0])


def test_a_damaged_page_says_so(opened: Open, pages: Callable[[str], Path], tmp_path: Path) -> None:
    whole = pages("explicit").read_text()
    at = whole.index('id="film">') + 2000
    damaged = tmp_path / "damaged.html"
    damaged.write_text(whole[:at] + "AAAA" + whole[at + 4 :])
    page = opened(damaged)
    assert page.text_content("#card h2") == "This vehicle cannot be driven"


ROBOT = """
<mvsim_world>
  <simul_timestep>0.004</simul_timestep>
  <vehicle name="r1"><init_pose>1 2 90</init_pose>
    <dynamics class="differential"><controller class="twist_pid"/></dynamics></vehicle>
  <vehicle name="r2"><init_pose>10 0 0</init_pose><dynamics class="ackermann"/></vehicle>
</mvsim_world>"""


def test_a_vehicle_of_a_world_drives_as_the_simulator_steps_it(
    opened: Open, tmp_path: Path
) -> None:
    place = world_place(loads(ROBOT))
    write_drive_page(place, tmp_path / "world.html")
    page = opened(tmp_path / "world.html")
    assert page.evaluate("[skidpad.poseOf('r2').x, skidpad.poseOf('r2').y]") == [10.0, 0.0]
    page.wait_for_function("window.skidpad.app.stage.bodies.length === 2")
    rows = inputs_of(place.vehicle)
    driven = page.evaluate(RECORDED, rows)
    (tmp_path / "page.csv").write_text(driven["csv"])
    sim = sp.Simulator(place.vehicle, 0.004)
    sim.reset(place.start)
    expected = sim.run(np.array(rows), steps=len(rows))
    found = table(Trajectory.from_csv(tmp_path / "page.csv"))
    assert found.tobytes() == table(expected).tobytes()
    page.keyboard.press("r")
    page.keyboard.press("k")
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.poseOf('r1').y > 2.3")


def test_a_finger_drives_on_a_phone(opened: Open, pages: Callable[[str], Path]) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = opened(pages("explicit"), **phone)
    box = page.locator(".stick").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.evaluate(
        """([x, y]) => {
        const stick = document.querySelector(".stick");
        stick.setPointerCapture = () => {};
        const touch = { pointerId: 7, pointerType: "touch", clientX: x, bubbles: true };
        stick.dispatchEvent(new PointerEvent("pointerdown", { ...touch, clientY: y }));
        stick.dispatchEvent(new PointerEvent("pointermove", { ...touch, clientY: y - 50 }));
        }""",
        middle,
    )
    page.wait_for_function("skidpad.poseOf('single_track').x > 2")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "nothing lies beyond the screen"


def test_commands_are_those_of_the_driver_of_live_pages(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    car = CARS["explicit"]()
    can, dt = abilities_of(car), 0.01
    plan: list[tuple[Axes, bool]] = [
        *[(Axes(1.0, 0.4), True)] * 60,
        *[(Axes(-1.0, -1.0), True)] * 40,
        *[(Axes(0.0, 0.0, True), True)] * 20,
        *[(Axes(), False)] * 20,
    ]
    page = opened(pages("explicit"))
    found = page.evaluate(
        """(plan) => {
        const { world } = skidpad;
        const { vehicle } = world;
        world.send({ type: "pause" });
        vehicle.reset();
        return plan.map(([[ahead, left, handbrake], held]) => {
          const command = vehicle.command({ ahead, left, handbrake }, held);
          vehicle.step(command);
          return Array.from(command);
        });
        }""",
        [[list(axes), held] for axes, held in plan],
    )
    sim, memory, expected = sp.Simulator(car, dt), Memory(), list[Any]()
    for axes, held in plan:
        now = car.body.velocity(sim.state, sim.input, car.params)
        if held:
            wish, memory = wish_of_keys(axes, memory, now, can, dt)
        else:
            wish, memory = wish_to_stop(memory, now, can, dt)
        command = car.body.command(sim.state, wish, car.params)
        expected.append(record.flatten(command))
        sim.step(command)
    assert np.array(found) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


def test_a_recording_saved_as_mcap_reads_back_to_the_bit(
    opened: Open, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    mcap = pytest.importorskip("mcap.reader")
    car = CARS["explicit"]()
    rows = inputs_of(car)
    page = opened(pages("explicit"))
    page.evaluate(RECORDED, rows)
    saved = tmp_path / "run.mcap"
    with page.expect_download() as download:
        page.click("[data-save=mcap]")
    download.value.save_as(saved)
    read = recording.read(saved)
    run = sp.Simulator(car, 0.01).run(np.array(rows), steps=len(rows))
    assert read.complete
    assert read.times.tobytes() == run.t.tobytes()
    assert [c.name for c in read.stage.channels] == list(run.names)
    assert read.rows.tobytes() == table(run)[:, 1:].tobytes()
    assert read.meta["vehicle"] == "single_track"
    with saved.open("rb") as file:  # another program's reader, which looks at every check sum
        messages = list(mcap.NonSeekingReader(file, validate_crcs=True).iter_messages())
    with saved.open("rb") as file:
        indexed = list(mcap.SeekingReader(file, validate_crcs=True).iter_messages())
    assert len(messages) == len(indexed) > len(rows)
    film = read.film()
    assert film.duration == pytest.approx(STEPS * 0.01)


def test_a_drive_by_keys_is_recorded_and_saved_as_csv(
    opened: Open, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    page = opened(pages("late"))
    page.keyboard.press("o")
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.world.log?.count > 60")
    page.keyboard.press("o")
    with page.expect_download() as download:
        page.click("[data-save=csv]")
    download.value.save_as(tmp_path / "run.csv")
    run = Trajectory.from_csv(tmp_path / "run.csv")
    car = late()
    # Driven again by its own commands it is the same drive, delays included.
    states = table(run)[:, 1 : 1 + record.size(car.State)]
    commands = run.inputs[:-1]
    sim = sp.Simulator(car, 0.01)
    sim.reset(record.unflatten(car.State, states[0].tolist()))
    again = sim.run(commands, steps=len(commands))
    assert again.states.tobytes() == states.tobytes()


def test_a_parameter_acts_from_the_next_step_on_and_the_state_stays(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    car, rows = CARS["explicit"](), inputs_of(CARS["explicit"](), 20)
    page = opened(pages("explicit"))
    found = page.evaluate(
        """(rows) => {
        const { world } = skidpad;
        world.send({ type: "pause" });
        world.vehicle.reset();
        return rows.map((row, k) => {
          if (k === 10) world.send({ type: "param", name: "m", value: 1220 });
          world.vehicle.step(Float64Array.from(row));
          return Array.from(world.vehicle.x);
        });
        }""",
        rows,
    )
    light = sp.Simulator(car, 0.01)
    expected = [record.flatten(light.step(np.array(row))) for row in rows[:10]]
    heavy = sp.Simulator(car.with_params(m=1220.0), 0.01)
    heavy.reset(light.state)
    expected += [record.flatten(heavy.step(np.array(row))) for row in rows[10:]]
    assert np.array(found).tobytes() == np.array(expected).tobytes()


def test_parameters_are_numbers_with_ranges_and_can_be_put_back(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    page = opened(pages("explicit"))
    page.click("#all-params summary")
    page.fill("[data-param=m]", "1500")
    page.press("[data-param=m]", "Enter")
    place = record.names(CARS["explicit"]().model.Params).index("m")
    mass = f"skidpad.world.vehicle.p[{place}]"
    assert page.evaluate(mass) == 1500.0
    page.fill("[data-param=m]", "-3")
    page.press("[data-param=m]", "Enter")
    page.wait_for_function("document.querySelector('.toast.error')")
    assert "m = -3 must be greater than 0" in page.text_content(".toast.error")
    assert page.evaluate(mass) == 1500.0
    page.click("text=as at the start")
    assert page.evaluate(mass) == CARS["explicit"]().params.m
    assert page.input_value("[data-param=m]") == str(CARS["explicit"]().params.m).removesuffix(".0")


def test_a_step_that_fails_stops_the_car_and_reset_goes_on(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    page = opened(pages("explicit"))
    page.evaluate("skidpad.world.vehicle.p.fill(1e300)")
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.world.failed")
    assert "Reset to start again" in page.text_content("#banner")
    assert page.evaluate("Array.from(skidpad.world.vehicle.x).every(Number.isFinite)")
    assert page.evaluate("Number.isFinite(skidpad.poseOf('single_track').x)")
    page.keyboard.press("k")
    page.wait_for_function("document.querySelector('.toast.error')")
    page.evaluate("skidpad.world.vehicle.p.set(skidpad.world.head.vehicle.params)")
    page.keyboard.press("r")
    page.wait_for_function("skidpad.world.vehicle.time > 0.2 && !skidpad.world.failed")
    assert not page.is_visible("#banner")


def walled() -> Place:
    """A car with a wall 5 m ahead, and a rail beside it."""
    wall = Solid("a wall", ((5.0, -30.0), (6.0, -30.0), (6.0, 30.0), (5.0, 30.0)))
    rail = Solid("a rail", ((-5.0, 2.0), (40.0, 6.0)), closed=False)
    return replace(plane_place(CARS["explicit"]()), solids=[wall, rail])


def test_a_touch_brings_the_car_to_rest_where_it_was_free(opened: Open, tmp_path: Path) -> None:
    place = walled()
    write_drive_page(place, tmp_path / "walled.html")
    page = opened(tmp_path / "walled.html")
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.world.touch.name === 'a wall'")
    page.keyboard.up("ArrowUp")
    x = page.evaluate("skidpad.world.free[0]")
    front = max(corner[0] for outline in place.vehicle.geometry.outlines for corner in outline)
    assert 5.0 - front - 0.3 < x < 5.0 - front
    assert "Touched a wall" in page.text_content("#toasts")
    page.keyboard.down("ArrowDown")
    page.wait_for_function(f"skidpad.poseOf('single_track').x < {x - 0.5}")


@pytest.mark.parametrize(
    ("x", "y", "yaw", "name"),
    [
        (0.0, 0.0, 0.0, ""),
        (4.5, 0.0, 0.0, "a wall"),
        (5.5, 0.0, 1.0, "a wall"),
        (0.0, 2.4, 0.0, "a rail"),
        (0.0, 4.5, 0.0, ""),
    ],
)
def test_outlines_touch_where_they_cross_or_lie_in_each_other(
    x: float, y: float, yaw: float, name: str, touching: Callable[..., Sequence[str]]
) -> None:
    assert touching(x, y, yaw) == name


@pytest.mark.parametrize(
    ("x", "y", "occupied"), [(1.2, 1.2, True), (3.0, 1.2, False), (-50.0, 0.0, False)]
)
def test_a_body_on_an_occupied_cell_touches_it(
    x: float, y: float, occupied: bool, opened: Open, pages: Callable[[str], Path]
) -> None:
    page = opened(pages("explicit"))
    name = page.evaluate(
        """async ([x, y]) => {
        const { Ring, Surroundings } = await import("skidpad/touching.js");
        const cells = new Uint8Array(16).fill(128);
        cells[5] = 255;
        const grid = { x: 0, y: 0, resolution: 1, width: 4, height: 4, cells };
        const small = Ring.through([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]]);
        return new Surroundings([], [grid]).touched([small.at(x, y, 0.3)]);
        }""",
        [x, y],
    )
    assert name == ("an occupied cell" if occupied else "")


@pytest.fixture(scope="module")
def touching(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a box of 2 m by 1 m at a pose touches in the surroundings of `walled`."""
    path = tmp_path_factory.mktemp("touching") / "walled.html"
    write_drive_page(walled(), path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_function("window.skidpad?.world")
    yield lambda x, y, yaw: page.evaluate(
        """([x, y, yaw]) => {
        const { surroundings, parts } = skidpad.world;
        const box = parts[0].ring.constructor.through([[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]]);
        return surroundings.touched([box.at(x, y, yaw)]);
        }""",
        [x, y, yaw],
    )
    page.close()
