"""A page that drives has the numbers of the simulator, and so has what it saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.run.trajectory import Trajectory
from skidpad.view import recording
from skidpad.view.pages.drive import world_place, write_drive_page
from skidpad.world.xml import loads
from view.pages.drives import CARS, LARGEST, RECORDED, STEPS, Address, inputs_of, late, table

Open = Callable[..., Any]


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
    car = sp.vehicles.get(name)()
    path, rows = tmp_path / "page.html", inputs_of(car)
    write_drive_page(car, path)
    assert path.stat().st_size < LARGEST
    expected = table(sp.Simulator(car, 0.01).run(np.array(rows), steps=len(rows)))
    for module in ("fused", "exact"):
        page = opened(Address(path, module))
        (tmp_path / "page.csv").write_text(page.evaluate(RECORDED, rows)["csv"])
        assert table(Trajectory.from_csv(tmp_path / "page.csv")).tobytes() == expected.tobytes()


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


def test_a_reset_is_a_jump_in_a_recording(
    opened: Open, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    car = CARS["explicit"]()
    rows = inputs_of(car, 130)
    page = opened(pages("explicit"))
    page.evaluate(
        """(rows) => {
        const { world } = skidpad;
        world.send({ type: "pause" });
        world.reset();
        world.send({ type: "record", on: true });
        rows.forEach((row, k) => {
          if (k === 110) world.send({ type: "reset" });
          world.stepWith(Float64Array.from(row));
        });
        }""",
        rows,
    )
    assert any("The recording goes on" in text for text in page.locator(".toast").all_inner_texts())
    assert page.evaluate("skidpad.world.log.open")
    page.evaluate("skidpad.world.send({ type: 'record', on: false })")
    saved = tmp_path / "run.mcap"
    with page.expect_download() as download:
        page.click("[data-save=mcap]")
    download.value.save_as(saved)
    read = recording.read(saved)
    assert read.complete
    assert read.times == pytest.approx(np.arange(131) * 0.01)
    sim = sp.Simulator(car, 0.01)
    before = sim.run(np.array(rows[:110]), steps=110).states
    sim.reset()
    after = sim.run(np.array(rows[110:]), steps=20).states
    states = read.rows[:, : record.size(car.State)]
    assert states[:111].tobytes() == before.tobytes()
    assert states[111:].tobytes() == after[1:].tobytes()
    (event,) = read.meta["events"]
    assert event == {"time": pytest.approx(1.1), "reset": True}


def test_damage_to_a_saved_recording_takes_a_second_of_it(
    opened: Open, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    rows = inputs_of(CARS["explicit"](), 350)
    page = opened(pages("explicit"))
    page.evaluate(RECORDED, rows)
    saved = tmp_path / "run.mcap"
    with page.expect_download() as download:
        page.click("[data-save=mcap]")
    download.value.save_as(saved)
    whole, data = recording.read(saved), bytearray(saved.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4] = bytes(4)
    saved.write_bytes(data)
    done = recording.recover(saved)
    assert done.damaged == 1
    kept = recording.read(done.path).times
    assert set(kept) < set(whole.times)
    assert len(whole.times) - 102 <= len(kept)


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
