from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.signature import canonical_json, digest, package_version, run_signature

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abcdef", max_size=4), values, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value, random):
    keys = list(value)
    random.shuffle(keys)
    assert canonical_json({key: value[key] for key in keys}) == canonical_json(value)


@given(values, values)
def test_different_values_have_different_bytes(left, right):
    assert (canonical_json(left) == canonical_json(right)) == (repr_of(left) == repr_of(right))


def repr_of(value):
    """Tells True from 1 and an empty object from an empty list, and ignores the order of keys."""
    if isinstance(value, dict):
        return {key: repr_of(item) for key, item in value.items()}
    return [repr_of(item) for item in value] if isinstance(value, list) else repr(value)


def test_text_is_utf8_and_not_escaped():
    assert canonical_json({"é": "東"}) == '{"é":"東"}'.encode()


@pytest.mark.parametrize("bad", [{1}, object(), b"bytes"])
def test_what_json_does_not_know_is_refused(bad):
    with pytest.raises(TypeError):
        canonical_json(bad)


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_parts_cannot_run_into_one_another(left, right):
    assert (digest(*left) == digest(*right)) == (left == right)


def test_digests_never_change():
    assert digest().hex() == "cae66941d9efbd404e4d88758ea67670"
    assert digest(b"a", b"bc").hex() == digest(b"a", b"bc").hex() != digest(b"ab", b"c").hex()
    assert len(digest(b"", size=8)) == 8


def test_a_signature_says_what_made_the_numbers():
    signature = run_signature(["a@1", "b@2"], n=3, judge="j")
    assert signature == f"sgi:1|emb:a@1+b@2|judge:j|n:3|v:{version('semantic-grounding-index')}"
    assert run_signature([], n=0).startswith("sgi:1|emb:-|judge:-|n:0|")
    assert package_version() == version("semantic-grounding-index")
