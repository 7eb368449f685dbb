"""`gradient.as_torch`: rollouts inside PyTorch's autograd.

PyTorch is an optional extra that `make test` does not install: without it only the test of the
sentence that says so runs here. The test marked `gpu` runs on a machine with a CUDA device,
CuPy and PyTorch, which need have no CasADi: its vehicle comes from a file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.run.gradient import as_torch

PLANT = Path(__file__).parents[2] / "data" / "plants" / "four_wheel.rk4.plant"
STEPS, VEHICLES = 6, 3


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def fleet() -> sp.Fleet:
    return sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.005, integrator="radau", threads=1)


def drive(torch: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Start states and streamed controls that need gradients, of the size of their units."""
    rng = np.random.default_rng(6)
    x0 = rng.uniform(-0.2, 0.2, (VEHICLES, 11))
    x0[:, 3] = [4.0, 7.0, 11.0]
    controls = rng.uniform(-0.01, 0.01, (STEPS, VEHICLES, 5)) + x0[:, 6:7]
    controls[:, :, 1:] *= 100.0
    kwargs = {"dtype": torch.float64, **kwargs}
    return tuple(torch.tensor(a, **kwargs).requires_grad_() for a in (x0, controls))


def parameters(torch: Any, fleet: sp.Fleet) -> Any:
    row = torch.tensor(sp.core.record.flatten(fleet.plant.params), dtype=torch.float64)
    return row.repeat(VEHICLES, 1).requires_grad_()


@pytest.mark.parametrize("every", [1, 3])
def test_gradcheck(torch: Any, fleet: sp.Fleet, every: int) -> None:
    """PyTorch's own differences, for every argument."""
    rollout = as_torch(fleet)
    x0, controls = drive(torch)

    def states(x0: Any, controls: Any) -> Any:
        return rollout(x0, controls, every=every)

    assert torch.autograd.gradcheck(states, (x0, controls), atol=1e-7, rtol=1e-6)


def test_gradcheck_of_parameters_and_held_controls(torch: Any, fleet: sp.Fleet) -> None:
    rollout = as_torch(fleet)
    x0, controls = drive(torch)
    held = controls[0].detach().requires_grad_()
    relative = torch.ones((VEHICLES, 15), dtype=torch.float64, requires_grad=True)
    base = parameters(torch, fleet).detach()

    def states(held: Any, relative: Any) -> Any:
        return rollout(x0.detach(), held, base * relative, steps=STEPS)

    assert torch.autograd.gradcheck(states, (held, relative), atol=1e-6, rtol=1e-6)


def test_the_states_are_those_of_the_fleet(torch: Any, fleet: sp.Fleet) -> None:
    x0, controls = drive(torch)
    out = as_torch(fleet)(x0, controls, every=2)
    wanted = fleet.rollout(x0.detach().numpy(), controls.detach().numpy(), every=2)
    assert out.dtype == torch.float64
    assert out.requires_grad
    assert out.detach().numpy().tobytes() == wanted.tobytes()
    assert not as_torch(fleet)(x0.detach(), controls.detach()).requires_grad


def test_the_backward_pass_is_the_gradient_of_the_fleet(torch: Any, fleet: sp.Fleet) -> None:
    """A cost written in PyTorch and the same one given to the fleet."""
    x0, controls = drive(torch)
    params = parameters(torch, fleet)
    states = as_torch(fleet)(x0, controls, params)
    (states[-1, :, 1] ** 2 + states[-1, :, 3]).sum().backward()
    arrays = [t.detach().numpy() for t in (x0, controls, params)]
    _, wanted = fleet.gradient(arrays[0], arrays[1], lambda x: x.y**2 + x.v_x, params=arrays[2])
    for tensor, part in zip((x0, controls, params), wanted, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), part, rtol=1e-12, atol=1e-14)


def test_only_what_needs_gradients_is_differentiated(
    torch: Any, fleet: sp.Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    vjp = fleet.vjp

    def noted(*args: Any, **options: Any) -> Any:
        asked.append(options["wrt"])
        return vjp(*args, **options)

    monkeypatch.setattr(fleet, "vjp", noted)
    x0, controls = drive(torch)
    rollout = as_torch(fleet)
    rollout(x0.detach(), controls).sum().backward()
    rollout(x0, controls.detach(), parameters(torch, fleet)).sum().backward()
    assert asked == [("controls",), ("x0", "params")]


def test_what_all_vehicles_share_has_the_sum_of_their_gradients(
    torch: Any, fleet: sp.Fleet
) -> None:
    rollout = as_torch(fleet)
    _, controls = drive(torch)
    start = torch.tensor([0.0, 0.0, 0.1, 6.0, *[0.0] * 7], dtype=torch.float64)
    start.requires_grad_()
    rows = start.detach().repeat(VEHICLES, 1).requires_grad_()
    for x0 in (start, rows):
        (rollout(x0, controls.detach())[-1] ** 2).sum().backward()
    assert start.grad.shape == (11,)
    torch.testing.assert_close(start.grad, rows.grad.sum(dim=0))
    shared = controls[:, :1].detach().requires_grad_()
    own = shared.detach().repeat(1, VEHICLES, 1).requires_grad_()
    for inputs in (shared, own):
        (rollout(rows.detach(), inputs)[-1] ** 2).sum().backward()
    assert shared.grad.shape == (STEPS, 1, 5)
    torch.testing.assert_close(shared.grad, own.grad.sum(dim=1, keepdim=True))


def test_parameters_by_name(torch: Any, fleet: sp.Fleet) -> None:
    rollout = as_torch(fleet)
    x0, controls = (t.detach() for t in drive(torch))
    mass = torch.tensor([200.0, 230.0, 260.0], dtype=torch.float64, requires_grad=True)
    drag = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    named = rollout(x0, controls, {"m": mass, "C_r2": drag})
    table = parameters(torch, fleet).detach()
    table[:, 0] = mass.detach()
    table.requires_grad_()
    whole = rollout(x0, controls, table)
    assert torch.equal(named, whole)
    named[-1, :, 3].sum().backward()
    whole[-1, :, 3].sum().backward()
    torch.testing.assert_close(mass.grad, table.grad[:, 0])
    torch.testing.assert_close(drag.grad, table.grad[:, 8].sum())
    with pytest.raises(sp.InvalidValue, match="'mass'"):
        rollout(x0, controls, {"mass": mass})


def test_an_optimiser_finds_the_torque(torch: Any, fleet: sp.Fleet) -> None:
    rollout = as_torch(fleet)
    x0 = torch.zeros((1, 11), dtype=torch.float64)
    x0[0, 3] = 5.0
    torque = torch.zeros((), dtype=torch.float64, requires_grad=True)
    rear = torch.tensor([0.0, 0.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    optimiser = torch.optim.LBFGS([torque], max_iter=20)

    def loss() -> Any:
        optimiser.zero_grad()
        speed = rollout(x0, (100.0 * torque * rear)[None], steps=40, every=40)[-1, 0, 3]
        value = (speed - 6.0) ** 2
        value.backward()
        return value

    optimiser.step(loss)
    assert float(loss().detach()) < 1e-8


def test_no_second_derivatives(torch: Any, fleet: sp.Fleet) -> None:
    x0, controls = drive(torch)
    value = (as_torch(fleet)(x0, controls) ** 2).sum()
    (first,) = torch.autograd.grad(value, x0, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_tensors_that_do_not_fit_the_fleet(torch: Any, fleet: sp.Fleet) -> None:
    rollout = as_torch(fleet)
    x0, controls = drive(torch)
    with pytest.raises(sp.InvalidValue, match=r"x0 is torch.float32 but the fleet computes in flo"):
        rollout(x0.float(), controls)
    with pytest.raises(sp.InvalidValue, match=r"controls must be a torch.Tensor, got a ndarray"):
        rollout(x0, controls.detach().numpy())
    with pytest.raises(sp.InvalidValue, match="controls is on meta but the fleet runs on 'cpu'"):
        rollout(x0, controls.to("meta"))
    with pytest.raises(sp.InvalidValue, match=r"x0 has shape \(3, 10\)"):
        rollout(x0[:, :10], controls)
    car = as_torch(sp.Fleet(sp.vehicles.four_wheel(), dt=0.001, threads=1))
    wind = torch.zeros((VEHICLES, 4), dtype=torch.float64, requires_grad=True)
    with pytest.raises(sp.InvalidValue, match="disturbances require gradients"):
        car(x0, controls, disturbances=wind)


def test_disturbances_are_constants(torch: Any) -> None:
    fleet = sp.Fleet(sp.vehicles.four_wheel(), dt=0.001, threads=1)
    x0, controls = (t.detach() for t in drive(torch))
    wet = torch.tensor([0.0, 0.0, 0.0, 0.5], dtype=torch.float64)
    out = as_torch(fleet)(x0, controls, disturbances=wet.repeat(VEHICLES, 1))
    wanted = fleet.rollout(x0.numpy(), controls.numpy(), disturbances={"mu_scale": 0.5})
    assert out.numpy().tobytes() == wanted.tobytes()


def test_without_torch_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import skidpad as sp\n"
        "from skidpad.run.gradient import as_torch\n"
        "try:\n    as_torch(None)\n"
        "except sp.MissingExtra as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == (
        'Fleet.as_torch needs torch, which is not installed: pip install "skidpad[torch]"\n'
    )


@pytest.mark.gpu
def test_on_a_cuda_device() -> None:
    """The bits of the same fleet given NumPy arrays; tensors stay on the device."""
    torch = pytest.importorskip("torch")
    fleet = sp.Fleet.load(PLANT, device="cuda")
    rollout = as_torch(fleet)
    x0, controls = drive(torch, device="cuda")
    named = {"m": torch.full((VEHICLES,), 240.0, dtype=torch.float64, device="cuda")}
    named["m"].requires_grad_()
    out = rollout(x0, controls, named, every=2)
    assert out.is_cuda
    arrays = [t.detach().cpu().numpy() for t in (x0, controls)]
    options: dict[str, Any] = {"params": {"m": np.full(VEHICLES, 240.0)}, "every": 2}
    wanted = fleet.rollout(*arrays, **options)
    assert out.detach().cpu().numpy().tobytes() == wanted.tobytes()
    weights = torch.linspace(-1.0, 1.0, out.numel(), dtype=out.dtype, device="cuda").view_as(out)
    (weights * out).sum().backward()
    slopes = fleet.vjp(*arrays, weights.cpu().numpy(), **options)
    assert x0.grad.is_cuda
    assert x0.grad.cpu().numpy().tobytes() == slopes.x0.tobytes()
    assert controls.grad.cpu().numpy().tobytes() == slopes.controls.tobytes()
    assert named["m"].grad.cpu().numpy().tobytes() == slopes.params[:, 0].tobytes()
    with pytest.raises(sp.InvalidValue, match="x0 is on cpu but the fleet runs on 'cuda'"):
        rollout(x0.cpu(), controls)
