"""The group `cars` with little work: names, units and errors are there; speed is not judged."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest

from compile.lanes_harness import traced
from skidpad import vehicles
from skidpad.bench import cars, fresh_job, peers_jax, timing, work
from skidpad.bench.work import fleet_reference
from skidpad.ops import called
from skidpad.vehicles.parts import FirstOrderSlip

TINY = timing.Budget(
    vehicles=64,
    rk4_steps=20,
    radau_steps=4,
    checked=2,
    repeats=1,
    peer_seconds=0.001,
    weave=0.03,
    weave_repeats=1,
    fresh=1,
)


def light_car() -> Any:
    return vehicles.single_track(slip=FirstOrderSlip())


@pytest.fixture
def few_and_light(monkeypatch: pytest.MonkeyPatch) -> None:
    """A light car under the name of the heavy ones: which entries there are is what counts."""
    lighter = dict.fromkeys(("two_track", "full_car", "two_track.load_sensitive"), light_car)
    monkeypatch.setattr(work, "CARS", lighter)
    monkeypatch.setattr(cars, "first_call", lambda job, cache: 0.25)
    monkeypatch.setattr(cars, "CALLS", 3)
    monkeypatch.setattr(cars, "products_per_second", lambda precision: 1e10)
    monkeypatch.setattr(peers_jax, "cars", None)


def of_group(name: str) -> dict[str, str]:
    """Entries that a main car has, with their units."""
    rates = {f"fleet.{name}.rk4.{p}.threads1": "steps/s" for p in ("float64", "float32")}
    return rates | {
        f"step.{name}.rk4": "s",
        f"step.{name}.radau": "s",
        f"compile.{name}.rk4.cold": "s",
        f"compile.{name}.rk4.cached": "s",
        f"compile.{name}.radau.cold": "s",
        f"compile.{name}.radau.cached": "s",
    }


@pytest.mark.slow
@pytest.mark.usefixtures("few_and_light")
def test_every_entry_has_value_unit_error_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [*vehicles.names(), "full_car"]
    monkeypatch.setattr(vehicles, "names", lambda: known)
    entries = {entry.name: entry for entry in cars.entries(TINY)}
    simple = {f"fleet.two_track.load_sensitive.rk4.{p}.threads1" for p in ("float64", "float32")}
    units = of_group("two_track") | of_group("full_car") | dict.fromkeys(simple, "steps/s")
    assert {name: entry.unit for name, entry in entries.items()} == units
    assert all(entry.own.value > 0.0 for entry in entries.values())
    for precision, error in (("float64", 1e-4), ("float32", 1e-3)):
        entry = entries[f"fleet.two_track.rk4.{precision}.threads1"]
        assert entry.own.error is not None
        assert entry.own.error < error
        assert "quick" in entry.absent["jax"]
        details = entry.details
        assert details["limit_by_products"] == 1e10 / details["products"]
        assert details["share_of_limit"] == entry.own.value / details["limit_by_products"]
        assert details["products"] + details["divisions_and_roots"] < details["operations"]
        assert details["lfdm_11_dof"] > details["lfdm_18_dof"] > details["lfdm_24_dof"]
    assert not any(entries[name].absent for name in simple)


@pytest.mark.usefixtures("few_and_light")
def test_what_jax_did_is_a_peer_and_what_it_could_not_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def answer(name: str, precision: str, work: Any, repeats: int) -> Any:
        asked.append((name, precision, len(work.x0), work.steps, repeats))
        end = fleet_reference(work).end
        return {"steps": work.steps, "times": [2.0, 1.0], "end": end.tolist()}

    full = replace(TINY, repeats=cars.JAX_REPEATS)
    monkeypatch.setattr(peers_jax, "cars", answer)
    peers, absent = cars._jax("two_track", "float64", full)
    assert asked == [("two_track", "float64", 16, cars.JAX_STEPS, cars.JAX_REPEATS)]
    assert peers["jax"].value == 16 * cars.JAX_STEPS
    assert peers["jax"].error == 0.0
    assert not absent
    monkeypatch.setattr(peers_jax, "cars", lambda *_: "not installed")
    assert cars._jax("two_track", "float64", full) == ({}, {"jax": "not installed"})


def test_a_car_that_skidpad_does_not_have_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set(vehicles.names()) - {"full_car"}
    monkeypatch.setattr(vehicles, "names", lambda: sorted(names))
    assert set(work.available_cars()) == set(work.CARS) - {"full_car"}


def test_operations_of_a_function_count_as_often_as_it_is_called() -> None:
    def kernel(a: Any, b: Any) -> tuple[Any, ...]:
        return (a * b / (a - b),)

    def function(a: Any, b: Any) -> Any:
        return called(kernel, a, b)[0] * called(kernel, b, a + 1.0)[0]

    counts = cars.every_step(traced(function, 2), "float64")
    assert counts == {"mul": 3, "div": 2, "sub": 2, "add": 1}
    assert cars.products(counts) == 3


def test_what_parameters_decide_is_not_counted() -> None:
    counts = cars.every_step(traced(lambda a, b: a * b + a, 2, port="p"), "float64")
    assert not counts


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_the_chains_are_products_alone(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = cars.every_step(cars.chains_of_products(), precision)
    assert counts == {"fma": cars.CHAINS * cars.LENGTH}
    for name, few in (("VEHICLES", 16), ("STEPS", 3), ("REPEATS", 1)):
        monkeypatch.setattr(cars, name, few)
    assert cars.products_per_second.__wrapped__(precision) > 0.0


def test_a_first_step_of_a_car_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "CARS", {"light": light_car})
    assert fresh_job.seconds_of("rk4:light") > 0.0


@pytest.mark.slow
@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_jax_drives_the_same_way() -> None:
    job = work.car_work("two_track.load_sensitive", 8, 20, 2)
    found = peers_jax.cars("two_track.load_sensitive", "float64", job, 2)
    assert not isinstance(found, str), found
    assert len(found["times"]) == 2
    assert fleet_reference(job).error(found["end"]) < 1e-4
