"""The bounds of SGI hold on real answers."""

from __future__ import annotations

import numpy as np
import pytest

from sgi.engine.open_resources import load_embedder
from sgi.geometry.angles import angle
from sgi.geometry.sgi_ratio import bounded_grounding_index, bounds, grounding_index
from sgi.io.dataset import open_dataset
from sgi.store.cache import default_cache_path

FILES = ("halueval_qa.jsonl", "ragtruth_qa_test.jsonl")


@pytest.mark.slow
def test_the_bounds_with_the_modulus_hold_for_every_real_answer_and_context(data_folder):
    """Each answer against its own contexts and those of three other rows: some 25,000 real triples."""
    samples = [s for name in FILES for s in open_dataset(data_folder / name).samples()]
    texts = list(dict.fromkeys(t for s in samples for t in (s.question, s.response, *s.contexts)))
    rows = load_embedder("minilm", cache=default_cache_path()).embed(texts)
    places = {text: place for place, text in enumerate(texts)}
    triples = [
        (places[s.question], places[s.response], places[context])
        for n, s in enumerate(samples)
        for step in (0, 2, 100, 1000)
        for context in samples[(n + step) % len(samples)].contexts
    ]
    assert len(triples) > 20_000
    question, response, context = (rows[list(column)] for column in zip(*triples, strict=True))
    theta_rq, theta_rc, theta_qc = (
        angle(one, other) for one, other in ((response, question), (response, context), (question, context))
    )
    low, high = bounds(theta_qc, theta_rc)
    ratio = grounding_index(theta_rq, theta_rc, epsilon=0.0)
    slack = 1e-9 * np.maximum(1.0, ratio)
    assert np.all(low <= ratio + slack)
    assert np.all(ratio <= high + slack)
    assert np.all(np.abs(bounded_grounding_index(theta_rq, theta_rc, theta_qc)) <= 1.0)
    # Without the modulus, as the paper prints it, the lower bound is negative for most of these answers.
    assert (theta_qc / theta_rc - 1.0 < 0.0).mean() > 0.5
