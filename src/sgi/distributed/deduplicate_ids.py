"""Resolve duplicate ids over all fragments: the first row keeps the id, as in a single process."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sgi.distributed.error_codec import encode_error
from sgi.distributed.fragments import ONE_SAMPLE, Expansion, Fragment, FragmentDataset
from sgi.distributed.scan import FragmentScan, read_scans, scan_item
from sgi.io.raw_rows import with_place
from sgi.io.row_ids import duplicate_id_error

if TYPE_CHECKING:
    from collections.abc import Mapping

Each = Callable[[Callable[[str], str], Sequence[str]], Iterable[str]]
"""Applies a function to items in any order: `Cluster.each`, or `map`."""


def deduplicate_ids(
    fragments: Sequence[Fragment],
    scans: Sequence[FragmentScan],
    columns: Mapping[str, str],
    each: Each,
    *,
    skipping: bool,
    expansion: Expansion = ONE_SAMPLE,
) -> list[FragmentScan]:
    """Resolve ids that occur in several fragments; return the changed scans.

    Rows with equal id hashes are read again to compare the ids. With ``skipping`` (unreadable rows are
    skipped), fragments with duplicate ids are scanned again without these rows. Otherwise the first duplicate
    becomes the error of its fragment.
    """
    resolved = list(scans)
    doubtful = _colliding_positions(scans)
    if not doubtful:
        return resolved
    read = partial(_read_ids, columns=columns, skipping=skipping)
    items = [json.dumps([n, fragments[n].to_dict(), places]) for n, places in doubtful.items()]
    named = dict(map(json.loads, each(read, items)))
    taken = _duplicate_ids(fragments, named)
    if skipping:
        again = partial(scan_item, columns=columns, skipping=True, expansion=expansion)
        items = [json.dumps([n, fragments[n].to_dict(), ids]) for n, (ids, _) in taken.items()]
        for number, scan in read_scans(each(again, items) if items else ()):
            resolved[number] = scan
    elif taken:
        number = min(taken)
        ids, line = taken[number]
        first = next(iter(ids))
        shown = fragments[number].source.shown
        error = with_place(duplicate_id_error(first, ids[first]), file=shown, line=line, sample_id=first)
        resolved[number] = replace(resolved[number], error=encode_error(error))
    return resolved


def _colliding_positions(scans: Sequence[FragmentScan]) -> dict[int, list[int]]:
    """Return the positions of the ids with a duplicate hash, by fragment."""
    hashes = [np.frombuffer(base64.b64decode(scan.ids), dtype="<u8") for scan in scans]
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


def _read_ids(text: str, *, columns: Mapping[str, str], skipping: bool) -> str:
    number, values, places = json.loads(text)
    dataset = FragmentDataset(Fragment.from_dict(values), columns)
    rows = enumerate(dataset.with_lines(dataset.reading(), on_reject=(lambda _: None) if skipping else None))
    chosen, last = set(places), places[-1]
    ids = []
    for position, (line, sample) in rows:
        if position in chosen:
            ids.append([sample.id, line])
        if position == last:
            break
    return json.dumps([number, ids])


def _duplicate_ids(
    fragments: Sequence[Fragment], named: Mapping[int, Sequence[tuple[str, int]]]
) -> dict[int, tuple[dict[str, str], int]]:
    """Return, by fragment, the ids of earlier fragments with their locations, and the line of the first."""
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
