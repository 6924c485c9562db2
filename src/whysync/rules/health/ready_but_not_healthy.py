"""An object reports that it is ready, but Argo CD's health check does not report it as Healthy.

## What happens
A health check may read another condition than `Ready`. A certificate that is being renewed is `Ready` and
`Issuing` at the same time, and is Progressing until the renewal ends. Other kinds behave alike: the object
works, its controller is still busy, and the app is not Healthy in the meantime. A Pod with `restartPolicy`
Never or OnFailure is expected to end: it is Progressing as long as it runs. A check reads fields and values
that one version of the operator writes: another version writes others, and the check waits in vain. A check
of your own in `argocd-cm` knows only the states that somebody thought of.

## How whysync knows
The row is Progressing or Degraded, and the live object's condition `Ready` or `Available` is True for its
current generation. Or the row is Progressing, and the check of the current Argo CD, run on the live object,
answers Healthy because of its status. Or the row is Progressing, Argo CD ships no check for the kind, and the
status reports no failure: the answer is that of a check in `argocd-cm`. No other rule explains the row.

## Fix
Follow what the other condition reports: usually the controller finishes by itself. If it does not, its events
and logs have the reason. If the check is too strict for you, replace it in `argocd-cm`.

## When it is something else
A `Ready` condition of an older generation says nothing about the current one. A controller that writes no
status at all: status_never_reported.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.health.shipped import shipped_check
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.current_health import is_read_differently
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.status_failures import status_failures
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import comment, on_object, refresh
from whysync.queries.reasons import failing_conditions
from whysync.queries.sync_position import is_hook

OBSERVED = "/status/observedGeneration"
POLICY = "/spec/restartPolicy"
IGNORE_POLICY = "/metadata/annotations/argocd.argoproj.io~1ignore-restart-policy"
_READY = ("Ready", "Available")


@rule(cause="health-quirk", since="0.1", last_resort=True)
def ready_but_not_healthy(case: Case) -> Iterator[Finding]:
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        symptom = SymptomId.unhealthy(row.key)
        code, message = health_of_row(case, row)
        live = case.live_of(row.key)
        if live is None:
            continue
        if is_builtin(row.ref):
            if code == "Progressing" and _is_complete(live):
                yield _unobserved(case, row, live, message)
            if code == "Progressing" and _runs_until_it_ends(live):
                yield _running(case, row, live)
            continue
        index = _ready_condition(live)
        if index is None and is_read_differently(case, row):
            yield _read_differently(case, row, live, message)
        elif index is None and code == "Progressing" and _has_check_of_settings(case, row, live):
            yield _of_settings(case, row, live, message)
        if code not in ("Progressing", "Degraded") or index is None or any(status_failures(live)):
            continue
        reason = f": {message}" if message else ""
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            severity=Severity.INFO if code == "Progressing" else Severity.WARNING,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} reports that it is ready, but Argo CD reports it as {code}{reason}",
            root=message or None,
            evidence=(
                case.cited_health(row, code),
                cite(live, f"/status/conditions/{index}", says="its Ready condition"),
            ),
            fixes=(
                Fix.run(
                    on_object("describe", row.ref),
                    title="Check what its controller is doing; an update or a renewal usually ends by itself",
                ),
            ),
        )


def _ready_condition(live: Manifest) -> int | None:
    """The index of a condition that reports the current generation as ready."""
    generation = live.meta.get("generation")
    for index, raw in enumerate(items(live.status.get("conditions"))):
        condition = fields(raw)
        observed = condition.get("observedGeneration", live.status.get("observedGeneration", generation))
        is_current = generation is None or observed is None or observed == generation
        if condition.get("type") in _READY and condition.get("status") == "True" and is_current:
            return index
    return None


def _is_complete(live: Manifest) -> bool:
    """Are all replicas updated and available, and does only the observed generation lag behind?"""
    wanted = live.spec.get("replicas", 1)
    counts = [live.status.get(name) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")]
    observed, generation = live.status.get("observedGeneration"), live.meta.get("generation")
    behind = observed is None or (generation is not None and observed != generation)
    return live.ref.kind in ("Deployment", "StatefulSet") and all(c == wanted for c in counts) and behind


def _runs_until_it_ends(live: Manifest) -> bool:
    """Is it a running, ready Pod that Argo CD expects to end? A hook is expected to end indeed."""
    ends = live.spec.get("restartPolicy") in ("Never", "OnFailure")
    is_pod = live.ref.kind == "Pod" and live.status.get("phase") == "Running"
    return is_pod and ends and not is_hook(live) and not _is_unready(live)


def _is_unready(live: Manifest) -> bool:
    """Does a condition or a container report that it is not ready?"""
    conditions = (fields(raw) for raw in items(live.status.get("conditions")))
    containers = (fields(raw) for raw in items(live.status.get("containerStatuses")))
    return any(c.get("type") == "Ready" and c.get("status") != "True" for c in conditions) or any(
        not container.get("ready") for container in containers
    )


def _has_check_of_settings(case: Case, row: ResourceRow, live: Manifest) -> bool:
    """Can only a check in argocd-cm have reported it? The status that it reads reports no failure."""
    if case.synced_recently or row.group == "argoproj.io" or live.meta.get("deletionTimestamp"):
        return False
    if not live.status or shipped_check(row.group, row.kind) is not None:
        return False
    if any(failing_conditions(live)) or any(status_failures(live)):
        return False
    return case.settings("argocd-cm") is None or case.health_of(live) is not None


def _state_of(live: Manifest) -> tuple[str, str]:
    """The field in which the object sums up its state, and what it says there."""
    for name in ("phase", "state", "status", "health"):
        if word := text(live.status.get(name)):
            return f"/status/{name}", f"its {name} is {word}"
    return "/status", "its status reports no failure"


def _of_settings(case: Case, row: ResourceRow, live: Manifest, message: str) -> Finding:
    pointer, state = _state_of(live)
    key = f"resource.customizations.health.{row.group}_{row.kind}"
    return Finding(
        about=row.ref,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is Progressing because a health check in argocd-cm says so ({state}): Argo CD has"
        f" none of its own for {row.kind}",
        root=message or None,
        evidence=(
            case.cited_health(row, "Progressing"),
            cite(live, pointer, says="what the check reads"),
        ),
        fixes=(
            Fix.run(
                comment(f"let {key} in argocd-cm answer Healthy for that state, and test it with"),
                "whysync health OBJECT.yaml --settings argocd-cm.yaml",
                title="If it can stay in that state: let the check report it as Healthy",
                risk="a health check applies to all objects of the kind",
            ),
            Fix.run(
                on_object("describe", row.ref), title="If it should leave that state: see what it waits for"
            ),
        ),
    )


def _read_differently(case: Case, row: ResourceRow, live: Manifest, message: str) -> Finding:
    pointer, state = _state_of(live)
    waits = f" ({message})" if message else ""
    return Finding(
        about=row.ref,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is Progressing{waits}, but {state}, and the check of Argo CD 3.6 calls it"
        " Healthy: the check in use reads other fields or values than its operator writes",
        root=message or None,
        evidence=(
            case.cited_health(row, "Progressing"),
            cite(live, pointer, says="what its operator writes"),
        ),
        fixes=(
            Fix.run(refresh(case), title="Refresh, in case the row is out of date"),
            Fix.run(
                comment(
                    f"set resource.customizations.health.{row.group}_{row.kind} in argocd-cm, and test it"
                ),
                "whysync health OBJECT.yaml --settings argocd-cm.yaml",
                title="Use a newer Argo CD, or replace its health check of this kind",
                risk="a health check applies to all objects of the kind",
            ),
        ),
    )


def _running(case: Case, row: ResourceRow, live: Manifest) -> Finding:
    policy = live.spec.get("restartPolicy")
    keep_running = Set(pointer=IGNORE_POLICY, value="true")
    return Finding(
        about=row.ref,
        field=POLICY,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is running, but Argo CD expects a Pod with restartPolicy {policy} to"
        " end, and reports it as Progressing until then",
        evidence=(
            case.cited_health(row, "Progressing"),
            cite(live, POLICY, says="a Pod that ends"),
            cite(live, "/status/phase", says="it is running"),
        ),
        fixes=(
            Fix.change(row.ref, keep_running, title="Report it as Healthy while it is ready")
            if case.desired_of(row.key) is not None
            else Fix.run(
                on_object("annotate", row.ref, "argocd.argoproj.io/ignore-restart-policy=true"),
                title="If it runs permanently: let Argo CD report it as Healthy while it is ready; set the"
                " annotation where its controller gets the Pod's metadata from, to keep it",
            ),
        ),
    )


def _unobserved(case: Case, row: ResourceRow, live: Manifest, message: str) -> Finding:
    return Finding(
        about=row.ref,
        field=OBSERVED,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"all replicas of {row.ref} are updated and available, but its controller does not write "
        "status.observedGeneration, which Argo CD waits for",
        root=message or None,
        evidence=(
            case.cited_health(row, "Progressing"),
            cite(live, "/status", says="complete, except for observedGeneration"),
        ),
        fixes=(
            Fix.run(
                on_object("get", row.ref, "-o", "yaml"),
                title="Check that the controller of this API server writes observedGeneration; update it",
            ),
        ),
    )
