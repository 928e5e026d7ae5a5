"""The pages on which people label answers."""

from __future__ import annotations

import html
import math
import re

import anyio
import numpy as np
import pytest

from sgi.analysis.audit.audit import audit_labels
from sgi.analysis.audit.label_sample import label_order
from sgi.analysis.labelling import labelling
from sgi.api import agree
from sgi.engine.run_options import RunOptions
from sgi.engine.runner import start_run
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UsageError
from sgi.store.evaluations import sample_evaluation
from sgi.store.human_labels import run_labels, store_label
from sgi.store.label_consensus import HumanLabel, text_version
from sgi.store.run_queries import find_run
from sgi_web.routes.label_pages import LabelQueue
from support.kept_runs import rows, write_rows


def _form(text):
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text))


def _post(client, run, form):
    return client.post(f"/runs/{run}/label", data=form, follow_redirects=True)


def test_a_person_labels_every_row_blind_and_once(client, site):
    record = find_run(site.database, "after")
    seen, page = [], client.get("/runs/after/label").text
    while "No row is left" not in page:
        form = _form(page.split("<main", 1)[1])
        seen.append(form["row"])
        assert "0." not in re.sub(r"<[^>]+>", "", page)  # no score
        assert "after" not in re.sub(r"<[^>]+>", "", page)  # no name of the run
        answer = ("yes", "no", "skip")[len(seen) % 3]
        page = _post(client, record.id, form | {"answer": answer, "comment": f"<b>{len(seen)}"}).text
    labels = run_labels(site.database, record)
    assert sorted(seen) == sorted(labels.ids)
    assert labels.sampled.all()
    values = [one.value for (one,) in labels.current.values()]
    assert (values.count(True), values.count(False), values.count(None)) == (20, 20, 20)
    overview = client.get("/runs/after/labels").text
    assert "People have labelled 40 of 60 rows in the dashboard; 40 of them are a random sample." in overview
    assert "without a label (skipped, or no majority): 20." in overview
    assert "corrected mean" in overview
    assert client.get("/runs/after/labels.csv").text.count("\r\n") == 61
    earlier = client.get("/runs/after/label", params={"row": seen[0]}).text
    assert "&lt;b&gt;1" in earlier
    assert 'value="no" data-key="n" aria-pressed="true"' in earlier


def test_uncertain_rows_come_first(client, site):
    record = find_run(site.database, "after")
    name = record.metrics[0]
    page = client.get("/runs/after/label", params={"by": name}).text
    first = _form(page.split("<main", 1)[1])
    next_page = _post(client, record.id, first | {"answer": "yes"})
    assert _form(next_page.text.split("<main", 1)[1])["by"] == name
    assert client.get("/runs/after/label", params={"by": "no_such_metric"}).status_code == 400


def test_the_order_for_an_audit_alternates_between_the_verdicts(client, site):
    record = find_run(site.database, "after")
    run = read_run(site.database, record)
    name = next(metric for metric, column in run.metrics.items() if column.in_unit_range)
    assert f'value="audit:{name}"' in html.unescape(client.get("/runs/after/labels").text)
    page = client.get("/runs/after/label", params={"by": f"audit:{name}"}).text
    seen = []
    for _ in range(12):
        form = _form(page.split("<main", 1)[1])
        seen.append(form["row"])
        page = _post(client, record.id, form | {"answer": "yes"}).text
    assert seen == [run.ids[row] for row in label_order(run, name)[:12]]
    audit = audit_labels(site.database, record, name, "people")[0]
    assert (audit.counts.labelled, set(audit.used)) == (12, set(seen))


def test_rows_drawn_by_uncertainty_have_a_probability_and_weight_the_means(client, site, tmp_path):
    record = find_run(site.database, "after")
    name = record.metrics[0]
    page = client.get("/runs/after/label", params={"by": f"people:{name}"}).text
    for number in range(25):
        form = _form(page.split("<main", 1)[1])
        assert form["by"] == f"people:{name}"
        page = _post(client, record.id, form | {"answer": "no" if number % 3 else "yes"}).text
    state = labelling(site.database, record)
    assert state.drawn is not None
    assert (state.drawn.metric, state.drawn.labelled) == (name, 25)
    chances = state.drawn.probabilities[np.isfinite(state.drawn.probabilities)]
    assert 0.05 < chances.min() < chances.max() <= 1
    overview = client.get("/runs/after/labels").text
    assert "25 of them were drawn by the uncertainty of" in overview
    assert "corrected by the labels of the rows drawn by uncertainty" in overview
    assert client.get("/runs/after/labels.csv").text.splitlines()[0].endswith("created_at,probability")
    report = agree(record.id, f"people:{name}", db=tmp_path / "sgi.db")
    (metric,) = (one for one in report.metrics if one.metric.startswith("content_f1"))
    truth = np.array([math.nan if value is None else value for value in state.drawn.values])
    known = np.isfinite(truth)
    weighted = np.average(truth[known], weights=1 / state.drawn.probabilities[known])
    assert metric.corpus.labels.value == pytest.approx(weighted)
    assert metric.corpus.sampling is None
    assert "drawn with known probabilities" in " ".join(report.notes)
    with pytest.raises(UsageError, match="is drawn by the uncertainty of"):
        agree(find_run(site.database, "before").id, f"people:{name}", db=tmp_path / "sgi.db")


def test_a_label_of_another_text_or_without_the_form_token_is_refused(client, site):
    record = find_run(site.database, "after")
    form = _form(client.get("/runs/after/label").text.split("<main", 1)[1]) | {"answer": "yes"}
    stale = _post(client, record.id, form | {"version": "0" * 32})
    assert stale.status_code == 400
    assert "has changed since you read it" in stale.text
    assert _post(client, record.id, form | {"form_key": "x"}).status_code == 403
    for bad in ({"answer": "maybe"}, {"row": "no such row"}, {"comment": "x" * 2001}):
        assert _post(client, record.id, form | bad).status_code in {400, 404}
    assert not run_labels(site.database, record).current


def test_a_decision_settles_a_dispute(client, site):
    record = find_run(site.database, "after")
    sample = sample_evaluation(site.database, record, run_labels(site.database, record).ids[5]).sample
    for author, value in (("<i>Ada", True), ("Bo", False)):
        store_label(
            site.database, record.dataset_name, HumanLabel(sample.id, text_version(sample), author, value)
        )
    assert "&lt;i&gt;Ada: yes, Bo: no" in client.get("/runs/after/labels").text
    hidden = client.get("/runs/after/label", params={"row": sample.id}).text
    assert "Ada" not in hidden
    page = client.get("/runs/after/label", params={"row": sample.id, "decide": 1}).text
    assert "&lt;i&gt;Ada: yes" in page
    done = _post(
        client, record.id, _form(page.split("<main", 1)[1]) | {"answer": "no", "comment": "wrong year"}
    )
    assert ">Rows on which people disagree<" not in done.text
    assert run_labels(site.database, record).disputed == ()


def test_people_label_other_rows_and_readers_none(site, person):
    first, second = person("Ada"), person("Bo")
    pages = [client.get("/runs/after/label").text.split("<main", 1)[1] for client in (first, second)]
    forms = [_form(page) | {"answer": "yes"} for page in pages]
    assert forms[0]["row"] != forms[1]["row"]
    other = second.get("/runs/after/label", params={"row": forms[0]["row"]}).text.split("<main", 1)[1]
    for client, form in ((first, forms[0]), (second, _form(other) | {"answer": "no"})):
        assert _post(client, "after", form).status_code == 200
    labels = run_labels(site.database, find_run(site.database, "after"))
    assert labels.disputed == (forms[0]["row"],)
    assert {label.author for label in labels.current[forms[0]["row"]]} == {"Ada", "Bo"}


def test_a_comment_has_the_length_that_the_browser_counts(client, site):
    record = find_run(site.database, "after")
    form = _form(client.get("/runs/after/label").text.split("<main", 1)[1])
    comment = "x\n" * 999 + "yy"  # browsers send \r\n
    sent = _post(client, record.id, form | {"answer": "no", "comment": comment.replace("\n", "\r\n")})
    assert sent.status_code == 200
    ((label,),) = run_labels(site.database, record).current.values()
    assert label.comment == comment


def test_a_run_without_texts_cannot_be_labelled(client, site, tmp_path):
    spec = RunOptions(data=write_rows(tmp_path / "hidden.jsonl", rows(5)), metrics=("sgi",), no_texts=True)
    anyio.run(start_run, spec.model_copy(update={"db": site.place}))
    reply = client.get("/runs/last/label")
    assert reply.status_code == 400
    assert "stores no texts" in reply.text


def test_two_people_do_not_get_the_same_row_at_once(monkeypatch):
    queue, clock = LabelQueue(), [0.0]
    monkeypatch.setattr("sgi_web.routes.label_pages.time.monotonic", lambda: clock[0])
    assert queue.reserve("Ada", "run", "1")
    assert not queue.reserve("Bo", "run", "1")
    assert queue.reserve("Cy", "other run", "1")
    assert queue.reserve("Ada", "run", "1")
    queue.release("Ada")
    assert queue.reserve("Bo", "run", "1")
    clock[0] = 121.0
    assert queue.reserve("Ada", "run", "1")
    assert len(queue._rows) == 1  # no row of a person who has left
