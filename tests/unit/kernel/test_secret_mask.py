from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode

import pytest

from sgi.kernel.environment import SecretMask

KEY = "sk-a+b/c==?ü<&\"'"


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u", "u:", "us:", "user:"])
@pytest.mark.parametrize("after", ["", "!", "!!", "!!!"])
def test_base64_at_any_offset_keeps_two_characters_of_the_secret_at_most(encode, before, after):
    whole = encode(f"{before}{KEY}{after}".encode()).decode()
    masked = SecretMask([KEY])(whole)
    head, stars, tail = masked.partition("***")
    assert stars
    assert (whole.startswith(head), whole.endswith(tail)) == (True, True)
    assert len(head) <= -(-len(before) * 8 // 6)
    assert len(tail.rstrip("=")) <= 1 + -(-len(after) * 8 // 6)


def test_a_longer_secret_is_masked_before_one_inside_it():
    assert SecretMask(["abcd", "Bearer abcd"])("Bearer abcd, abcd") == "***, ***"


def test_short_secrets_have_no_encoded_forms_that_other_texts_contain():
    assert SecretMask(["ab"])("6162 YWI cab") == "6162 YWI c***"


@pytest.mark.parametrize("secrets", [[], [""]])
def test_without_secrets_the_text_stays(secrets):
    assert SecretMask(secrets)("a") == "a"
