"""What a running operation waits for, and whether it has waited too long.

Argo CD waits without a limit: for a hook to finish, for a wave to become healthy, for a deletion. Too long is
ten minutes, the default progress deadline of a Deployment, or three times the slowest sync in the history.
`stuck_wait` reads from the objects why a wait will not end.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from whysync.argocd.api.application import HealthCode, ResourceResult, ResourceRow, SyncCode
from whysync.argocd.hooks import SyncPhase
from whysync.argocd.sync.messages import TASKS_RUNNING
from whysync.diagnosis.symptom import OPERATION
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.operations import Awaited, Waiting
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import is_namespaced
from whysync.queries.sync_position import first_phase, is_hook
from whysync.queries.timestamps import age_text

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

SILENT: Final = ("", TASKS_RUNNING)
"""Messages of a running operation that do not name what it waits for."""
LONG = timedelta(minutes=10)
_AWAITED = (HealthCode.PROGRESSING, HealthCode.DEGRADED)
_SLOWER = 3


class AwaitedObject(msgspec.Struct, frozen=True, kw_only=True):
    """`ref` is the object that the message names; `others` counts the rest; `age` is the operation's age.

    `reported` is false if the operation has no message: then the rows and the order of the sync tell it.
    """

    what: Awaited
    ref: Ref
    others: int
    age: timedelta | None
    slowest_sync: timedelta | None
    reported: bool = True

    @property
    def is_long(self) -> bool:
        return is_too_long(self.age, self.slowest_sync)


def is_too_long(age: timedelta | None, slowest: timedelta | None) -> bool:
    """Longer than ten minutes, and than three times the slowest sync in the history."""
    return age is not None and age >= max(LONG, _SLOWER * slowest if slowest else LONG)


def waiting_text(case: Case, wait: AwaitedObject) -> str:
    """`the sync has been running for 12 min and waits for`, before the name of what it waits for.

    The facts have the age of the operation, not of the wait.
    """
    if case.is_predicted:
        return "the sync would wait without end for"
    return f"the sync has been running for {age_text(wait.age)} and waits for"


def is_running(case: Case) -> bool:
    """Is an operation running? One that waits for its next retry has `finishedAt` and does not count."""
    operation = case.operation
    return operation is not None and operation.phase == "Running" and operation.finished_at is None


def wait_of(case: Case) -> AwaitedObject | None:
    """From the operation's message; without one, a hook that has started and not finished, or an unhealthy
    resource that something else comes after."""
    operation = case.operation
    if operation is None or not is_running(case):
        return None
    age = case.age(operation.started_at)
    for group in grouped(case, Waiting, by=lambda f: (f.what, f.kind, f.name)):
        failure = group.failure
        if OPERATION in group.explains:
            ref = _completed(case, failure)
            return AwaitedObject(
                what=failure.what, ref=ref, others=failure.more, age=age, slowest_sync=slowest_sync(case)
            )
    running = (result for result in case.results if result.hook_phase == "Running")
    hook = next((result for result in running if is_hook_result(case, result)), None)
    if hook is not None:
        return AwaitedObject(
            what=Awaited.HOOK, ref=hook.ref, others=0, age=age, slowest_sync=slowest_sync(case)
        )
    return _unreported(case, operation.message, age)


def _unreported(case: Case, message: str, age: timedelta | None) -> AwaitedObject | None:
    """A sync waits for the health of what it applied only if a later wave or phase follows."""
    if message not in SILENT or not is_too_long(age, slowest_sync(case)) or not follows_health(case):
        return None
    unhealthy = [
        row.ref
        for row in case.app.status.resources
        if row.health is not None and row.health.status in _AWAITED and row.status == SyncCode.SYNCED
    ]
    if not unhealthy:
        return None
    return AwaitedObject(
        what=Awaited.HEALTH,
        ref=unhealthy[0],
        others=len(unhealthy) - 1,
        age=age,
        slowest_sync=slowest_sync(case),
        reported=False,
    )


def follows_health(case: Case) -> tuple[Ref, ...]:
    """PostSync hooks of this sync that have not run: they start when everything before is healthy."""
    started = {result.key for result in case.results}
    return tuple(
        manifest.ref
        for manifest in case.desired
        if is_hook(manifest) and first_phase(manifest) is SyncPhase.POST_SYNC and manifest.key not in started
    )


def awaited_hook(case: Case) -> Ref | None:
    """The hook that a running operation waits for."""
    wait = wait_of(case)
    return wait.ref if wait is not None and wait.what is Awaited.HOOK else None


def slowest_sync(case: Case) -> timedelta | None:
    """How long the slowest sync of the history took."""
    took = [
        entry.deployed_at - entry.deploy_started_at
        for entry in case.app.status.history
        if entry.deployed_at is not None and entry.deploy_started_at is not None
    ]
    return max(took, default=None)


def result_of(case: Case, ref: Ref) -> ResourceResult | None:
    return next((result for result in case.results if result.key == ref.key), None)


def is_hook_result(case: Case, result: ResourceResult) -> bool:
    """Did it run as a hook? Hooks have no sync status: a row that has one is an ordinary resource."""
    row = case.rows.get(result.key)
    return bool(result.hook_type) and (row is None or not row.status)


def _begun(case: Case, failure: Waiting) -> Ref | None:
    """The only resource that a message which ends inside its group, kind or name can mean.

    Of several, the one that a sync waits for now: a hook that runs, or a resource that is not healthy.
    """
    given = "/".join((failure.group, failure.kind, failure.name)).rstrip("/").lower()
    named = {
        candidate.key: candidate.ref
        for candidate in (*case.results, *case.app.status.resources)
        if f"{candidate.group}/{candidate.kind}/{candidate.name}".lower().startswith(given)
    }
    if failure.what is Awaited.HOOK:
        open = {r.key for r in case.results if r.hook_phase == "Running" and is_hook_result(case, r)}
    else:
        open = {row.key for row in case.app.status.resources if _is_not_healthy(row)}
    awaited = [ref for key, ref in named.items() if key in open] or list(named.values())
    return awaited[0] if len(awaited) == 1 else None


def _is_not_healthy(row: ResourceRow) -> bool:
    return row.health is not None and row.health.status not in ("", HealthCode.HEALTHY)


def _completed(case: Case, failure: Waiting) -> Ref:
    """The message gives group, kind and name; the namespace is in the results, the rows, or the spec.

    A pasted text may be in lower case or cut off: then it is the only resource that what is left can mean.
    """
    given = (failure.group, failure.kind, failure.name)
    similar: dict[tuple[str, str, str, str], Ref] = {}
    for candidate in (*case.results, *case.app.status.resources):
        names = (candidate.group, candidate.kind, candidate.name)
        if names == given:
            return candidate.ref
        if all(not part or part.lower() == name.lower() for part, name in zip(given, names, strict=True)):
            similar[candidate.key] = candidate.ref
    if len(similar) == 1:
        return next(iter(similar.values()))
    if not failure.more and (begun := _begun(case, failure)) is not None:
        return begun
    namespace = case.destination_namespace if is_namespaced(case, failure.kind) else ""
    return Ref(group=failure.group, version="v1", kind=failure.kind, namespace=namespace, name=failure.name)
