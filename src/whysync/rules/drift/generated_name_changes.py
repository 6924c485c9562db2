"""The source renders an object under a new name each time.

## What happens
A template puts the current time or a random string into a name, usually of a Job, so that each rendering
creates a new object. Argo CD sees two objects: one that is declared but missing, and one that is live but no
longer declared. A sync creates the first and prunes the second, and the next rendering has a third name.

## How whysync knows
The names of two resources of one kind differ only in a timestamp: one is missing, the other requires pruning.
Or the last part of the name differs, although the last sync applied this commit from this source.

## Fix
Give it a fixed name. A Job that must run at each sync is a hook with a fixed name and a delete policy; a Job
that must run once per version has the version in its name.

## When it is something else
A name with a checksum or a version changes with the commit: sync the new commit with pruning.
"""

import re
from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision, synced_from_current_source
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.queries.commands import app_argument, comment

# A date alone may be a version; with an hour it is a time. Unix times have 10 digits, or 13 (milliseconds).
_TIME = re.compile(
    r"(?<!\d)(?:\d{4}-?[01]\d-?[0-3]\d[-t]?[0-2]\d(?:-?[0-5]\d){0,2}z?|1\d{9}(?:\d{3})?)(?!\d)"
)
# Mixed letters and digits: not a word, and not a word followed by a number.
_RANDOM_SUFFIX = re.compile(r"-(?=[a-z]*\d+[a-z]+\d|\d*[a-z]+\d+[a-z])[a-z0-9]{4,12}$")


@rule(cause="nondeterministic", since="0.1")
def generated_name_changes(case: Case) -> Iterator[Finding]:
    if has_unsynced_revision(case):
        return  # names may come from the commit
    certain = synced_from_current_source(case)
    earlier: dict[tuple[str, ...], list[ResourceRow]] = {}
    for row in case.rows_with(SymptomKind.EXTRA):
        for stem in _stems(row, certain=certain):
            earlier.setdefault(stem, []).append(row)
    for row in case.rows_with(SymptomKind.MISSING) if earlier else ():
        earlier_rows = next((earlier[stem] for stem in _stems(row, certain=certain) if stem in earlier), None)
        if earlier_rows is None:
            continue
        yield Finding(
            about=row.ref,
            explains=(
                SymptomId.missing(row.key),
                *(SymptomId.extra(earlier_row.key) for earlier_row in earlier_rows),
            ),
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            verdict=f"{row.ref} gets a new name each time the source is rendered;"
            f" {earlier_rows[0].name} is from an earlier rendering",
            evidence=(
                case.cited_row(row, says="declared now, but missing"),
                *(
                    case.cited_row(earlier_row, says="live, but no longer declared")
                    for earlier_row in earlier_rows[:3]
                ),
            ),
            fixes=(
                Fix.run(
                    f"argocd app manifests {app_argument(case)} --source git | grep 'name:' > one.txt",
                    f"argocd app get {app_argument(case)} --hard-refresh > /dev/null",
                    f"argocd app manifests {app_argument(case)} --source git | grep 'name:' | diff one.txt -",
                    comment(
                        "give what differs a fixed name; a Job for each sync: a hook, BeforeHookCreation"
                    ),
                    title="Render twice and compare; then give it a fixed name (a Job: as a hook)",
                ),
            ),
        )


def _stems(row: ResourceRow, *, certain: bool) -> Iterator[tuple[str, ...]]:
    """The row with the generated part of its name replaced: a time or, if `certain`, a random suffix."""
    for generated in (_TIME, _RANDOM_SUFFIX) if certain else (_TIME,):
        stem = generated.sub("#", row.name)
        if stem != row.name:
            yield row.group, row.kind, row.namespace, stem
