"""A neural network as the steering of LEARNED_STEER_VEL, in JAX or in PyTorch.

A steering that lags and cannot turn faster than 0.5 rad/s is driven with random commands for two
minutes. A small network learns its rate from what was recorded, is written to a file, and then
takes the place of the steering in a vehicle that is sent through a slalom.

    python examples/learned_steering.py --library torch --out learned.png
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skidpad.compat.autoware.learned import LearnedMotion
from skidpad.view.plots.style import STYLE

Array = NDArray[np.float64]
PERIOD = 0.02
"""Time of a step in s."""
TIME_CONSTANT, RATE_LIMIT = 0.2, 0.5
"""Lag in s and largest rate in rad/s of the steering to be learned."""
WIDTHS = (1, 24, 24, 1)
"""Layers of the network: from the error of the angle to its rate."""
ERROR_SCALE = 0.1
"""Error in rad that the network sees as 1."""


class SubModel:
    """The part of the interface that is the same for every sub-model here."""

    states: tuple[str, ...]
    actions: tuple[str, ...]

    def get_state_names(self) -> list[str]:
        """Signals that it writes."""
        return list(self.states)

    def get_action_names(self) -> list[str]:
        """Signals that it reads."""
        return list(self.actions)

    def load_params(self, path: str) -> None:
        """Nothing to load."""

    def reset(self) -> None:
        """Nothing to forget."""

    def dtSet(self, dt: float) -> None:
        """The nominal period in s."""
        self.dt = dt


class Kinematic(SubModel):
    """Pose of a vehicle with a wheelbase of 2.79 m whose tyres do not slip."""

    states = ("POS_X", "POS_Y", "YAW", "YAW_RATE")
    actions = ("VX", "STEER")

    def forward(self, action: list[float], state: list[float]) -> list[float]:
        """One Euler step."""
        (v, steer), (x, y, yaw, _) = action, state
        rate = v * math.tan(steer) / 2.79
        ahead = self.dt * v
        return [
            x + ahead * math.cos(yaw),
            y + ahead * math.sin(yaw),
            yaw + self.dt * rate,
            rate,
        ]


class Drive(SubModel):
    """A speed that is the commanded one."""

    states = ("VX",)
    actions = ("VX_DES",)

    def forward(self, action: list[float], state: list[float]) -> list[float]:
        """The command."""
        return action


class TrueSteering(SubModel):
    """The steering to be learned."""

    states = ("STEER",)
    actions = ("STEER_DES",)

    def forward(self, action: list[float], state: list[float]) -> list[float]:
        """One Euler step of a first-order lag whose rate is limited."""
        rate = (action[0] - state[0]) / TIME_CONSTANT
        return [state[0] + self.dt * min(max(rate, -RATE_LIMIT), RATE_LIMIT)]


class JaxSteering(TrueSteering):
    """The network, evaluated by JAX."""

    def load_params(self, path: str) -> None:
        """The weights that training wrote."""
        import jax

        with np.load(path) as file:
            weights = [file[name] for name in file.files]
        self.rate = jax.jit(lambda error: jax_network(weights, error))

    def forward(self, action: list[float], state: list[float]) -> Any:
        """One Euler step with the rate of the network; a JAX array of one number."""
        error = np.array([[action[0] - state[0]]], dtype=np.float32)
        return state[0] + self.dt * self.rate(error)


class TorchSteering(TrueSteering):
    """The network, evaluated by PyTorch."""

    def load_params(self, path: str) -> None:
        """The weights that training wrote."""
        import torch

        with np.load(path) as file:
            weights = [file[name] for name in file.files]
        self.network = torch_network()
        with torch.no_grad():
            for own, weight in zip(self.network.parameters(), weights, strict=True):
                own.copy_(torch.from_numpy(weight.T if weight.ndim == 2 else weight))

    def forward(self, action: list[float], state: list[float]) -> Any:
        """One Euler step with the rate of the network; a tensor of one number."""
        import torch

        error = torch.tensor([[action[0] - state[0]]])
        return state[0] + self.dt * self.network(error / ERROR_SCALE)


def recorded(duration: float = 120.0, seed: int = 1) -> tuple[Array, Array]:
    """Errors (n, 1) in rad and rates (n, 1) in rad/s of a steering driven with random commands."""
    random = np.random.default_rng(seed)
    steering, angle, command = TrueSteering(), 0.0, 0.0
    steering.dtSet(PERIOD)
    errors, rates = [], []
    for k in range(round(duration / PERIOD)):
        if k % 25 == 0:
            command = random.uniform(-0.6, 0.6) * random.uniform()
        after = steering.forward([command], [angle])[0]
        errors.append(command - angle)
        rates.append((after - angle) / PERIOD)
        angle = after
    return np.array(errors)[:, None], np.array(rates)[:, None]


def jax_network(weights: Sequence[Any], error: Any) -> Any:
    """Rate (n, 1) from error (n, 1); `weights` are matrices and offsets in turn."""
    import jax.numpy as jnp

    x = error / ERROR_SCALE
    for matrix, offset in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = jnp.tanh(x @ matrix + offset)
    return x @ weights[-2] + weights[-1]


def train_jax(errors: Array, rates: Array, iterations: int) -> list[Array]:
    """Weights after full-batch Adam (Kingma and Ba, ICLR 2015)."""
    import jax
    import jax.numpy as jnp

    given, wanted = (jnp.asarray(each, jnp.float32) for each in (errors, rates))
    random = np.random.default_rng(0)
    weights: list[Any] = []
    for inputs, outputs in pairwise(WIDTHS):
        weights.append(jnp.asarray(random.normal(size=(inputs, outputs)) / np.sqrt(inputs)))
        weights.append(jnp.zeros(outputs))

    def loss(at: Any) -> Any:
        return jnp.mean((jax_network(at, given) - wanted) ** 2)

    @jax.jit
    def step(k: Any, at: Any, mean: Any, square: Any) -> Any:
        slope = jax.grad(loss)(at)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, slope)

        def moved(x: Any, m: Any, s: Any) -> Any:
            return x - 0.01 * (m / (1 - 0.9**k)) / (jnp.sqrt(s / (1 - 0.999**k)) + 1e-8)

        return jax.tree.map(moved, at, mean, square), mean, square

    mean, square = ([jnp.zeros_like(weight) for weight in weights] for _ in range(2))
    for k in range(1, iterations + 1):
        weights, mean, square = step(float(k), weights, mean, square)
    return [np.asarray(weight) for weight in weights]


def torch_network() -> Any:
    """The same network of layers of PyTorch, from scaled error to rate."""
    from torch import nn

    pairs = list(pairwise(WIDTHS))
    layers = [layer for pair in pairs for layer in (nn.Linear(*pair), nn.Tanh())]
    return nn.Sequential(*layers[:-1])


def train_torch(errors: Array, rates: Array, iterations: int) -> list[Array]:
    """Weights after full-batch Adam, in the order and shapes of the JAX network."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)  # with so little work, threads only wait for each other
    network = torch_network()
    given = torch.tensor(errors / ERROR_SCALE, dtype=torch.float32)
    wanted = torch.tensor(rates, dtype=torch.float32)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(iterations):
        optimiser.zero_grad()
        torch.mean((network(given) - wanted) ** 2).backward()
        optimiser.step()
    return [weight.detach().numpy().T for weight in network.parameters()]


class Library(NamedTuple):
    """How one library trains, and the sub-model that evaluates the result."""

    train: Callable[[Array, Array, int], list[Array]]
    sub_model: str


LIBRARIES = {
    "jax": Library(train_jax, "JaxSteering"),
    "torch": Library(train_torch, "TorchSteering"),
}


def vehicle(steering: str, params: str = "") -> LearnedMotion:
    """A vehicle with this steering. The sub-models are found in this file, by its name."""
    return LearnedMotion(
        model_module_paths=[Path(__file__).stem] * 3,
        model_param_paths=["", params, ""],
        model_class_names=["Kinematic", steering, "Drive"],
        period=PERIOD,
    )


def slalom_command(t: float) -> float:
    """Commanded tyre angle in rad at a time in s: turns that get sharper."""
    return 0.02 * t * math.sin(2.0 * math.pi * 0.4 * t)


def slalom(car: LearnedMotion, duration: float = 12.0) -> Array:
    """Motion (n, 8) through the slalom, at 8 m/s."""
    motions = []
    for k in range(round(duration / PERIOD)):
        car.set_input([8.0, slalom_command(k * PERIOD)])
        car.step(PERIOD)
        motions.append(car.motion)
    return np.array(motions)


def figure(true: Array, learned: Array) -> Any:
    """Tyre angle and path of the true steering and of the network."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    t = PERIOD * np.arange(1, len(true) + 1)
    with rc_context(STYLE):
        fig = Figure(figsize=(12.0, 4.0), layout="constrained")
        angle, path = fig.subplots(1, 2)
        for run, label, style in ((true, "true", "-"), (learned, "learned", "--")):
            angle.plot(t, run[:, 7], style, label=label)
            path.plot(run[:, 0], run[:, 1], style, label=label)
        angle.set(title="Tyre angle [rad]", xlabel="t [s]")
        path.set(title="Path: y [m] over x [m]", xlabel="x [m]")
        angle.legend()
    return fig


class Comparison(NamedTuple):
    """Motions (n, 8) of the same slalom with both steerings."""

    true: Array
    learned: Array


def main(arguments: Sequence[str] | None = None) -> Comparison:
    """Record, train, drive, print the figures and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", choices=LIBRARIES, default="jax")
    parser.add_argument("--iterations", type=int, default=600)
    parser.add_argument("--out", default="learned.png")
    options = parser.parse_args(arguments)
    library = LIBRARIES[options.library]
    weights = library.train(*recorded(), options.iterations)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "steering.npz"
        np.savez(file, *weights)
        runs = Comparison(
            slalom(vehicle("TrueSteering")), slalom(vehicle(library.sub_model, str(file)))
        )
    angle = np.abs(runs.learned[:, 7] - runs.true[:, 7]).max()
    distance = np.hypot(*(runs.learned - runs.true)[:, :2].T).max()
    print(f"tyre angle   off by {1e3 * angle:.1f} mrad at most, of {runs.true[:, 7].max():.2f} rad")
    print(f"position     off by {distance:.2f} m at most, over {runs.true[-1, 0]:.0f} m")
    figure(*runs).savefig(options.out, dpi=150)
    print(f"plot         {options.out}")
    return runs


if __name__ == "__main__":
    main()
