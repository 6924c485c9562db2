"""Objects whose name is another one each time the source is rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.mechanism import has_unsynced_revision, synced_from_current_source
from whysync.diagnosis.symptom import SymptomKind

# A date alone may be a version; with an hour it is a time. Unix times have 10 digits, or 13 (milliseconds).
_TIME = re.compile(
    r"(?<!\d)(?:\d{4}-?[01]\d-?[0-3]\d[-t]?[0-2]\d(?:-?[0-5]\d){0,2}z?|1\d{9}(?:\d{3})?)(?!\d)"
)
# Mixed letters and digits: not a word, and not a word followed by a number.
_RANDOM_SUFFIX = re.compile(r"-(?=[a-z]*\d+[a-z]+\d|\d*[a-z]+\d+[a-z])[a-z0-9]{4,12}$")


def renamed_by_rendering(case: Case) -> Iterator[tuple[ResourceRow, list[ResourceRow]]]:
    """A missing row, and the rows of earlier renderings, whose names differ only in a generated part."""
    if has_unsynced_revision(case):
        return  # names may come from the commit
    certain = synced_from_current_source(case)
    earlier: dict[tuple[str, ...], list[ResourceRow]] = {}
    for row in case.rows_with(SymptomKind.EXTRA):
        for stem in _stems(row, certain=certain):
            earlier.setdefault(stem, []).append(row)
    for row in case.rows_with(SymptomKind.MISSING) if earlier else ():
        earlier_rows = next((earlier[stem] for stem in _stems(row, certain=certain) if stem in earlier), None)
        if earlier_rows is not None:
            yield row, earlier_rows


def _stems(row: ResourceRow, *, certain: bool) -> Iterator[tuple[str, ...]]:
    """The row with the generated part of its name replaced: a time or, if `certain`, a random suffix."""
    for generated in (_TIME, _RANDOM_SUFFIX) if certain else (_TIME,):
        stem = generated.sub("#", row.name)
        if stem != row.name:
            yield row.group, row.kind, row.namespace, stem
