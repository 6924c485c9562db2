"""The source gives an object another name each time it is rendered.

## What happens
A template puts the time or a random word into a name, of a Job above all, so that each rendering makes a new
one. Argo CD then sees two objects: one that Git asks for and that is missing, and one that is there and no
longer in Git. A sync creates the first and prunes the second, and the next rendering has a third name.

## How whysync knows
Two rows of one kind whose names differ only in a time: one is missing, the other would be pruned. Or the last
part of the name differs, although the last sync applied this very commit from this very source.

## Fix
Give it a fixed name. A Job that shall run at each sync is a hook with a fixed name and a delete policy; one
that shall run once per version carries the version in its name.

## When it is something else
A name with a checksum or a version in it changes with the commit: that is a new commit, to be synced with
pruning.
"""

import re
from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, rule
from whysync.diagnosis.drift.mechanism import has_unsynced_revision, synced_from_current_source
from whysync.diagnosis.symptom import SymptomId
from whysync.queries.commands import app_argument, comment
from whysync.queries.resource_rows import row_evidence

# A day alone may be a version; with an hour it is a time. Seconds since 1970 have ten digits, or 13.
_TIME = re.compile(
    r"(?<!\d)(?:\d{4}-?[01]\d-?[0-3]\d[-t]?[0-2]\d(?:-?[0-5]\d){0,2}z?|1\d{9}(?:\d{3})?)(?!\d)"
)
# Letters and digits in turn: no word, and no word with a number behind it.
_LAST = re.compile(r"-(?=[a-z]*\d+[a-z]+\d|\d*[a-z]+\d+[a-z])[a-z0-9]{4,12}$")


@rule(cause="nondeterministic", since="0.1")
def generated_name_changes(case: Case) -> Iterator[Finding]:
    if has_unsynced_revision(case):
        return  # names may come from the commit
    certain = synced_from_current_source(case)
    earlier: dict[tuple[str, ...], list[ResourceRow]] = {}
    for row in case.app.status.resources:
        if SymptomId.extra(row.key) in case.symptom_ids:
            for stem in _stems(row, certain=certain):
                earlier.setdefault(stem, []).append(row)
    for row in case.app.status.resources if earlier else ():
        if SymptomId.missing(row.key) not in case.symptom_ids:
            continue
        twins = next((earlier[stem] for stem in _stems(row, certain=certain) if stem in earlier), None)
        if twins is None:
            continue
        yield Finding(
            about=row.ref,
            explains=(SymptomId.missing(row.key), *(SymptomId.extra(twin.key) for twin in twins)),
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            verdict=f"{row.ref} gets another name each time the source is rendered;"
            f" {twins[0].name} is of an earlier time",
            evidence=(
                row_evidence(case, row, says="Git asks for it now, and it is not there"),
                *(row_evidence(case, twin, says="there, and not in Git any more") for twin in twins[:3]),
            ),
            fixes=(
                Fix.run(
                    f"argocd app manifests {app_argument(case)} --source git | grep 'name:' > one.txt",
                    f"argocd app get {app_argument(case)} --hard-refresh > /dev/null",
                    f"argocd app manifests {app_argument(case)} --source git | grep 'name:' | diff one.txt -",
                    comment(
                        "give what differs a fixed name; a Job for each sync: a hook, BeforeHookCreation"
                    ),
                    title="Render twice and compare; then give it a fixed name, as a hook where it is a Job",
                ),
            ),
        )


def _stems(row: ResourceRow, *, certain: bool) -> Iterator[tuple[str, ...]]:
    """The row without what may be made up in its name: a time; a last part, where all else is the same."""
    for made_up in (_TIME, _LAST) if certain else (_TIME,):
        stem = made_up.sub("#", row.name)
        if stem != row.name:
            yield row.group, row.kind, row.namespace, stem
