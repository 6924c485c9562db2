"""An ignore rule inside a list keeps a sync from changing anything else in that list.

## What happens
With `RespectIgnoreDifferences=true` a sync takes ignored fields from the live object. Where the ignored field
is in a list, Argo CD may take the whole list from the live object: always for custom resources, in older
releases for all kinds. Other changes to that list (a new variable, another port) are in Git and in the diff,
but no sync applies them. The sync succeeds and the app stays OutOfSync.

## How whysync knows
`RespectIgnoreDifferences=true` is set, a rule of the Application ignores a field inside a list of this
object, the last sync succeeded at the revision that Argo CD compares with, and another field of the same list
differs.

## Fix
Sync once without `RespectIgnoreDifferences=true`; or remove the rule and declare in Git what it hides. With
server-side apply, `managedFieldsManagers` ignores what another manager owns without touching the list.

## When it is something else
If the rule does not match the object, it never hides anything: ignore_rule_never_matches.
"""

from collections.abc import Iterator

from whysync.argocd.ignore_differences import Rule, application_rules
from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.mechanism import synced_at_current_revision
from whysync.kubernetes.api.pointer import index_of, join, split
from whysync.queries.commands import app_argument, comment, sync
from whysync.queries.drift import both_sides, drift_finding, field_names
from whysync.queries.ignore_rules import RESPECT

_UNCLEAR = (Mechanism.UNKNOWN, Mechanism.CONTESTED, Mechanism.DROPPED)


@rule(cause="sync-noop-loop", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def ignored_list_not_applied(case: Case) -> Iterator[Finding]:
    if not case.has_sync_option(RESPECT) or not synced_at_current_revision(case):
        return
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    for mechanism in _UNCLEAR:
        for every in case.drifts_by_object(mechanism):
            for ignoring in rules:
                drifts = [drift for drift in every if _is_kept_by(ignoring, drift)]
                if drifts:
                    yield _finding(case, ignoring, drifts)
                    break


def _finding(case: Case, ignoring: Rule, drifts: list[Drift]) -> Finding:
    first = drifts[0]
    at = f"/spec/ignoreDifferences/{ignoring.position}"
    return drift_finding(
        *drifts,
        confidence=Confidence.MEDIUM,
        verdict=f"syncs do not apply {field_names(drifts)} of {first.ref}: a rule ignores a field of"
        f" {_list_of(first)}, and {RESPECT} keeps the live list",
        evidence=(
            *both_sides(drifts),
            cite(case.application, at, says="ignores a field inside the list"),
            cite(case.application, "/spec/syncPolicy/syncOptions", says="a sync keeps what is ignored"),
        ),
        fixes=(
            Fix.run(
                comment(
                    f"remove {RESPECT} from spec.syncPolicy.syncOptions where the Application is declared"
                ),
                sync(case),
                f"argocd app diff {app_argument(case)}",
                title="Sync without RespectIgnoreDifferences",
                risk="the sync also writes Git's value of the ignored field",
            ),
        ),
    )


def _is_kept_by(ignoring: Rule, drift: Drift) -> bool:
    """Is the field in a list of which the rule ignores another field?"""
    place = _list_of(drift)
    if not place or ignoring.mismatch(drift.ref) is not None:
        return False
    return any(_list_in_path(path) == place for path in ignoring.expressions) or any(
        _list_in_pointer(pointer) == place for pointer in ignoring.pointers
    )


def _list_of(drift: Drift) -> str:
    return _list_in_pointer(drift.pointer)


def _list_in_pointer(pointer: str) -> str:
    """The outermost list on the way to a field; empty if there is none."""
    parts = split(pointer)
    position = next((number for number, part in enumerate(parts) if index_of(part) is not None), None)
    return join(parts[:position]) if position else ""


def _list_in_path(path: str) -> str:
    """The outermost list of a jq path: `.spec.containers[] | …` or `.spec.containers[0].image`."""
    before, bracket, _ = path.partition("[")
    names = before.strip().split(".")
    plain = bracket and names[:1] == [""] and all(name.replace("_", "a").isalnum() for name in names[1:])
    return join(tuple(names[1:])) if plain and len(names) > 1 else ""
