"""The kinds of the passages that systems retrieve and cite."""

from dataclasses import replace

from sgi.analysis.passage_kinds import NO_ANSWER, passage_kinds
from sgi.analysis.systems import systems_in_run
from sgi.kernel.sample import Sample
from support.scored_runs import column, run_of


def answers(method, *rows):
    return [
        Sample(id=f"{method}{place}", question=f"q{place}", metadata={"method": method} | more, **fields)
        for place, (fields, more) in enumerate(rows)
    ]


def test_passages_and_citations_are_counted_by_kind():
    mixed = {"contexts": ("a b c", "d", "e f"), "context_ids": ("Reports:2", "report:7", "source:1")}
    local = answers(
        "local",
        (mixed | {"response": "Old [Data: Reports (2, 9); Sources (1)]. Red [Data: Report (2)]."}, {}),
        ({"contexts": ("x y",), "context_ids": ("source:1",), "response": "Old."}, {}),
        ({"response": "Old."}, {"absent": {"contexts": "the file has no context data"}}),
        ({"contexts": (), "response": "Old."}, {}),
    )
    plain = ({"contexts": ("u v", "w"), "response": "Old [2]."}, {})
    basic = answers("basic", plain, plain)
    scores = column("a", [0.5] * (len(local) + len(basic)))
    systems = systems_in_run(run_of([*local, *basic], scores), "method")
    first, second = passage_kinds(systems)
    assert (first.system, first.rows, first.citing) == ("local", 2, 1)
    assert first.without == {
        "the sample has no contexts (the file has no context data)": 1,
        "no passage was retrieved": 1,
    }
    assert first.passages == {"report": 1.0, "source": 1.0}
    assert first.words == {"report": 2.0, "source": 2.0}
    assert first.cited == {"report": 0.5, "source": 0.5}
    assert second.without == {NO_ANSWER: 2}
    assert (second.passages, second.words, second.cited) == (
        {"passage": 2.0},
        {"passage": 3.0},
        {"passage": 1.0},
    )


def test_a_run_without_texts_or_kinds_has_no_table():
    rows = [*answers("a", ({"contexts": ("x",)}, {})), *answers("b", ({"contexts": ("x",)}, {}))]
    assert passage_kinds(systems_in_run(run_of(rows, column("m", [0.5, 0.6])), "method")) == ()
    kinds = {"contexts": ("x",), "context_ids": ("report:1",)}
    rows = [*answers("a", (kinds, {})), *answers("b", (kinds, {}))]
    systems = systems_in_run(run_of(rows, column("m", [0.5, 0.6])), "method")
    bare = replace(systems, runs=tuple(replace(run, read_samples=None) for run in systems.runs))
    assert passage_kinds(bare) == ()
