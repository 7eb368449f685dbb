"""Networks by themselves: what they give, where they come from, and what they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from control.networks.drivers import ACTIVATIONS, gru, in_numpy, mlp
from skidpad.control.networks import Network
from skidpad.control.networks import network as functions
from skidpad.control.networks.network import Dense, Gru
from skidpad.errors import InvalidValue, MissingFile

VALUES = np.array([0.3, -1.2, 0.7])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_dense_layers_are_matrices_and_activations(activation: str) -> None:
    network = mlp(activation=activation)
    expected, _ = in_numpy(network, VALUES, np.zeros(0))
    np.testing.assert_allclose(network(VALUES.tolist()), expected, rtol=1e-14)
    columns = np.tile(VALUES[:, None], (1, 4))
    np.testing.assert_allclose(
        np.array(network(tuple(columns))), np.tile(expected[:, None], (1, 4)), rtol=1e-14
    )
    symbols = [ca.SX.sym(f"x{k}") for k in range(3)]
    function = ca.Function("f", symbols, list(network(symbols)))
    np.testing.assert_allclose([float(v) for v in function(*VALUES)], expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["elu", "sigmoid", "relu"])
def test_activations_far_out_are_their_limits_and_have_a_slope(name: str) -> None:
    low = {"elu": -1.0, "sigmoid": 0.0, "relu": 0.0}[name]
    high = {"elu": 800.0, "sigmoid": 1.0, "relu": 800.0}[name]
    function = functions.ACTIVATIONS[name]
    assert (function(-800.0), function(800.0)) == (low, high)
    x = ca.SX.sym("x")
    slope = ca.Function("slope", [x], [ca.jacobian(function(x), x)])
    assert np.isfinite([float(slope(-800.0)), float(slope(800.0))]).all()


def test_a_gru_is_the_formula_of_pytorch() -> None:
    network, hidden, expected = gru(), np.zeros(3), np.zeros(3)
    assert (network.inputs, network.outputs, network.hidden) == (3, 2, 3)
    for k in range(5):
        out, hidden = network.step((VALUES + 0.1 * k).tolist(), hidden)
        wanted, expected = in_numpy(network, VALUES + 0.1 * k, expected)
        np.testing.assert_allclose(out, wanted, rtol=1e-13)
        np.testing.assert_allclose(hidden, expected, rtol=1e-13)


def test_weights_are_one_vector_and_back() -> None:
    for network in (mlp(), gru()):
        vector = network.weights
        assert vector[: network.layers[0].size][-1] == network.layers[0].bias[-1]
        same = network.with_weights(vector)
        assert same.weights.tobytes() == vector.tobytes()
        assert same.step(VALUES, [0.1] * network.hidden) == network.step(
            VALUES, [0.1] * network.hidden
        )
        given = network.step(VALUES, [0.1] * network.hidden, (2.0 * vector).tolist())
        assert given == network.with_weights(2.0 * vector).step(VALUES, [0.1] * network.hidden)
    with pytest.raises(InvalidValue, match=r"weights have shape \(3,\); the network has \(32,\)"):
        mlp().with_weights([1.0, 2.0, 3.0])


def test_a_file_brings_every_bit_back(tmp_path: Path) -> None:
    for network in (mlp(activation="elu"), gru()):
        network.save(tmp_path / "driver.npz")
        again = Network.load(tmp_path / "driver.npz")
        assert again.weights.tobytes() == network.weights.tobytes()
        assert [type(a) for a in again.layers] == [type(a) for a in network.layers]
        assert again.step(VALUES, [0.1] * network.hidden) == network.step(
            VALUES, [0.1] * network.hidden
        )


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match="there_is_none"):
        Network.load(tmp_path / "there_is_none.npz")
    (tmp_path / "text.npz").write_text("no", "utf-8")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "newer.npz", meta=np.array('{"format": "skidpad-network", "version": 9}'))
    for name in ("text", "other", "newer"):
        with pytest.raises(InvalidValue, match=rf"{name}\.npz is not a network file of skidpad"):
            Network.load(tmp_path / f"{name}.npz")


def linear(name: str, n_out: int, n_in: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {f"{name}weight": rng.normal(size=(n_out, n_in)), f"{name}bias": rng.normal(size=n_out)}


def test_a_state_dict_of_a_sequential_is_read_by_its_numbers() -> None:
    layers = [linear(f"net.{k}.", 3, 3, k) for k in (0, 2, 4, 10)]
    ordered = {name: array for layer in layers for name, array in layer.items()}
    network = Network.of_state_dict(ordered, "relu", "tanh")
    assert [layer.activation for layer in network.layers if isinstance(layer, Dense)] == [
        "relu", "relu", "relu", "tanh",
    ]  # fmt: skip
    by_name = Network.of_state_dict({name: ordered[name] for name in sorted(ordered)}, "relu")
    assert by_name.weights.tobytes() == network.weights.tobytes()


def test_parts_choose_and_order_the_layers_of_a_state_dict() -> None:
    mixed = {
        "log_std": np.zeros(2),
        **linear("action_net.", 2, 4, 0),
        **linear("mlp.policy.0.", 4, 3, 1),
        **linear("mlp.value.0.", 5, 3, 2),
    }
    network = Network.of_state_dict(mixed, parts=("mlp.policy", "action_net"))
    assert [layer.outputs for layer in network.layers] == [4, 2]
    with pytest.raises(InvalidValue, match=r"'log_std' of the state dict .* allowed are .*parts="):
        Network.of_state_dict(mixed)
    with pytest.raises(InvalidValue, match=r"begins with 'mlp\.actor'; it has log_std, "):
        Network.of_state_dict(mixed, parts=("mlp.actor",))


def test_a_state_dict_of_a_gru_with_two_levels_and_a_head() -> None:
    rng = np.random.default_rng(3)
    names = {"weight_ih_l0": (6, 3), "weight_hh_l0": (6, 2), "bias_ih_l0": (6,), "bias_hh_l0": (6,),
             "weight_ih_l1": (6, 2), "weight_hh_l1": (6, 2)}  # fmt: skip
    arrays = {f"gru.{name}": rng.normal(size=shape) for name, shape in names.items()}
    network = Network.of_state_dict({**arrays, **linear("head.", 1, 2, 4)})
    assert [type(layer) for layer in network.layers] == [Gru, Gru, Dense]
    assert not np.any(network.layers[1].arrays["bias_ih"])
    expected = in_numpy(network, VALUES, np.full(4, 0.1))
    out, hidden = network.step(VALUES, [0.1] * 4)
    np.testing.assert_allclose(out, expected[0], rtol=1e-13)
    np.testing.assert_allclose(hidden, expected[1], rtol=1e-13)


ONES = np.ones((2, 3))
WRONG = [
    (lambda: Network(()), "at least 1 layer"),
    (lambda: Network((Dense(ONES, [0, 0]), Dense(ONES, [0, 0]))), "layer 1 takes 3 .* gives 2"),
    (lambda: Network((np.tanh,)), r"layer 0 .* allowed are Dense and Gru"),  # type: ignore[arg-type]
    (lambda: Network.mlp([ONES, [1.0]]), r"layer 1: .*weight has shape \(1,\); allowed is \(rows"),
    (lambda: Network.mlp([ONES], [[0.0]]), r"layer 0: .*bias has shape \(1,\); allowed is \(2,\)"),
    (lambda: Network.mlp([ONES], []), "1 weights, but 0 biases"),
    (lambda: Network.mlp([ONES], final="swish"), "'swish' is unknown; allowed are identity, tanh"),
    (lambda: Network.mlp([ONES * np.nan]), r"layer 0: .*weight\[0, 0\] is nan; it must be finite"),
    (lambda: Network.mlp([["a"]]), "must be an array of numbers"),
    (lambda: Gru(np.ones((8, 3)), np.ones((8, 2)), [0.0] * 8, [0.0] * 8), r"\(3 h, h\).*LSTM"),
    (lambda: Gru(np.ones((5, 3)), np.ones((6, 2)), [0.0] * 6, [0.0] * 6), r"allowed is \(6, 3\)"),
    (lambda: Network.of_state_dict({}), "is empty"),
    (lambda: Network.of_state_dict([1]), "is a mapping"),  # type: ignore[arg-type]
    (lambda: Network.of_state_dict({"0.bias": [1.0]}), "'0' of the state dict has a bias but no"),
    (lambda: Network.of_state_dict({"1.weight": [1.0]}), r"layer 0 \(1\).*of a normalisation"),
    (lambda: Network.of_state_dict({"g.weight_ih_l0": ONES}), "no weight_hh for level 0"),
    (lambda: Network.of_state_dict({"g.weight_ih_l0_reverse": ONES}), "bidirectional GRU"),
    (lambda: mlp()([1.0]), "takes 3 values, got 1"),
    (lambda: gru()([1.0, 2.0, 3.0]), "hidden state of 3 numbers: call step"),
    (lambda: gru().step([1.0, 2.0, 3.0], [0.0]), "has 3 numbers, got 1"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "sentence"), WRONG)
def test_what_cannot_be_a_network_is_named(make: Any, sentence: str) -> None:
    with pytest.raises(InvalidValue, match=sentence):
        make()


def test_weights_cannot_be_changed_behind_a_policy() -> None:
    own = np.ones((2, 3))
    network = Network.mlp([own])
    own[:] = 5.0
    assert network.weights[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        network.layers[0].arrays["weight"][0, 0] = 2.0
