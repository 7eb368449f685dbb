"""Networks that drive, for the tests, and what they are by themselves in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import skidpad as sp
from skidpad.control.networks import Network, network_policy
from skidpad.control.networks.network import Dense, Gru

Array = np.ndarray
CAR = sp.vehicles.kinematic_bicycle()


def observe(x: Any) -> tuple[Any, ...]:
    """What a network sees of a car."""
    return (x.y, x.yaw, 0.1 * x.v_x - 0.8)


def act(outputs: Any) -> Any:
    """Steering and torque from two outputs."""
    return CAR.Input(0.2 * outputs[0], 0.0, 0.0, 30.0 * outputs[1], 30.0 * outputs[1])


def mlp(widths: tuple[int, ...] = (3, 5, 2), seed: int = 1, activation: str = "tanh") -> Network:
    """Dense layers of random weights."""
    rng = np.random.default_rng(seed)
    pairs = [*zip(widths[1:], widths[:-1], strict=True)]
    weights = [rng.normal(size=pair) / np.sqrt(pair[1]) for pair in pairs]
    return Network.mlp(weights, [rng.normal(size=n) for n, _ in pairs], activation)


def gru(seed: int = 2, hidden: int = 3) -> Network:
    """A dense layer, a GRU and a head of random weights."""
    rng = np.random.default_rng(seed)
    h = hidden
    shapes = [(3 * h, 4), (3 * h, h), (3 * h,), (3 * h,)]
    return Network(
        (
            Dense(rng.normal(size=(4, 3)), rng.normal(size=4), "tanh"),
            Gru(*(rng.normal(size=shape) for shape in shapes)),
            Dense(rng.normal(size=(2, h)), rng.normal(size=2), "tanh"),
        )
    )


def policy(network: Network, **options: Any) -> sp.Policy:
    """A network that drives `CAR`."""
    return network_policy(network, observe, act, **options)


def in_numpy(network: Network, values: Array, hidden: Array) -> tuple[Array, Array]:
    """Values (n,) and hidden state (h,) through the layers, by matrices; of a GRU as the text of
    PyTorch's `nn.GRU` has it, each gate by itself."""
    after = []
    for layer in network.layers:
        if isinstance(layer, Dense):
            values = ACTIVATIONS[layer.activation](layer.weight @ values + layer.bias)
            continue
        W_ir, W_iz, W_in = np.split(layer.weight_ih, 3)
        W_hr, W_hz, W_hn = np.split(layer.weight_hh, 3)
        b_ir, b_iz, b_in = np.split(layer.bias_ih, 3)
        b_hr, b_hz, b_hn = np.split(layer.bias_hh, 3)
        h, hidden = hidden[: layer.hidden], hidden[layer.hidden :]
        r = 1.0 / (1.0 + np.exp(-(W_ir @ values + b_ir + W_hr @ h + b_hr)))
        z = 1.0 / (1.0 + np.exp(-(W_iz @ values + b_iz + W_hz @ h + b_hz)))
        n = np.tanh(W_in @ values + b_in + r * (W_hn @ h + b_hn))
        values = (1.0 - z) * n + z * h
        after.append(values)
    return values, np.concatenate(after) if after else np.zeros(0)


ACTIVATIONS: dict[str, Any] = {
    "identity": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.where(x > 0.0, x, 0.0),
    "elu": lambda x: np.where(x > 0.0, x, np.expm1(x)),
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
}
"""By their definitions."""
