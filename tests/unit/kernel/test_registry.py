import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel import registry
from sgi.kernel.errors import SgiError, UnknownNameError, UsageError
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.registry import (
    ALIASES,
    BUILT_IN,
    OTHER_DEFINITIONS,
    metric,
    metric_class,
    metric_name,
    metric_names,
)
from sgi.kernel.sample import RESPONSE
from sgi.metrics.sgi import SemanticGroundingIndex
from support.example_metrics import example_metrics


@dataclass(frozen=True)
class Plugin(Metric):
    word: str = "a"
    items: tuple[str, ...] = ()
    spec: ClassVar[MetricSpec] = MetricSpec("plugin_of_a_test", 1, needs=RESPONSE, low=0.0, high=1.0)

    def score(self, batch, features, /):
        return Scores.of(np.zeros(len(batch)))


NOT_A_METRIC = object()


@pytest.fixture
def plugins(monkeypatch):
    """Installed plugins: name → where it lives."""

    def install(**plugin_classes):
        points = [EntryPoint(name, value, registry.GROUP) for name, value in plugin_classes.items()]
        monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])
        metric_names.cache_clear()

    yield install
    metric_names.cache_clear()


@pytest.fixture
def plugin(plugins, monkeypatch):
    """A plugin module that answers to ``sgi_plugin_of_a_test``."""
    import sys
    from types import ModuleType

    module = ModuleType("sgi_plugin_of_a_test")
    module.Plugin, module.nothing = Plugin, NOT_A_METRIC
    monkeypatch.setitem(sys.modules, module.__name__, module)
    plugins(
        plugin_of_a_test="sgi_plugin_of_a_test:Plugin",
        sgi="sgi_plugin_of_a_test:Plugin",
        no_module="sgi_no_such_module:Plugin",
        no_attribute="sgi_plugin_of_a_test:Absent",
        no_metric="sgi_plugin_of_a_test:nothing",
        no_class="json:loads",
    )


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_name_is_that_of_its_class(name):
    assert metric_class(name).spec.name == name
    example = example_metrics()[name]
    assert metric(example).canonical == example
    assert metric_name(example) == name


def test_a_metric_stays_as_it_is():
    one = SemanticGroundingIndex(passages="mean")
    assert metric(one) is one


@pytest.mark.parametrize(
    "text",
    [
        'sgi(passages="mean", sentences=false)',
        "sgi(passages='mean', sentences=False)",
        ' sgi ( passages = "mean" , sentences = false , ) ',
        'sgi(\npassages="mean",\nsentences=false)',
    ],
)
def test_ways_of_writing_the_same(text):
    assert metric(text) == SemanticGroundingIndex(passages="mean", sentences=False)


def test_empty_brackets_are_no_parameters():
    assert metric("sgi()") == metric(" sgi ") == SemanticGroundingIndex()


def test_a_name_of_another_tool_is_the_metric_with_the_same_idea_or_says_the_difference():
    assert metric("answer_relevancy(questions=2)") == metric("answer_relevance(questions=2)")
    for name, own in ALIASES.items():
        assert metric(name).canonical == metric(own).canonical
    for name, difference in OTHER_DEFINITIONS.items():
        with pytest.raises(UnknownNameError) as caught:
            metric(name)
        assert difference in str(caught.value)
        named = re.findall(r"`([^`]+)`", difference)
        assert [metric(text) for text in named]


@pytest.mark.parametrize(
    ("text", "near"), [("sgii", ("sgi",)), ("rouge", ("rouge_l",)), ("rougel", ("rouge_l",)), ("xyzzy", ())]
)
def test_an_unknown_metric_names_its_neighbours(text, near):
    with pytest.raises(UnknownNameError) as caught:
        metric(text)
    assert caught.value.suggestions[: len(near)] == near
    assert "`sgi metrics`" in str(caught.value)


UNREADABLE = [
    "sgi(",
    "sgi)",
    "sgi(passages)",
    'sgi("mean")',
    "sgi(passages=)",
    "sgi(passages=__import__('os'))",
    "sgi(passages=1+)",
    'sgi(passages=f"{1}")',
    "sgi(passages=[x for x in y])",
    'sgi(**{"passages": "mean"})',
    'sgi(*["mean"])',
    'sgi(passages="\0")',
    'sgi(passages="\ud800")',
    "sgi(passages=" + "[" * 5000 + "]" * 5000 + ")",
    "sgi(passages=" + "-" * 100_000 + "1)",
    "sgi(passages=" + "9" * 5000 + ")",
    "sgi(sentences=false), 3",
    "sgi(sentences=false); 3",
    "sgi(sentences=false)[0]",
    "sgi(sentences=false).x",
]


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read_is_a_usage_error(text):
    with pytest.raises(UsageError):
        metric(text)


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@given(st.text(max_size=30))
def test_any_text_is_a_metric_or_a_clear_error(text):
    for attempt in (text, f"sgi({text})", f"sgi(passages={text})", f"sgi(passages='{text}')"):
        try:
            assert isinstance(metric(attempt), Metric)
        except SgiError as error:
            assert str(error)


@pytest.mark.usefixtures("plugin")
def test_a_plugin_enters_by_the_same_door():
    one = metric('plugin_of_a_test(word="é", items=["a", "b"])')
    assert one == Plugin(word="é", items=("a", "b"))
    assert metric(one.canonical) == one


@pytest.mark.usefixtures("plugin")
def test_a_built_in_name_cannot_be_taken():
    assert metric_class("sgi") is SemanticGroundingIndex
    assert list(metric_names())[: len(BUILT_IN)] == list(BUILT_IN)


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_module", "cannot be loaded from 'sgi_no_such_module:Plugin'"),
        ("no_attribute", "cannot be loaded"),
        ("no_metric", "is not a Metric dataclass"),
        ("no_class", "is not a Metric dataclass"),
    ],
)
def test_a_broken_plugin_is_told_and_breaks_no_other(name, words):
    with pytest.raises(UsageError, match=words):
        metric(name)
    assert metric("sgi").spec.name == "sgi"


def test_a_bare_word_stands_for_itself():
    assert metric("sgi(passages=mean)") == metric('sgi(passages="mean")')
    assert metric("semantic_similarity(models=[minilm, true_one])").models == ("minilm", "true_one")
    assert metric("sgi(sentences=false)").sentences is False


def test_a_metric_is_named_or_given_not_its_class():
    with pytest.raises(UsageError):
        metric(metric_class("sgi"))
    with pytest.raises(UsageError, match="not 3"):
        metric(3)
