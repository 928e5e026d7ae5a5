"""Ids over all fragments: each stands for one row, and the first that has it keeps it, as in one process."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sgi.distributed.error_codec import packed
from sgi.distributed.fragments import Fragment, FragmentDataset, same_id
from sgi.distributed.scan import FragmentSurvey, survey
from sgi.io.raw_rows import with_place

if TYPE_CHECKING:
    from collections.abc import Mapping

Each = Callable[[Callable[[str], str], Sequence[str]], Iterable[str]]
"""Applies a function to items, in any order: `Cluster.each`, or `map`."""


def settled(
    fragments: Sequence[Fragment],
    surveys: Sequence[FragmentSurvey],
    columns: Mapping[str, str],
    each: Each,
    *,
    skipping: bool,
) -> list[FragmentSurvey]:
    """The surveys, once ids that stand in several fragments are known.

    Hashes tell where an id may stand twice; these rows are read once more, and their ids compared. Where rows
    are skipped, fragments with ids that are taken are surveyed anew without these rows; else the first of
    them is the error of its fragment.

    Args:
        fragments: all parts of the data, in order.
        surveys: what is in them.
        columns: field → column, where names are not recognised.
        each: has the work done.
        skipping: whether rows that cannot be read are passed over.
    """
    found = list(surveys)
    doubtful = _coinciding(surveys)
    if not doubtful:
        return found
    read = partial(_named, columns=columns, skipping=skipping)
    items = [json.dumps([n, fragments[n].to_dict(), places]) for n, places in doubtful.items()]
    named = dict(map(json.loads, each(read, items)))
    taken = _taken(fragments, named)
    if skipping:
        again = partial(_survey_again, columns=columns)
        items = [json.dumps([n, fragments[n].to_dict(), ids]) for n, (ids, _) in taken.items()]
        for number, values in map(json.loads, each(again, items) if items else ()):
            found[number] = FragmentSurvey.from_dict(values)
    elif taken:
        number = min(taken)
        ids, line = taken[number]
        first = next(iter(ids))
        shown = fragments[number].source.shown
        error = with_place(same_id(first, ids[first]), file=shown, line=line, sample_id=first)
        found[number] = replace(found[number], error=packed(error))
    return found


def _coinciding(surveys: Sequence[FragmentSurvey]) -> dict[int, list[int]]:
    """For each fragment the positions of its ids whose hashes stand in another place, too."""
    hashes = [np.frombuffer(base64.b64decode(found.ids), dtype="<u8") for found in surveys]
    every = np.concatenate(hashes)
    order = np.argsort(every, kind="stable")
    same = every[order][1:] == every[order][:-1]
    places = np.sort(np.union1d(order[1:][same], order[:-1][same]))
    starts = np.cumsum([0, *map(len, hashes)])
    bounds = np.searchsorted(places, starts)
    return {
        number: [int(place) for place in places[begin:end] - starts[number]]
        for number, (begin, end) in enumerate(pairwise(bounds))
        if begin < end
    }


def _named(text: str, *, columns: Mapping[str, str], skipping: bool) -> str:
    """The ids at some positions of a fragment, and their lines; one that cannot be read ends there."""
    number, values, places = json.loads(text)
    dataset = FragmentDataset(Fragment.from_dict(values), columns)
    rows = enumerate(dataset.with_lines(dataset.reading(), on_reject=(lambda _: None) if skipping else None))
    wanted, last = set(places), places[-1]
    found = []
    for position, (line, sample) in rows:
        if position in wanted:
            found.append([sample.id, line])
        if position == last:
            break
    return json.dumps([number, found])


def _taken(
    fragments: Sequence[Fragment], named: Mapping[int, Sequence[tuple[str, int]]]
) -> dict[int, tuple[dict[str, str], int]]:
    """For each fragment its ids that stand in one before, with their first places; and the first line."""
    first: dict[str, str] = {}
    taken: dict[int, tuple[dict[str, str], int]] = {}
    for number in sorted(named):
        shown = fragments[number].source.shown
        for sample_id, line in named[number]:
            if sample_id in first:
                taken.setdefault(number, ({}, line))[0].setdefault(sample_id, first[sample_id])
            else:
                first[sample_id] = f"{shown}:{line}"
    return taken


def _survey_again(text: str, *, columns: Mapping[str, str]) -> str:
    number, values, taken = json.loads(text)
    found = survey(Fragment.from_dict(values), columns, skipping=True, taken=taken)
    return json.dumps([number, found.to_dict()])
