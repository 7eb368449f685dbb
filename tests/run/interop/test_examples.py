"""The examples do what they say, with settings that take seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

Loader = Callable[[str], ModuleType]


def is_png(file: Path) -> bool:
    return file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_the_car_parks(example: Loader, tmp_path: Path) -> None:
    parking = example("park_with_opti")
    out = tmp_path / "park.png"
    plan, path = parking.main(["--out", str(out)])
    assert is_png(out)
    end = path[-1]
    assert np.hypot(end.x, end.y) < 0.02
    assert abs(end.yaw) < 0.01
    assert abs(end.v_x) < 0.05
    street, car = parking.Street(), parking.parking_car()
    assert parking.clearance(street, path) > 0.0
    assert np.abs(path["steer"]).max() <= car.params.steer_max
    assert np.abs(path["v_x"]).max() <= parking.SPEED + 0.05
    assert path["v_x"].min() < -0.5, "it reverses in"
    assert path.duration == pytest.approx(plan.dt * len(plan.inputs))


def test_clearance_is_the_distance_of_the_discs(example: Loader) -> None:
    parking = example("park_with_opti")
    street = parking.Street()

    at = {"x": np.array([0.3]), "y": np.array([0.0]), "yaw": np.array([0.0])}
    # The nearest discs are ours in front, at 0.3 + 0.8, and theirs at the rear, spacing - 0.8.
    expected = street.spacing - 0.8 - (0.3 + 0.8) - 2.0 * street.radius
    assert parking.clearance(street, at) == pytest.approx(expected)


@pytest.mark.slow
def test_the_misfit_of_the_fit_is_least_at_the_true_parameters(example: Loader) -> None:
    fitting = example("fit_with_jax")
    inputs = fitting.slalom(2.5)
    x0, measured = fitting.recording(inputs)
    fitted = fitting.problem(x0, inputs, measured)
    true = np.array(list(fitting.TRUE.values()))
    catalogue = np.asarray(fitted.values(np.zeros(2)))
    assert np.all(np.abs(catalogue / true - 1.0) > 0.2)
    truth = np.log(true / catalogue)
    # What is left is the noise: 2500 values with a mean square of 1, so 3 sigma are 0.085.
    least = float(fitted.misfit(truth))
    assert least == pytest.approx(1.0, abs=0.085)
    for off in ((0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.0, -0.1), -truth):
        assert float(fitted.misfit(truth + np.array(off))) > 1.1 * least


def test_the_descent_of_the_fit_comes_to_the_bottom(example: Loader, tmp_path: Path) -> None:
    """In a valley without a car: the gradient through the car takes XLA long to compile."""
    fitting = example("fit_with_jax")
    bottom, start = np.array([0.2, -0.3]), np.array([9.0, 120.0])
    steep = np.array([30.0, 4.0])
    valley = fitting.Problem(
        simulated=lambda at: np.zeros((50, 2)),
        misfit=lambda at: 1.0 + (steep * (at - bottom) ** 2).sum(),
        values=lambda at: start * np.exp(at),
    )
    fit = fitting.descend(valley)
    np.testing.assert_allclose(fit.values[0], start)
    np.testing.assert_allclose(fit.values[-1], start * np.exp(bottom), rtol=0.01)
    assert fit.misfit[-1] == pytest.approx(1.0, abs=0.01)
    out = tmp_path / "fit.png"
    fitting.figure(valley, fit, np.zeros((50, 2))).savefig(out)
    assert is_png(out)


@pytest.mark.slow
def test_the_fit_finds_the_true_parameters(example: Loader, tmp_path: Path) -> None:
    fitting = example("fit_with_jax")
    out = tmp_path / "fit.png"
    fit = fitting.main(["--out", str(out)])
    assert is_png(out)
    true = np.array(list(fitting.TRUE.values()))
    assert np.all(np.abs(fit.values[0] / true - 1.0) > 0.2), "it starts elsewhere"
    assert np.all(np.abs(fit.values[-1] / true - 1.0) < 0.01)
    # What is left is the noise: 2500 values with a mean square of 1, so 3 sigma are 0.085.
    assert fit.misfit[-1] == pytest.approx(1.0, abs=0.085)


def test_the_distance_from_the_circuit_is_that_of_the_nearest_point(example: Loader) -> None:
    mppi = example("mppi")
    circuit = mppi.Circuit()
    theta = np.linspace(0.0, 2.0 * np.pi, 100_001)
    line = np.column_stack(mppi.centre_line(circuit, theta))
    for offset in (-1.5, 0.0, 1.5):
        x, y = mppi.centre_line(circuit, np.linspace(0.1, 6.1, 40), offset)
        nearest = [np.hypot(*(line - point).T).min() for point in np.column_stack([x, y])]
        np.testing.assert_allclose(nearest, abs(offset), atol=2e-3)
        np.testing.assert_allclose(mppi.beside(circuit, x, y), offset, atol=0.06)


@pytest.mark.slow
def test_mppi_follows_the_line_and_the_plan_alone_does_not(example: Loader) -> None:
    mppi = example("mppi")
    task = mppi.Task(speed=12.0)
    few = mppi.Settings(rollouts=256, horizon=50)
    path = mppi.drive(task, few, duration=4.0).trajectory
    off = np.abs(mppi.beside(task.circuit, path["x"], path["y"]))
    assert off.max() < 0.5 * task.circuit.lane
    assert off.mean() < 0.5
    assert path["v_x"][-1] > 10.0
    # Without noise nothing is tried and nothing improved: the car stays where it is.
    blind = mppi.drive(task, few._replace(rollouts=1), duration=0.4).trajectory
    assert np.ptp(blind["y"]) == 0.0


def test_every_plan_is_at_least_as_good_as_the_one_before(example: Loader) -> None:
    mppi = example("mppi")
    task = mppi.Task()
    car = mppi.sp.vehicles.formula_student()
    state = car.State(x=task.circuit.radius * (1.0 + task.circuit.bulge), yaw=np.pi / 2, v_x=10.0)
    settings = mppi.Settings(rollouts=512, held=1)
    controller = mppi.Mppi(car, lambda x, u: mppi.cost_of(task, x, u), settings)
    best = []
    for _ in range(12):
        controller.plan(state)
        own = mppi.cost_of(task, controller.states, np.zeros((3, 2, settings.rollouts)))
        best.append(float(own[0]))  # the undisturbed plan
    assert best[-1] < 0.5 * best[0]


@pytest.mark.slow
def test_the_mppi_script_draws_its_plot(
    example: Loader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mppi.png"
    example("mppi").main(["--duration", "1", "--rollouts", "256", "--out", str(out)])
    assert is_png(out)
    assert "256 rollouts of 1.2 s" in capsys.readouterr().out
