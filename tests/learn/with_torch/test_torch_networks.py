"""Networks of PyTorch itself, by their state dicts; `make test-learn` runs this in an environment
of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip(
    "torch", reason="PyTorch has an environment of its own: make test-learn"
)

import skidpad as sp  # noqa: E402
from control.networks.drivers import CAR, observe, policy  # noqa: E402
from skidpad.control.networks import Network  # noqa: E402

nn = torch.nn
ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU, "sigmoid": nn.Sigmoid}
VALUES = np.random.default_rng(1).normal(size=(50, 3))


@pytest.fixture(autouse=True)
def double_precision() -> Any:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def of_torch(module: Any, values: Any) -> np.ndarray:
    with torch.no_grad():
        return module(torch.from_numpy(values)).numpy()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_sequential_gives_what_pytorch_gives(name: str) -> None:
    activation = ACTIVATIONS[name]
    layers = [nn.Linear(3, 8), activation(), nn.Linear(8, 7, bias=False), activation()]
    module = nn.Sequential(*layers, nn.Linear(7, 2), nn.Tanh())
    network = Network.of_state_dict(module.state_dict(), name, "tanh")
    got = np.stack(network(tuple(VALUES.T)), axis=1)
    np.testing.assert_allclose(got, of_torch(module, VALUES), rtol=0.0, atol=1e-13)


def test_half_precision_and_gradients_are_no_obstacle() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(torch.bfloat16)
    network = Network.of_state_dict(dict(module.named_parameters()))
    expected = np.concatenate([p.detach().double().numpy().ravel() for p in module.parameters()])
    assert network.weights.tobytes() == expected.tobytes()


class Recurrent(nn.Module):
    """An encoder, a GRU of two levels and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(3, 6)
        self.gru = nn.GRU(6, 5, num_layers=2)
        self.head = nn.Linear(5, 2)

    def forward(self, values: Any) -> Any:
        out, _ = self.gru(torch.tanh(self.encoder(values)))
        return self.head(out)


def test_a_gru_gives_what_pytorch_gives_over_a_sequence() -> None:
    module = Recurrent()
    network = Network.of_state_dict(module.state_dict())
    hidden, got = (0.0,) * network.hidden, []
    for row in VALUES:
        out, hidden = network.step(row.tolist(), hidden)
        got.append(out)
    np.testing.assert_allclose(got, of_torch(module, VALUES), rtol=0.0, atol=1e-13)


def test_a_gru_cell_gives_what_pytorch_gives() -> None:
    cell, hidden = nn.GRUCell(3, 4), torch.randn(1, 4)
    network = Network.of_state_dict(cell.state_dict())
    with torch.no_grad():
        expected = cell(torch.from_numpy(VALUES[:1]), hidden).numpy()[0]
    out, after = network.step(VALUES[0].tolist(), hidden[0].tolist())
    np.testing.assert_allclose(out, expected, rtol=0.0, atol=1e-14)
    assert out == after


def test_a_module_drives_in_the_kernel_as_it_does_step_by_step() -> None:
    module = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2), nn.Tanh())
    network = Network.of_state_dict(module.state_dict(), final="tanh")
    fleet = sp.Fleet(CAR, 0.002, "heun")
    states = fleet.rollout({"v_x": 8.0, "y": 0.5}, policy=policy(network), steps=100)[:, 0]

    def drive(t: float, x: Any) -> Any:
        steer, torque = of_torch(module, np.array(observe(x))).tolist()
        return CAR.Input(0.2 * steer, 0.0, 0.0, 30.0 * torque, 30.0 * torque)

    sim = sp.Simulator(CAR, 0.002, "heun")
    sim.reset(v_x=8.0, y=0.5)
    trajectory = sim.run(drive, steps=100)
    for name, column in (("y", 1), ("yaw", 2), ("v_x", 3)):
        np.testing.assert_allclose(states[:, column], trajectory[name], rtol=0.0, atol=1e-11)


def test_the_gradient_by_the_weights_is_that_of_pytorch_through_the_rollout() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2), nn.Tanh())
    network = Network.of_state_dict(module.state_dict(), final="tanh")
    fleet, steps = sp.Fleet(CAR, 0.002, "heun"), 15
    start = np.zeros((1, 11))
    start[0, [1, 3]] = 0.5, 8.0
    closed = fleet.closed_loop(policy(network, trainable=True))
    cost = sp.Cost(terminal=lambda x: 100.0 * x.y**2 + x.yaw**2 + x.v_x)
    _, gradient = closed.gradient(start, None, cost, steps=steps, wrt="params")
    # PyTorch asks its own module at every step, and goes back through single steps of the fleet.
    advance, x = fleet.as_torch(), torch.from_numpy(start)
    for _ in range(steps):
        seen = torch.stack([x[:, 1], x[:, 2], 0.1 * x[:, 3] - 0.8], dim=1)
        out = module(seen)
        zero = torch.zeros_like(out[:, 0])
        controls = [0.2 * out[:, 0], zero, zero, 30.0 * out[:, 1], 30.0 * out[:, 1]]
        x = advance(x, torch.stack(controls, dim=1), steps=1)[-1]
    (100.0 * x[0, 1] ** 2 + x[0, 2] ** 2 + x[0, 3]).backward()
    expected = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
    got = gradient.params[0, -len(expected) :]
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_the_policy_of_stable_baselines3_comes_home() -> None:
    sb3: Any = pytest.importorskip("stable_baselines3")
    gymnasium: Any = pytest.importorskip("gymnasium")
    torch.set_default_dtype(torch.float32)
    box = gymnasium.spaces.Box
    actor: Any = sb3.common.policies.ActorCriticPolicy(
        box(-1.0, 1.0, (3,)), box(-1.0, 1.0, (2,)), lambda _: 1e-3, net_arch=[8, 8]
    )
    parts = ("mlp_extractor.policy_net", "action_net")
    network = Network.of_state_dict(actor.state_dict(), "tanh", parts=parts)
    with torch.no_grad():
        latent = actor.mlp_extractor.forward_actor(torch.from_numpy(VALUES.astype(np.float32)))
        expected = actor.action_net(latent).numpy()
    got = np.stack(network(tuple(VALUES.T)), axis=1)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-6)
