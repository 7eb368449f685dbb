"""The checker itself: a sound model passes, and each fault is caught by the check meant for it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pytest

from skidpad import testing
from skidpad.core.model import Model
from skidpad.errors import InvalidValue
from skidpad.ops import cos, hypot, sqrt, where
from skidpad.units import m, m_s, one
from testing import cart as toy
from testing.cart import cart, derivative, forces, motion


def failing(vehicle, checks=None) -> dict[str, str]:
    return {result.name: result.detail for result in testing.check(vehicle, checks).failed}


def test_a_sound_model_passes_everything():
    report = testing.check(cart(body=toy.BODY))
    assert [result.status for result in report] == ["passed"] * len(testing.checks())
    report.raise_if_failed()


def test_a_sound_discrete_model_passes_everything():
    def update(x, u, w, p, dt):
        rate = derivative(x, u, w, p)
        return toy.State(*(a + dt * b for a, b in zip(x, rate, strict=True)))

    report = testing.check(cart(None, update=update, body=toy.BODY))
    assert [result.status for result in report] == ["passed"] * len(testing.checks())


def remembers():
    calls: list[int] = []

    def changed(x, u, w, p):
        calls.append(1)
        rate = derivative(x, u, w, p)
        return rate._replace(v_x=rate.v_x * (1.0 + 1e-10 * (len(calls) % 2)))

    return changed


def writes_into_its_argument(x, u, w, p):
    rate = derivative(x, u, w, p)
    turned = x.yaw
    turned += 1.0
    return rate


def branches_in_python(x, u, w, p):
    rate = derivative(x, u, w, p)
    return rate if x.v_x > 0.0 else rate._replace(v_x=2.0 * rate.v_x)


def pulls_to_one_side(x, u, w, p):
    rate = derivative(x, u, w, p)
    return rate._replace(steer=(u.steer + 0.01 - x.steer) / p.t_steer)


def drives_one_wheel(x, u, w, p):
    return derivative(x, u._replace(tau_left=u.tau_right, tau_right=u.tau_right), w, p)


def knows_north(x, u, w, p):
    f = forces(x, u, p)
    return motion(x, u, p, f._replace(x=f.x - p.d * (1.0 + cos(x.yaw)) * x.v_x))


def knows_a_place(x, u, w, p):
    f = forces(x, u, p)
    return motion(x, u, p, f._replace(x=f.x - p.d * x.v_x * where(x.x > 0.0 * p.l, 1.0, 0.0)))


def forgets_the_mass(x, u, w, p):
    f = forces(x, u, p)
    return motion(x, u, p, f._replace(x=f.x - 0.1 * p.m * x.v_x))


def has_no_slope_at_rest(x, u, w, p):
    f = forces(x, u, p)
    return motion(x, u, p, f._replace(x=f.x - p.d / p.v_0 * hypot(x.v_x, x.v_y) * x.v_x))


def pushes_itself(x, u, w, p):
    f = forces(x, u, p)
    return motion(x, u, p, f._replace(x=f.x + 1.1 * p.d * x.v_x))


def slides_for_ever_when_stopped(x, u, w, p):
    v2 = x.v_x * x.v_x
    return motion(x, u, p, forces(x, u, p, grip=v2 / (v2 + p.v_0 * p.v_0)))


@pytest.mark.parametrize(
    ("fault", "caught_by", "says"),
    [
        (remembers(), "purity", "called again: v_x is"),
        (writes_into_its_argument, "purity", "the call changed its argument x.yaw"),
        (pulls_to_one_side, "mirror", "in the mirror: steer is"),
        (drives_one_wheel, "mirror", "in the mirror: v_x is"),
        (knows_north, "frame", "in a turned world: v_x is"),
        (knows_a_place, "frame", "in a turned world: v_x is"),
        (forgets_the_mass, "dimensions", "cannot subtract m·kg·s^-2 and m·kg·s^-1"),
        (has_no_slope_at_rest, "gradients", "with respect to x.v_x is nan at rest"),
        (pushes_itself, "energy", "with no drive, energy grows by"),
        (slides_for_ever_when_stopped, "rest", "at standstill v_y = 0.05 does not die out"),
    ],
)
def test_a_fault_is_caught_by_its_check_alone(fault, caught_by, says):
    found = failing(cart(fault))
    assert list(found) == [caught_by]
    assert says in found[caught_by]


def test_creeping_is_caught():
    def creeps(x, u, w, p):
        f = forces(x, u, p)
        return motion(x, u, p, f._replace(x=f.x + p.d * p.v_0))

    detail = failing(cart(creeps), ["rest"])["rest"]
    assert "at rest with steering 0 rad, the rate of v_x is 0.2 m/s/s" in detail


def test_a_python_if_is_caught_on_arrays_and_symbols():
    detail = failing(cart(branches_in_python), ["purity"])["purity"]
    assert "on NumPy it raised ValueError" in detail
    assert "on CasADi it raised" in detail


def test_a_dimension_fault_names_the_line():
    detail = failing(cart(forgets_the_mass), ["dimensions"])["dimensions"]
    assert "test_checker.py, line " in detail
    assert "0.1 * p.m * x.v_x" in detail


def test_a_wrong_unit_of_an_output_is_caught():
    def outputs(x, u, w, p):
        return toy.outputs(x, u, w, p)._replace(a_x=x.v_x)

    found = failing(cart(outputs=outputs))
    assert list(found) == ["dimensions"]
    assert found["dimensions"] == "the output a_x comes out in m·s^-1, expected m·s^-2"


def test_a_wrong_energy_unit_is_caught():
    found = failing(cart(energy=lambda x, p: p.m * x.v_x * x.v_x / p.l), ["dimensions"])
    assert "the energy comes out in m·kg·s^-2, expected m^2·kg·s^-2" in found["dimensions"]


def test_faults_in_outputs_are_caught_too():
    def outputs(x, u, w, p):
        return toy.outputs(x, u, w, p)._replace(F_y_front=p.d * sqrt(x.v_x * x.v_x + x.v_y * x.v_y))

    found = failing(cart(outputs=outputs))
    assert list(found) == ["mirror", "gradients"]
    assert "F_y_front" in found["mirror"]
    assert "the gradient of the output F_y_front" in found["gradients"]


def test_a_raising_model_fails_with_what_it_raised():
    def broken(x, u, w, p):
        raise ZeroDivisionError("no tyres")

    found = failing(cart(broken))
    of_bodies = {"motion", "shape", "driving", "standing"}
    assert set(found) == set(testing.checks()) - of_bodies
    assert found["mirror"] == "raised ZeroDivisionError: no tyres"


def test_an_exempt_check_is_reported_with_its_reason_and_whether_it_is_needed():
    def model(changed):
        return cart(changed, reproduces="cartsim", exempt={"energy": "as upstream does it"})

    needed = testing.check(model(pushes_itself), ["mirror", "energy"])
    assert needed.passed
    assert needed["energy"].status == "exempt"
    assert needed["energy"].reason == "as upstream does it"
    assert needed["energy"].exemption_needed
    assert "as upstream does it" in str(needed)
    assert not testing.check(model(derivative), ["energy"])["energy"].exemption_needed


def test_checks_that_have_nothing_to_look_at_do_not_apply():
    class Rail(NamedTuple):
        s: m = 0.0
        v: m_s = 0.0

    class Empty(NamedTuple):
        """No fields."""

    model = Model(
        name="rail",
        State=Rail,
        Input=Empty,
        Params=Empty,
        derivative=lambda x, u, w, p: Rail(x.v, 0.0),
    )
    report = testing.check(model)
    assert report["energy"].status == report["frame"].status == "not applicable"
    assert report["energy"].detail == "the model gives no energy function"
    assert report.passed


def test_mirror_rule_can_be_overridden_by_name():
    odd = replace(toy.MODEL, mirror_odd={"yaw": False})
    detail = testing.check(odd, ["mirror"])["mirror"].detail
    assert "in the mirror: y" in detail


def test_energy_is_judged_only_where_all_wheels_press_on_the_road():
    class Loads(NamedTuple):
        F_z_left: one
        """Above 0 only while rolling backwards."""

    vehicle = cart(
        lambda x, u, w, p: motion(
            x,
            u,
            p,
            (f := forces(x, u, p))._replace(x=f.x + where(x.v_x > 0.0, 3.0, 0.0) * p.d * x.v_x),
        ),
        Outputs=Loads,
        outputs=lambda x, u, w, p: Loads(-x.v_x / p.v_0),
    )
    assert testing.check(vehicle, ["energy"]).passed
    in_the_air = replace(vehicle.model, outputs=lambda x, u, w, p: Loads(-1.0))
    detail = testing.check(in_the_air, ["energy"])["energy"].detail
    assert "no sampled state has all wheel loads positive" in detail


def test_names_choose_checks_and_unknown_ones_are_refused():
    report = testing.check(cart(), ["rest", "mirror"])
    assert [result.name for result in report] == ["rest", "mirror"]
    assert len(report) == 2
    with pytest.raises(InvalidValue, match="no check 'miror'; did you mean 'mirror'"):
        testing.check(cart(), ["miror"])
    with pytest.raises(InvalidValue, match="'purity'"):
        report["purity"]
    with pytest.raises(InvalidValue, match="takes a Vehicle"):
        testing.check(42)  # type: ignore[arg-type]


def test_raise_if_failed_lists_every_fault():
    with pytest.raises(testing.ConformanceError, match="cart does not conform") as caught:
        testing.check(cart(pulls_to_one_side), ["frame", "mirror"]).raise_if_failed()
    assert "mirror" in str(caught.value)
    assert "steer is" in str(caught.value)


def test_the_same_seed_gives_the_same_report_and_another_looks_elsewhere():
    checks = ["mirror", "frame", "dimensions", "gradients", "energy", "rest"]
    first, again, other = (
        testing.check(cart(pulls_to_one_side), checks, seed=n) for n in (1, 1, 2)
    )
    assert first == again
    assert first["mirror"].detail != other["mirror"].detail
