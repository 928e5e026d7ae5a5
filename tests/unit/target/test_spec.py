import json

import pytest

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.target import TargetSpec

URL = "http://127.0.0.1:8000/answer"
PRIVATE = "s3cr3t-value"


def test_a_spec_survives_its_json_and_means_the_same():
    spec = TargetSpec(where=URL, headers={"X-Key": "${KEY}"}, body={"top_k": 3}, rate=30)
    assert TargetSpec.model_validate(json.loads(spec.model_dump_json())) == spec
    python = TargetSpec(where="rag:answer")
    assert TargetSpec.model_validate(python.model_dump()) == python


@pytest.mark.parametrize("where", ["rag:answer", "pkg.rag:Pipeline.run", "räg:antwort"])
def test_names_of_functions(where):
    spec = TargetSpec(where=where)
    assert (spec.is_url, spec.fingerprint) == (False, f"python:{where}")


@pytest.mark.parametrize(
    "where", [URL, "https://host", "http://[::1]:80/a?v=2", "http://host/a?key=${RAG_KEY}"]
)
def test_urls(where):
    spec = TargetSpec(where=where)
    assert (spec.is_url, spec.fingerprint) == (True, f"http:{where}")


def test_a_misspelt_setting_is_told_the_near_one():
    with pytest.raises(UnknownNameError, match="concurency"):
        TargetSpec(where=URL, concurency=3)


def test_a_question_has_a_place_in_the_body():
    assert TargetSpec(where=URL, body={"input": {"lang": "en"}}, question_field="input.query")
    with pytest.raises(UsageError, match="question_field"):
        TargetSpec(where=URL, body={"input": "text"}, question_field="input.query")


@pytest.mark.parametrize("setting", [{"headers": {"X-A": "b"}}, {"answer_field": "text"}, {"body": {"k": 1}}])
def test_settings_of_requests_are_no_settings_of_functions(setting):
    with pytest.raises(UsageError):
        TargetSpec(where="rag:answer", **setting)


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"Authorization": f"Bearer {PRIVATE}"}},
        {"headers": {"X-API-Key": PRIVATE}},
        {"body": {"auth": {"password": PRIVATE}}},
        {"body": {"calls": [{"api_key": [PRIVATE]}]}},
        {"where": f"{URL}?v=1&api_key={PRIVATE}"},
        {"where": f"{URL}?access%5Ftoken={PRIVATE}"},
        {"where": f"{URL}?sig={PRIVATE}${{RAG_KEY}}"},
        {"headers": {"Authorization": f"Bearer {PRIVATE}${{RAG_KEY}}"}},
        {"headers": {"Authorization": f"Bearer ${{RAG_KEY}} {PRIVATE}"}},
        {"headers": {"Authorization": f"{PRIVATE} ${{RAG_KEY}}"}},
        {"body": {"api_key": [f"${{RAG_KEY}}{PRIVATE}"]}},
        {"body": {"max_tokens": PRIVATE}},
        {"where": f"http://user:{PRIVATE}@host/answer"},
        {"where": f"http://host:{PRIVATE}/answer"},
        {"headers": {"X-Note": f"{PRIVATE}\n"}},
        {"headers": f"Authorization: {PRIVATE}"},
    ],
)
def test_a_secret_is_refused_and_not_repeated(settings):
    with pytest.raises(UsageError) as caught:
        TargetSpec(**{"where": URL, **settings})
    assert PRIVATE not in str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)


@pytest.mark.parametrize("value", [12345, 0, 1.5, [12345]])
def test_a_number_can_be_a_secret(value):
    with pytest.raises(UsageError, match="api_key") as caught:
        TargetSpec(where=URL, body={"deep": {"api_key": value}})
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"body": {"max_tokens": 100, "sessionTimeout": 1.5, "use_cookies": True, "token": None, "key": ""}},
        {"where": f"{URL}?max_tokens=100&country_code=de"},
        {"headers": {"Authorization": "Bearer ${RAG_KEY}", "X-Key": "${RAG_KEY}"}},
        {"where": f"{URL}?sig=${{RAG_SIG}}&code=${{RAG_CODE}}"},
    ],
)
def test_what_is_no_secret_or_names_one_is_taken(settings):
    assert TargetSpec(**{"where": URL, **settings}).is_url


def test_the_way_out_is_a_name_of_a_variable():
    with pytest.raises(UsageError, match="X-API-Key"):
        TargetSpec(where=URL, headers={"X-API-Key": PRIVATE})
    with pytest.raises(UsageError, match=r'Authorization = "Basic \$\{NAME\}"'):
        TargetSpec(where="http://me@host/")
    assert TargetSpec(
        where=URL, headers={"X-API-Key": "${RAG_KEY}"}, body={"max_tokens": 100, "author": "me"}
    )
