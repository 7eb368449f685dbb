"""Networks from ONNX files; what they compute is said by ONNX's own evaluator."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx: Any = pytest.importorskip(
    "onnx", reason="ONNX has an environment of its own: make test-learn"
)

from onnx.reference import ReferenceEvaluator  # noqa: E402

from skidpad.control.networks import Network  # noqa: E402
from skidpad.errors import InvalidValue, MissingFile  # noqa: E402

helper, FLOAT = onnx.helper, onnx.TensorProto.DOUBLE
RNG = np.random.default_rng(2)
VALUES = RNG.normal(size=(20, 3))


def written(
    path: Path, nodes: list[Any], shape: list[Any], constants: dict[str, Any], last: str = "out"
) -> Path:
    """A file with these nodes between `in` and the last value."""
    graph = helper.make_graph(
        nodes,
        "driver",
        [helper.make_tensor_value_info("in", FLOAT, shape)],
        [helper.make_tensor_value_info(last, FLOAT, None)],
        [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, path)
    return path


def node(op: str, inputs: list[str], output: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs, [output], name=f"the_{output}", **attributes)


CHAIN: dict[str, Any] = {
    "W0": RNG.normal(size=(5, 3)),
    "b0": RNG.normal(size=5),
    "W1": RNG.normal(size=(5, 4)),
    "b1": RNG.normal(size=(1, 4)),
    "W2": RNG.normal(size=(4, 2)),
}


@pytest.mark.parametrize("activation", ["Tanh", "Relu", "Elu", "Sigmoid"])
def test_a_chain_gives_what_onnx_gives(activation: str, tmp_path: Path) -> None:
    nodes = [
        node("Flatten", ["in"], "flat"),
        node("Gemm", ["flat", "W0", "b0"], "a", transB=1),
        node(activation, ["a"], "b"),
        node("MatMul", ["b", "W1"], "c"),
        node("Add", ["b1", "c"], "d"),
        node(activation, ["d"], "e"),
        node("Identity", ["e"], "f"),
        node("Gemm", ["f", "W2"], "g"),
        node("Tanh", ["g"], "out"),
    ]
    path = written(tmp_path / "chain.onnx", nodes, ["n", 3], CHAIN)
    (expected,) = ReferenceEvaluator(str(path)).run(None, {"in": VALUES})
    got = np.stack(Network.of_onnx(path)(tuple(VALUES.T)), axis=1)
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("follows", ["Y", "Y_h"])
def test_a_gru_gives_what_onnx_gives(follows: str, tmp_path: Path) -> None:
    h = 4
    constants = {
        "W": RNG.normal(size=(1, 3 * h, 3)),
        "R": RNG.normal(size=(1, 3 * h, h)),
        "B": RNG.normal(size=(1, 6 * h)),
        "h0": np.zeros((1, 1, h)),
        "one": np.array([1]),
        "head": RNG.normal(size=(h, 2)),
    }
    outputs = ["Y", "Y_h"] if follows == "Y" else ["", "Y_h"]
    gru = helper.make_node(
        "GRU", ["in", "W", "R", "B", "", "h0"], outputs, hidden_size=h, linear_before_reset=1
    )
    squeezed = [node("Squeeze", [follows, *(["one"] if follows == "Y" else [])], "s")]
    nodes = [gru, *squeezed, node("MatMul", ["s", "head"], "out")]
    path = written(tmp_path / "gru.onnx", nodes, ["t", 1, 3], constants)
    network, hidden, got = Network.of_onnx(path), (0.0,) * h, []
    for row in VALUES:
        out, hidden = network.step(row.tolist(), hidden)
        got.append(out)
    (expected,) = ReferenceEvaluator(str(path)).run(None, {"in": VALUES[:, None]})
    if follows == "Y":
        np.testing.assert_allclose(got, expected[:, 0], rtol=0.0, atol=1e-13)
    else:
        np.testing.assert_allclose(got[-1], np.ravel(expected), rtol=0.0, atol=1e-13)


WRONG = [
    ([node("Softmax", ["in"], "out")], r"'the_out' \(Softmax\).*'Softmax' is not known; all"),
    ([node("Tanh", ["in"], "out")], r"'the_out' \(Tanh\): there is no layer before it"),
    ([node("Gemm", ["in", "W0"], "a", transB=1, alpha=2.0), node("Tanh", ["a"], "out")],
     r"'the_a' \(Gemm\): alpha = 2\.0; allowed is 1\.0"),
    ([node("MatMul", ["in", "in"], "out")], r"'the_out' \(MatMul\): its input 1 \('in'\) must be"),
    ([node("Gemm", ["in", "W0"], "a", transB=1), node("Tanh", ["a"], "b"), node("Relu", ["a"], "c"),
      node("Add", ["b", "c"], "out")], r"value 'a' goes to node 'the_b' \(Tanh\), node 'the_c'"),
    ([node("Gemm", ["in", "W0"], "a", transB=1), node("Elu", ["a"], "out", alpha=0.5)],
     r"'the_out' \(Elu\): alpha = 0\.5"),
    ([node("GRU", ["in", "W0", "W0"], "out")], r"'the_out' \(GRU\): linear_before_reset = 0"),
    ([node("Identity", ["in"], "out")], "there is no layer between input and output"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "sentence"), WRONG)
def test_what_is_no_chain_of_layers_is_named(
    nodes: list[Any], sentence: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "odd.onnx", nodes, ["n", 3], CHAIN)
    with pytest.raises(InvalidValue, match=rf"odd\.onnx .*{sentence}"):
        Network.of_onnx(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"none\.onnx"):
        Network.of_onnx(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("this is no protobuf", "utf-8")
    with pytest.raises(InvalidValue, match=r"text\.onnx is no ONNX file"):
        Network.of_onnx(tmp_path / "text.onnx")


def test_what_pytorch_exports(tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch")

    class Recurrent(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.head = torch.nn.GRU(3, 4), torch.nn.Linear(4, 2)

        def forward(self, values: Any) -> Any:
            return torch.tanh(self.head(self.gru(values)[0]))

    linear, nothing = torch.nn.Linear, torch.nn.Flatten()
    dense = torch.nn.Sequential(nothing, linear(3, 8), torch.nn.Tanh(), linear(8, 2)).double()
    path, values = tmp_path / "module.onnx", torch.from_numpy(VALUES)
    for module, shown in ((dense, values), (Recurrent().double(), values[:, None])):
        with warnings.catch_warnings(), torch.no_grad():
            # The other exporter needs onnxscript.
            warnings.simplefilter("ignore")
            torch.onnx.export(module, (shown,), str(path), dynamo=False)
            expected = module(shown).numpy().reshape(len(VALUES), 2)
        network, got = Network.of_onnx(path), []
        hidden: tuple[Any, ...] = (0.0,) * network.hidden
        for row in VALUES:
            out, hidden = network.step(row.tolist(), hidden)
            got.append(out)
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-13)
