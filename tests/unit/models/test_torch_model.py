"""What the two have in common that run models by torch; the models themselves stand in test_torch."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sgi.kernel.errors import MissingExtraError
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.token_encoder.windowed_encoder import TorchTokenNetwork
from sgi.models.torch_model import configuration_bytes, digest, tokenizer_bytes, weights_bytes

KINDS = pytest.mark.parametrize("kind", [TorchEmbedder, TorchTokenNetwork])


@KINDS
def test_names_come_from_hub_or_folder(kind, tmp_path):
    assert kind("owner/name").name == "torch:owner/name"
    folder = tmp_path / "my model@2"
    folder.mkdir()
    assert kind(str(folder)).name == "torch:my%20model%402"


@KINDS
def test_without_the_extra_the_error_says_what_to_install(kind, monkeypatch):
    for package in ("sentence_transformers", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"\[torch\]"):
        _ = kind("sentence-transformers/all-MiniLM-L6-v2").fingerprint


def test_a_digest_tells_parts_from_their_sum():
    assert len({digest(parts) for parts in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""])}) == 4
    assert digest([]) == "e3b0c44298fc"


def test_where_a_model_was_kept_is_no_part_of_its_configuration():
    def of(**settings):
        return configuration_bytes(SimpleNamespace(to_dict=lambda: settings))

    assert of(layers=6, _name_or_path="here", transformers_version="5") == of(layers=6)
    assert of(layers=6) != of(layers=7)


def test_a_tokenizer_is_its_data_without_what_use_changes():
    def fast(**data):
        return SimpleNamespace(backend_tokenizer=SimpleNamespace(to_str=lambda: json.dumps(data)))

    assert tokenizer_bytes(fast(model="a", padding=1, truncation=2)) == tokenizer_bytes(fast(model="a"))
    assert tokenizer_bytes(fast(model="a")) != tokenizer_bytes(fast(model="b"))
    slow = SimpleNamespace(get_vocab=lambda: {"padding": 1, "a": 0})
    assert json.loads(tokenizer_bytes(slow)) == {"padding": 1, "a": 0}


def test_weights_are_names_kinds_and_values():
    torch = pytest.importorskip("torch")
    values = torch.tensor([[1.0, 2.0]], dtype=torch.float16)
    head, body = weights_bytes([("layer", values)])
    assert head == b"layer torch.float16 (1, 2)"
    assert np.frombuffer(body, np.float32).tolist() == [1.0, 2.0]
