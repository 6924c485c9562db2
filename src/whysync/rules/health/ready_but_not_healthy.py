"""An object reports that it is ready, but Argo CD's health check does not report it as Healthy.

## What happens
A health check may read another condition than `Ready`. A certificate that is being renewed is `Ready` and
`Issuing` at the same time, and is Progressing until the renewal ends. Other kinds behave alike: the object
works, its controller is still busy, and the app is not Healthy in the meantime. A Pod with `restartPolicy`
Never or OnFailure is expected to end: it is Progressing as long as it runs.

## How whysync knows
The row is Progressing or Degraded, and the live object's condition `Ready` or `Available` is True for its
current generation. No other rule explains the row.

## Fix
Follow what the other condition reports: usually the controller finishes by itself. If it does not, its events
and logs have the reason. If the check is too strict for you, replace it in `argocd-cm`.

## When it is something else
A `Ready` condition of an older generation says nothing about the current one. A controller that writes no
status at all: status_never_reported.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import ResourceRow
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import fields, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import on_object
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
        if code not in ("Progressing", "Degraded") or index is None:
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
                case.cited_row(row, says=f"Argo CD reports it as {code}"),
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
    return is_pod and ends and _ready_condition(live) is not None and not is_hook(live)


def _running(case: Case, row: ResourceRow, live: Manifest) -> Finding:
    policy = live.spec.get("restartPolicy")
    keep_running = Set(pointer=IGNORE_POLICY, value="true")
    return Finding(
        about=row.ref,
        field=POLICY,
        explains=(SymptomId.unhealthy(row.key),),
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is running and ready, but Argo CD expects a Pod with restartPolicy {policy} to"
        " end, and reports it as Progressing until then",
        evidence=(
            case.cited_row(row, says="Argo CD reports it as Progressing"),
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
            case.cited_row(row, says="Argo CD reports it as Progressing"),
            cite(live, "/status", says="complete, except for observedGeneration"),
        ),
        fixes=(
            Fix.run(
                on_object("get", row.ref, "-o", "yaml"),
                title="Check that the controller of this API server writes observedGeneration; update it",
            ),
        ),
    )
