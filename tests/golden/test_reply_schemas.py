"""The schemas of judge replies are part of every request: changing a docstring invalidates cached replies."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil

import sgi.metrics
from sgi.kernel.prompts import ReplyModel

SCHEMAS = {
    "AllRatings": "c1f841fbcd6338f8",
    "ClaimList": "9257aedbee52865d",
    "Criteria": "c18ea602ea4c1386",
    "Criterion": "d50f4704eb086a7c",
    "DirectRating": "5517a88a908acee5",
    "Judgement": "f1ce3d9ac8973caf",
    "OneRating": "1477c2ebae5373de",
    "Questions": "fcb6f233fb2955d2",
    "Relevance": "b7c97eff0259b4dd",
    "Support": "165a4d28949a81dc",
    "Verdict": "2b1213159a7e65ad",
    "Verdicts[Relevance]": "564b929953af0a86",
    "Verdicts[Support]": "b6f9546063772916",
}


def subclasses(kind):
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)


def test_the_schemas_of_replies_do_not_change_by_accident():
    for module in pkgutil.walk_packages(sgi.metrics.__path__, "sgi.metrics."):
        importlib.import_module(module.name)
    replies = {kind.__name__: kind for kind in subclasses(ReplyModel) if kind.__module__.startswith("sgi.")}
    hashes = {
        name: hashlib.sha256(
            json.dumps(replies[name].model_json_schema(), sort_keys=True).encode()
        ).hexdigest()[:16]
        for name in SCHEMAS
    }
    assert hashes == SCHEMAS
