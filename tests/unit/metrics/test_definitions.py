"""Metrics defined in tables score like the metrics that they name; bad files are refused."""

import json

import pytest

import sgi
from sgi.kernel.errors import SgiError, UsageError
from sgi.kernel.judged_metric import JudgedMetric
from sgi.kernel.registry import metric, resolve
from sgi.metrics.definitions import MAX_DEFINITIONS, MAX_FILE, DefinedMetric, Definitions, read_metrics
from sgi.testing import check_metric
from support.judged_metrics import RuleJudge
from support.scripted import ROW

TABLES = {
    "quality": {"metric": "weighted_mean", "of": ["safe", "rouge_l"], "weights": [2, 1]},
    "safe": {"metric": "minimum", "of": ["content_f1", "squad_em"], "description": "Both agree."},
    "rude": {"metric": "contains", "text": "fool", "higher_is_better": False},
    "judged": {"metric": "minimum", "of": ["faithfulness", "safe"]},
    "first": {"metric": "recall@5"},
}


def test_a_definition_scores_like_its_metric():
    defined = read_metrics(TABLES)
    plain = 'weighted_mean(of=["minimum(of=[\\"content_f1\\", \\"squad_em\\"])", "rouge_l"], weights=[2, 1])'
    result = sgi.evaluate(
        [ROW], [defined["quality"], plain, defined["judged"]], judge=RuleJudge(), cache=False
    )
    one, other, judged = result.values()
    assert one.values == pytest.approx(other.values)
    assert one.details[0]["parts"].keys() == {"safe", "rouge_l"}
    assert judged.ok.all()


@pytest.mark.parametrize("name", ["quality", "safe", "rude", "judged"])
def test_a_definition_keeps_the_promises_of_a_metric(name):
    check_metric(read_metrics(TABLES)[name])


def test_the_definition_is_part_of_the_canonical_string():
    definitions = Definitions.of(TABLES)
    quality = definitions.metrics["quality"]
    assert quality.canonical == metric(quality.canonical, definitions.metrics).canonical
    assert resolve(["quality"], definitions.metrics) == (quality,)
    assert quality.formula == (
        'weighted_mean(of=["minimum(of=[\\"content_f1\\", \\"squad_em\\"])", "rouge_l"], weights=[2.0, 1.0])'
    )
    for changed in (
        {"weights": [1, 1]},
        {"of": ["rouge_l", "safe"]},
        {"higher_is_better": False},
    ):
        other = read_metrics(TABLES | {"quality": TABLES["quality"] | changed})["quality"]
        assert other.canonical != quality.canonical
    described = read_metrics(TABLES | {"quality": TABLES["quality"] | {"description": "New words."}})
    assert described["quality"] == quality


def test_a_change_of_an_inner_definition_changes_the_outer_one():
    inner = TABLES["safe"] | {"of": ["content_f1"]}
    assert read_metrics(TABLES | {"safe": inner})["quality"] != read_metrics(TABLES)["quality"]


def test_the_name_and_the_direction_are_those_of_the_table():
    defined = read_metrics(TABLES)
    assert (defined["rude"].spec.name, defined["rude"].spec.higher_is_better) == ("rude", False)
    assert defined["rude"].formula == 'contains(text="fool"), reversed'
    assert defined["first"].metric.canonical == "recall@5"
    assert isinstance(defined["judged"], JudgedMetric)
    assert not isinstance(defined["quality"], JudgedMetric)


def test_expressions_may_use_definitions():
    defined = read_metrics(TABLES)
    aggregate = metric('minimum(of=["quality", "squad_em"])', defined)
    assert aggregate.of[0] == defined["quality"]
    assert metric(aggregate.canonical, defined) == aggregate
    used = Definitions.used_by([aggregate, "rouge_l"])
    assert used.tables.keys() == {"safe", "quality"}


def test_a_run_stores_its_definitions(tmp_path):
    data, db = tmp_path / "rows.jsonl", tmp_path / "runs.db"
    data.write_text(json.dumps({"id": "1", "response": "Ida.", "reference": "Ida Berg"}))
    run = sgi.run(data, [read_metrics(TABLES)["quality"]], db=db, name="one")
    assert run.record.spec["define"].keys() == {"safe", "quality"}
    assert sgi.gate("one", "quality>=0", db=db).checks[0].metric == "quality"
    again = sgi.run(data, ["rude"], define=TABLES, db=db)
    assert again.record.metrics == (read_metrics(TABLES)["rude"].canonical,)


def test_an_unknown_definition_names_the_way_out():
    canonical = read_metrics(TABLES)["quality"].canonical
    with pytest.raises(UsageError, match=r"Unknown metric 'quality'\. It was defined in a file"):
        metric(canonical)
    changed = read_metrics({"quality": {"metric": "rouge_l"}})
    with pytest.raises(UsageError, match="The definition of quality changed: it was"):
        metric(canonical, changed)
    with pytest.raises(UsageError, match="quality is defined with its parameters"):
        metric("quality(weights=[1])", changed)
    with pytest.raises(UsageError, match="different definitions of quality"):
        Definitions.used_by([changed["quality"], read_metrics(TABLES)["quality"]])


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[quality", "is not TOML"),
        ("quality = 3", r"\[quality\]: it is not a table, but '3'"),
        ("[quality]\nof = []", r"\[quality\]: metric: expected the name of a metric, found nothing"),
        ("[quality]\nmetrik = 'rouge_l'", "It has the key metrik"),
        ("[quality]\nmetric = 3", "metric: expected the name of a metric, found '3'"),
        ("[quality]\nmetric = 'rouge_x'", r"\[quality\]: Unknown metric 'rouge_x'. Did you mean"),
        ("[quality]\nmetric = 'rouge_l('", r"\[quality\]: metric: Cannot read the metric"),
        (
            "[quality]\nmetric = 'rouge_l'\nbetta = 2",
            "Unknown parameter of rouge_l 'betta'. Did",
        ),
        ("[quality]\nmetric = 'rouge_l'\nbeta = -1", r"\[quality\]: rouge_l: beta"),
        ("[quality]\nmetric = 'rouge_l(beta=2)'\nbeta = 2", "beta: the key repeats a parameter"),
        ("[quality]\nmetric = 'weighted_mean'", r"\[quality\]: weighted_mean needs of: weighted_mean\(of="),
        ("[quality]\nmetric = 'minimum'\nof = ['sgi']", "sgi has no scale from worst to best"),
        ("[quality]\nmetric = 'minimum'\nof = ['quality']", "in a cycle: quality → quality"),
        (
            "[a]\nmetric = 'minimum'\nof = ['b']\n[b]\nmetric = 'minimum'\nof = ['rouge_l', 'a']",
            r"\[a\]: the definitions use each other in a cycle: a → b → a",
        ),
        ("[a]\nmetric = 'b'\n[b]\nmetric = 'rouge_l'", "metric: b is a definition, not a metric"),
        ("[a]\nmetric = 'rouge_l'\ndescription = 3", "description: expected a text, found '3'"),
        ("[a]\nmetric = 'rouge_l'\ndescription = '''a\nb'''", "description: it has characters that cannot"),
        ("[a]\nmetric = 'rouge_l'\nhigher_is_better = 'no'", "higher_is_better: expected true or false"),
        ("[a]\nmetric = 'rouge_l'\nbeta = 1979-05-27", "beta: expected a text, a number"),
        ("[a]\nmetric = 'rouge_l'\nbeta = nan", "beta: expected a text, a number"),
        ("[a]\nmetric = 'rouge_l'\nbeta = 99999999999999999999999", "a whole number has more than 64 bits"),
        (
            "[rouge_l]\nmetric = 'squad_em'",
            "a metric of SGI has this name. Choose another: my_rouge_l",
        ),
        ("[label]\nmetric = 'squad_em'", "this name is reserved"),
        ("[calibrated]\nmetric = 'squad_em'", "this name is reserved"),
        ("[__class__]\nmetric = 'squad_em'", "it is not a name for a metric"),
        ('["a\\u001b[31m"]\nmetric = "squad_em"', "it is not a name for a metric"),
        ("['a b']\nmetric = 'squad_em'", "it is not a name for a metric"),
        ("['']\nmetric = 'squad_em'", "it is not a name for a metric"),
        ("[Quality]\nmetric = 'squad_em'", "it is not a name for a metric"),
        (f"[{'a' * 61}]\nmetric = 'squad_em'", "it is not a name for a metric"),
        ("a" + ".a" * 200 + " = 1", "it is nested deeper than 100 levels"),
        ("a = " + "[" * 5000 + "]" * 5000, "it is nested too deeply"),
        ("#" * (MAX_FILE + 1), "is larger than 1 MB"),
        ("\n".join(f"[m{n}]\nmetric = 'squad_em'" for n in range(MAX_DEFINITIONS + 1)), "it has 201 tables"),
        (
            "[m0]\nmetric = 'rouge_l'\n"
            + "\n".join(f"[m{n}]\nmetric = 'minimum'\nof = ['m{n - 1}']" for n in range(1, 100)[::-1]),
            "more than 10 definitions use each other in a chain",
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_place(tmp_path, toml, message):
    path = tmp_path / "metrics.toml"
    path.write_text(toml, encoding="utf-8")
    with pytest.raises(SgiError, match=message) as raised:
        read_metrics(path)
    assert str(raised.value).startswith(str(path))
    assert str(raised.value).isprintable()


def test_other_values_than_tables_are_refused():
    with pytest.raises(UsageError, match="expected a file or tables of metrics, found '3'"):
        Definitions.of(3)
    with pytest.raises(UsageError, match="cannot be read"):
        read_metrics("nowhere.toml")


def test_definitions_are_metrics_with_the_needs_of_their_metrics():
    nli = read_metrics({"supported": {"metric": "minimum", "of": ['grounding(nli="a/model")']}})["supported"]
    assert isinstance(nli, DefinedMetric)
    assert nli.entailment_needs.entailment_model == "a/model"
    near = read_metrics({"near": {"metric": "minimum", "of": ["semantic_similarity"]}})["near"]
    prepared = near.prepare(sgi.Batch.of([ROW]))
    assert near.texts_by_embedder(prepared, ("m",)) == {"m": (ROW.response, ROW.reference)}
