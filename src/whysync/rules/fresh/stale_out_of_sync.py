"""Argo CD reports a resource as OutOfSync, but nothing differs.

## What happens
The row is OutOfSync. Both objects are in the facts, and they are equal by the rules of the current Argo CD.
Then the row is older than the objects (the drift was just fixed, or nothing was compared since), or this
Argo CD compares differently: an older version, other settings, a server-side diff.

## How whysync knows
It compares the desired and the live object as Argo CD does, and then field by field without any rules. No
other rule explains the row.

## Fix
If the change is minutes old, the application controller is down or behind: check it first. Refresh. If the
row stays OutOfSync, let Argo CD show its own difference: `argocd app diff`.

## When it is something else
The values of a Secret are masked here, so a difference in keys of both sides is not visible. Rows that an
ignore rule should hide: ignore-rule-miss.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Finding, Fix, cite, cite_if, rule
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.json_tree import fields, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import app_argument, argocd_namespace, kubectl, refresh, with_comment
from whysync.queries.timestamps import age_at, age_text, instant
from whysync.queries.waiting_on import is_running

_COMPARED_WITHIN = timedelta(minutes=3)
"""Argo CD is behind if a change is older than that and not compared: its default period is 2 to 3 minutes."""


@rule(cause="stale-state", since="0.1", last_resort=True, on_absence=True)
def stale_out_of_sync(case: Case) -> Iterator[Finding]:
    if is_running(case) or any(c.type.endswith("Error") for c in case.app.status.conditions):
        return  # it will be compared again, or could not be compared
    for row in case.rows_with(SymptomKind.DIFFERS):
        symptom = SymptomId.differs(row.key)
        live, desired = case.live_of(row.key), case.desired_of(row.key)
        if live is None or desired is None or _has_masked_values(desired, live):
            continue
        written_at = _written_since(case, live)
        overdue = None if written_at else _overdue(case, live)
        changed = f"it was last written {age_text(age_at(case, live, written_at))} ago"
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.MEDIUM if written_at or overdue else Confidence.LOW,
            verdict=f"{row.ref} is reported as OutOfSync, but nothing differs: "
            + (
                f"{changed}, after Argo CD compared it"
                if written_at
                else "it was written at an unknown time,"
                f" and Argo CD last compared it {age_text(overdue)} ago"
                if overdue
                else "the comparison is stale, or this Argo CD compares differently"
            ),
            evidence=(
                case.cited_row(row, says="Argo CD's status"),
                cite(case.application, "/status/reconciledAt", says="when it was compared"),
                *cite_if(live, written_at, says="when it was last written"),
            ),
            fixes=(
                *_check_controller(case, live, written_at, overdue),
                Fix.run(
                    refresh(case),
                    f"argocd app diff {app_argument(case)}",
                    title="Refresh; if it stays OutOfSync, let Argo CD show the difference",
                ),
            ),
        )


def _has_masked_values(desired: Manifest, live: Manifest) -> bool:
    """Does a Secret have a key on both sides? Its values are masked, so they may differ."""
    if live.ref.kind != "Secret" or live.ref.group:
        return False
    declared = {*fields(desired.body.get("data")), *fields(desired.body.get("stringData"))}
    return not declared.isdisjoint(fields(live.body.get("data")))


def _written_since(case: Case, live: Manifest) -> str:
    """The time of the last write after Argo CD compared, as a pointer into managedFields; empty if none."""
    compared = case.app.status.reconciled_at
    pointers = [f"{entry}/time" for entry in _writes(live)]
    times = [(time, pointer) for pointer in pointers if (time := instant(live.at(pointer))) is not None]
    last, pointer = max(times, default=(None, ""))
    return pointer if compared is not None and last is not None and last > compared else ""


def _writes(live: Manifest) -> list[str]:
    """The entries of managedFields about fields that Git can declare: controllers keep writing the status."""
    return [
        f"/metadata/managedFields/{index}"
        for index, entry in enumerate(items(live.meta.get("managedFields")))
        if fields(entry).get("subresource") != "status"
    ]


def _overdue(case: Case, live: Manifest) -> timedelta | None:
    """How long ago Argo CD compared, if that is too long and a write has no time.

    The API server records none for a write through the scale subresource.
    """
    age = case.age(case.app.status.reconciled_at)
    has_undated = any(instant(live.at(f"{entry}/time")) is None for entry in _writes(live))
    return age if has_undated and age is not None and age > _COMPARED_WITHIN else None


def _check_controller(
    case: Case, live: Manifest, written_at: str, overdue: timedelta | None
) -> Iterator[Fix]:
    """Argo CD compares seconds after a change in the cluster. If it has not, no refresh is answered, too."""
    age = age_at(case, live, written_at) if written_at else overdue
    if age is None or age < _COMPARED_WITHIN:
        return
    namespace = argocd_namespace(case)
    selector = "app.kubernetes.io/name=argocd-application-controller"
    since = f"since the change {age_text(age)} ago" if written_at else f"for {age_text(age)}"
    yield Fix.run(
        with_comment(kubectl("get", "pods", "-l", selector, namespace=namespace), "do they run?"),
        with_comment(kubectl("logs", "-l", selector, "--tail=50", namespace=namespace), "what it does"),
        title=f"Check the application controller: it has not compared {since}",
    )
