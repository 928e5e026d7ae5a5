"""Finds metrics by name: built-in metrics, and metrics of installed plugins."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.short_text import metric_label, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sgi.kernel.metric import AnyMetric

GROUP = "sgi.metrics"
"""The entry-point group in which a plugin registers its metrics."""

_AGGREGATES = "sgi.metrics.aggregates"
_GROUNDING = "sgi.metrics.sgi"
_LEXICAL = "sgi.metrics.lexical"
_JUDGED = "sgi.metrics.judged"
_REFUSAL = "sgi.metrics.refusal"
_BERTSCORE = "sgi.metrics.bertscore"
_RATINGS = f"{_JUDGED}.ratings"
_CLASSES = "sgi.metrics.classification"
_CITATIONS = "sgi.metrics.citations"
_RETRIEVAL = "sgi.metrics.retrieval"
_COSTS = "sgi.metrics.costs"
_ASSERTIONS = "sgi.metrics.assertions"
_MAX_DIGITS = 10
_MAX_SHOWN = 200
_NONE_DEFINED: Mapping[str, AnyMetric] = {}
_DOCUMENT = "sgi.metrics.graphrag_names"

BUILT_IN: dict[str, str] = {
    "sgi": f"{_GROUNDING}:SemanticGroundingIndex",
    "sgi_bounded": f"{_GROUNDING}:BoundedGroundingIndex",
    "grounding": "sgi.metrics.grounding.detector:Grounding",
    "citation_recall": f"{_CITATIONS}.support:CitationRecall",
    "citation_precision": f"{_CITATIONS}.support:CitationPrecision",
    "citation_recall_judged": f"{_CITATIONS}.judged:CitationRecallJudged",
    "citation_precision_judged": f"{_CITATIONS}.judged:CitationPrecisionJudged",
    "citation_validity": f"{_CITATIONS}.markers:CitationValidity",
    "uncited_share": f"{_CITATIONS}.markers:UncitedShare",
    "quote_accuracy": f"{_CITATIONS}.quotes:QuoteAccuracy",
    "theta_rq": f"{_GROUNDING}:ResponseQuestionAngle",
    "theta_rc": f"{_GROUNDING}:ResponseContextAngle",
    "theta_qc": f"{_GROUNDING}:QuestionContextAngle",
    "semantic_similarity": "sgi.metrics.similarity:SemanticSimilarity",
    "bleu": f"{_LEXICAL}:Bleu",
    "rouge_l": f"{_LEXICAL}:RougeL",
    "rouge_l_precision": f"{_LEXICAL}:RougeLPrecision",
    "rouge_l_recall": f"{_LEXICAL}:RougeLRecall",
    "squad_em": f"{_LEXICAL}:SquadExactMatch",
    "squad_token_f1": f"{_LEXICAL}:SquadTokenF1",
    "content_f1": f"{_LEXICAL}:ContentF1",
    "completeness": "sgi.metrics.completeness:Completeness",
    "lexical_aggregate": f"{_LEXICAL}:LexicalAggregate",
    "reference_aggregate": "sgi.metrics.aggregates:ReferenceAggregate",
    "bertscore": f"{_BERTSCORE}:BertScore",
    "bertscore_precision": f"{_BERTSCORE}:BertScorePrecision",
    "bertscore_recall": f"{_BERTSCORE}:BertScoreRecall",
    "faithfulness": f"{_JUDGED}.faithfulness:Faithfulness",
    "context_precision": f"{_JUDGED}.context_precision:ContextPrecision",
    "context_recall": f"{_JUDGED}.faithfulness:ContextRecall",
    "answer_relevance": f"{_JUDGED}.answer_relevance:AnswerRelevance",
    "ragas_score": "sgi.metrics.composite:RagasScore",
    "factual_accuracy": f"{_JUDGED}.factual_accuracy:FactualAccuracy",
    "completeness_judged": f"{_JUDGED}.completeness_judged:CompletenessJudged",
    "answer_classification": f"{_CLASSES}:AnswerClassification",
    "correct_answers": f"{_CLASSES}:CorrectAnswers",
    "wrong_answers": f"{_CLASSES}:WrongAnswers",
    "dont_know_answers": f"{_CLASSES}:DontKnowAnswers",
    "recall": f"{_RETRIEVAL}:Recall",
    "precision": f"{_RETRIEVAL}:Precision",
    "hit_rate": f"{_RETRIEVAL}:HitRate",
    "mrr": f"{_RETRIEVAL}:MeanReciprocalRank",
    "ndcg": f"{_RETRIEVAL}:Ndcg",
    "map": f"{_RETRIEVAL}:MeanAveragePrecision",
    "r_precision": f"{_RETRIEVAL}:RPrecision",
    "redundancy": "sgi.metrics.redundancy:Redundancy",
    "context_entity_recall": "sgi.metrics.context_entity_recall:ContextEntityRecall",
    "question_context_similarity": "sgi.metrics.question_context_similarity:QuestionContextSimilarity",
    "refusal": f"{_REFUSAL}.refusal_detector:Refusal",
    "needless_refusal": f"{_REFUSAL}.by_answerability:NeedlessRefusal",
    "correct_refusal": f"{_REFUSAL}.by_answerability:CorrectRefusal",
    "answered_unanswerable": f"{_REFUSAL}.by_answerability:AnsweredUnanswerable",
    "answerable": f"{_JUDGED}.answerability:Answerable",
    "needless_refusal_judged": f"{_REFUSAL}.by_answerability:NeedlessRefusalJudged",
    "correct_refusal_judged": f"{_REFUSAL}.by_answerability:CorrectRefusalJudged",
    "answered_unanswerable_judged": f"{_REFUSAL}.by_answerability:AnsweredUnanswerableJudged",
    "standalone_question": "sgi.metrics.conversation.standalone:StandaloneQuestion",
    "contradicts_itself": "sgi.metrics.conversation.contradictions:ContradictsItself",
    "conversation_relevance": f"{_JUDGED}.conversation_relevance:ConversationRelevance",
    "rubric": f"{_JUDGED}.rubric:Rubric",
    "latency": f"{_COSTS}:Latency",
    "prompt_tokens": f"{_COSTS}:PromptTokens",
    "completion_tokens": f"{_COSTS}:CompletionTokens",
    "total_tokens": f"{_COSTS}:TotalTokens",
    "cost": f"{_COSTS}:Cost",
    "contains": f"{_ASSERTIONS}.text_assertions:Contains",
    "not_contains": f"{_ASSERTIONS}.text_assertions:NotContains",
    "contains_all": f"{_ASSERTIONS}.text_assertions:ContainsAll",
    "contains_any": f"{_ASSERTIONS}.text_assertions:ContainsAny",
    "equals": f"{_ASSERTIONS}.text_assertions:Equals",
    "matches": f"{_ASSERTIONS}.text_assertions:Matches",
    "not_matches": f"{_ASSERTIONS}.text_assertions:NotMatches",
    "length": f"{_ASSERTIONS}.lengths:Length",
    "latency_below": f"{_ASSERTIONS}.lengths:LatencyBelow",
    "valid_json": f"{_ASSERTIONS}.json_documents:ValidJson",
    "json_schema": f"{_ASSERTIONS}.json_documents:JsonSchema",
    "answer_relevance_rated": f"{_RATINGS}:AnswerRelevanceRated",
    "context_relevance": f"{_RATINGS}:ContextRelevance",
    "groundedness": f"{_RATINGS}:Groundedness",
    "llm_judged_overall": "sgi.metrics.composite:LlmJudgedOverall",
    "weighted_mean": f"{_AGGREGATES}:WeightedMean",
    "minimum": f"{_AGGREGATES}:Minimum",
    "ragas_faithfulness": f"{_DOCUMENT}:RagasFaithfulness",
    "ragas_context_precision": f"{_DOCUMENT}:RagasContextPrecision",
    "ragas_context_recall": f"{_DOCUMENT}:RagasContextRecall",
    "ragas_answer_relevance": f"{_DOCUMENT}:RagasAnswerRelevance",
    "factual_accuracy_percentage": f"{_DOCUMENT}:FactualAccuracyPercentage",
    "semantic_similarity_percentage": f"{_DOCUMENT}:SemanticSimilarityPercentage",
    "bert_score_f1": f"{_DOCUMENT}:BertScoreF1",
    "correct_answers_count": f"{_DOCUMENT}:CorrectAnswersCount",
    "wrong_answers_count": f"{_DOCUMENT}:WrongAnswersCount",
    "dont_know_answers_count": f"{_DOCUMENT}:DontKnowAnswersCount",
}

DEFAULTS = ("grounding", "semantic_similarity", "recall")
"""The metrics of a run that names none, as far as the data has their fields. They need no judge."""
FEATURED = (
    *("grounding", "faithfulness"),
    *("semantic_similarity", "squad_token_f1", "factual_accuracy"),
    *("recall", "mrr", "context_precision"),
    *("citation_recall", "citation_precision"),
    *("refusal", "answered_unanswerable"),
)
"""The metrics that most people need; `sgi metrics` lists them."""
NO_DEFAULT_HINT = (
    "The default metrics need a response with contexts, a response with a reference, or retrieved passages "
    "with gold passages or relevance."
)
"""The hint of the error for rows without the fields of any default metric."""

ALIASES: dict[str, str] = {
    "answer_relevancy": "answer_relevance",
    "response_relevancy": "answer_relevance",
    "contextual_recall": "context_recall",
    "llm_context_recall": "context_recall",
    "id_based_context_recall": "recall",
    "id_based_context_precision": "precision",
    "answer_similarity": "semantic_similarity",
    "bleu_score": "bleu",
    "rouge_score": "rouge_l",
}
"""Names of metrics in ragas and DeepEval → the metric with the same idea; results have its own name."""

_BY_RANK = "weights the passages by rank, as `context_precision(weighting=rank)` does"
OTHER_DEFINITIONS: dict[str, str] = {
    "contextual_precision": f"The metric of DeepEval {_BY_RANK}.",
    "context_utilization": f"The metric of ragas {_BY_RANK}.",
    "contextual_relevancy": "The metric of DeepEval is the share of relevant statements in the passages; "
    "`context_relevance` rates all passages together.",
    "context_relevancy": "The metric of ragas was the share of relevant sentences in the passages; "
    "`context_relevance` rates all passages together.",
    "hallucination": "The metric of DeepEval is the share of passages that the response contradicts; "
    "`faithfulness` and `grounding` say how much of the response is supported.",
    "factual_correctness": "The metric of ragas compares claims; `factual_accuracy` rates correctness, "
    "completeness and consistency.",
    "answer_correctness": "The metric of ragas is a mean of claims and similarity; SGI has "
    "`factual_accuracy` and `semantic_similarity`.",
    "exact_match": "`equals` compares the texts as they are, `squad_em` after SQuAD's normalisation.",
    **{
        name: f"A judge compares two answers: sgi judge duel RUN --by COLUMN --on {name}. "
        "Of one answer, `completeness` is the share of the reference that it states."
        for name in ("comprehensiveness", "diversity", "empowerment", "directness")
    },
}
"""Names of other tools' metrics that SGI defines otherwise → the difference, and what is similar."""


@cache
def metric_names() -> dict[str, str]:
    """Return ``module:class`` of each metric by its name: built-in metrics first, then metrics of plugins."""
    plugins = {point.name: point.value for point in entry_points(group=GROUP)}
    return BUILT_IN | {name: plugins[name] for name in sorted(plugins) if name not in BUILT_IN}


def metric_class(name: str) -> type[AnyMetric]:
    """Return the class of the metric with this name.

    Raises:
        UnknownNameError: no metric has this name; the error suggests similar names, or says how a metric of
            another tool differs.
        UsageError: a plugin's metric cannot be loaded.
    """
    from sgi.kernel.metric import AnyMetric  # it imports pydantic, which takes long

    names = metric_names()
    if name not in names and name in OTHER_DEFINITIONS:
        raise UnknownNameError("metric", name, hint=OTHER_DEFINITIONS[name])
    if name not in names:
        near = tuple(difflib.get_close_matches(name, names, n=2, cutoff=0.5))
        raise UnknownNameError("metric", name, near, hint="`sgi metrics` lists all metrics.")
    module, _, attribute = names[name].partition(":")
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The metric {name!r} cannot be loaded from {names[name]!r}: {error}.") from error
    if not (isinstance(kind, type) and is_dataclass(kind) and issubclass(kind, AnyMetric)):
        raise UsageError(f"{names[name]!r}, registered as metric {name!r}, is not a Metric dataclass.")
    if kind.spec.name != name:
        raise UsageError(f"{names[name]!r}, registered as metric {name!r}, has the name {kind.spec.name!r}.")
    return kind


def metric_classes() -> tuple[dict[str, type[AnyMetric]], dict[str, UsageError]]:
    """Return the classes of all metrics by name, and the errors of plugins that cannot be loaded."""
    classes: dict[str, type[AnyMetric]] = {}
    errors: dict[str, UsageError] = {}
    for name in metric_names():
        try:
            classes[name] = metric_class(name)
        except UsageError as error:
            errors[name] = error
    return classes, errors


def metric(text: str | AnyMetric, defined: Mapping[str, AnyMetric] = _NONE_DEFINED) -> AnyMetric:
    """Return the metric for a canonical string such as ``rouge_l(beta=1.2)``; return a metric unchanged.

    Args:
        text: a name, with parameters in parentheses, or a metric.
        defined: further metrics by name; see `sgi.metrics.definitions`.

    Returns:
        The metric. ``.spec`` has its range and the fields it needs; ``.canonical`` is its full name.

    Raises:
        UnknownNameError: the metric or a parameter does not exist.
        UsageError: the string cannot be parsed, or a value is out of range.

    >>> metric("rouge_l(beta=1.2)").canonical, metric("recall(k=5)").canonical
    ('rouge_l(beta=1.2)', 'recall@5')
    """
    value: object = text
    if not isinstance(value, str):
        from sgi.kernel.metric import AnyMetric

        if isinstance(value, AnyMetric):
            return value
        hint = "Pass an instance: Name()." if isinstance(value, type) else ""
        raise UsageError(f"A metric must be a name or a Metric, not {value!r}.", hint=hint)
    name, arguments = parse_metric(value)
    return build_metric(name, arguments, defined, source=value[:_MAX_SHOWN])


def _own_name(name: str) -> str:
    """Return SGI's name for a name or a class of ragas or DeepEval; other names are unchanged.

    >>> _own_name("ResponseRelevancy"), _own_name("LLMContextRecall"), _own_name("FaithfulnessMetric")
    ('answer_relevance', 'context_recall', 'faithfulness')
    """
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    plain = snake.removesuffix("_metric")
    found = ALIASES.get(plain, plain)
    return found if found in metric_names() or found in OTHER_DEFINITIONS else name


def build_metric(
    name: str, arguments: Mapping[str, Any], defined: Mapping[str, AnyMetric] = _NONE_DEFINED, *, source: str
) -> AnyMetric:
    """Return the metric with this name and these parameters; ``source`` begins the messages of errors.

    Raises:
        UnknownNameError: the metric or a parameter does not exist.
        UsageError: a value is invalid, or the metric is defined otherwise than ``definition`` says.
    """
    if name in defined:
        return _defined_metric(name, arguments, defined)
    if name not in metric_names():
        name = _own_name(name)
    if [*arguments] == ["definition"] and name not in metric_names():
        hint = "Name the file that defines it with `define`."
        raise UnknownNameError("metric", name, hint=f"It was defined in a file. {hint}")
    kind = metric_class(name)
    parameters = [field.name for field in fields(cast("Any", kind))]
    for argument in arguments:
        if argument not in parameters:
            near = tuple(difflib.get_close_matches(argument, parameters, n=2, cutoff=0.4))
            hint = f"Its parameters: {', '.join(parameters)}." if parameters else "It has no parameters."
            raise UnknownNameError(f"parameter of {name}", argument, near, hint=hint)
    absent = [parameter for parameter in kind.required_parameters() if parameter not in arguments]
    if absent:
        raise UsageError(f"{name} needs {' and '.join(absent)}: {kind.example or 'it has no default'}.")
    resolved = dict(arguments)
    for parameter in kind.metric_parameters & resolved.keys():
        if isinstance(resolved[parameter], tuple):
            resolved[parameter] = tuple(metric(part, defined) for part in resolved[parameter])
    try:
        return kind(**resolved)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{source}: {error}.") from error


def _defined_metric(
    name: str, arguments: Mapping[str, object], defined: Mapping[str, AnyMetric]
) -> AnyMetric:
    one = defined[name]
    if not arguments or arguments == one.parameters:
        return one
    if [*arguments] != ["definition"]:
        message = f"The metric {name} is defined with its parameters, so it has no others."
        raise UsageError(message, hint=f"Write {name} alone, or change its definition.")
    raise UsageError(
        f"The definition of {name} changed: it was {arguments['definition']}, it is "
        f"{one.parameters['definition']}.",
        hint="Use the earlier definition, or start a new run.",
    )


def resolve(
    metrics: Iterable[str | AnyMetric], defined: Mapping[str, AnyMetric] = _NONE_DEFINED
) -> tuple[AnyMetric, ...]:
    """Return metrics by name; raises UsageError if there is none, or one is named twice."""
    chosen = tuple(metric(name, defined) for name in metrics)
    names = [one.canonical for one in chosen]
    if not names:
        raise UsageError("No metric was named.", hint="`sgi metrics` lists them.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"The metric {metric_label(twice[0])!r} is named twice.")
    return chosen


def metric_name(canonical: str) -> str:
    """Return the name in a canonical string.

    >>> metric_name("rouge_l(beta=1.2)"), metric_name("recall@5")
    ('rouge_l', 'recall')
    """
    return canonical.partition("(")[0].partition("@")[0].strip()


def parse_metric(text: str) -> tuple[str, dict[str, object]]:
    """Split ``name@k(key=value, …)``; values are Python literals, or JSON's true, false and null."""
    head, bracket, rest = text.partition("(")
    name, at, k = head.partition("@")
    if at and k.isascii() and k.strip().isdecimal() and len(k) < _MAX_DIGITS:
        name, arguments = parse_metric(f"{name}{bracket}{rest}")
        if "k" not in arguments:
            return name, {"k": int(k), **arguments}
    elif not bracket and not at:
        return text.strip(), {}
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            keys = [word.arg for word in call.keywords]
            if all(keys) and len(set(keys)) == len(keys):
                return call.func.id, {str(word.arg): _value(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass  # the error below covers all unreadable texts
    raise UsageError(
        f"Cannot read the metric {shorten(text, _MAX_SHOWN)!r}.",
        hint="Write name, name@k, or name(key=value, …).",
    )


def _value(node: ast.expr) -> Any:
    """Return the value of a literal. Lists become tuples, since metrics are frozen; a bare word is a str."""
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "null": None}.get(node.id, node.id)
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple(_value(item) for item in node.elts)
    return ast.literal_eval(node)
