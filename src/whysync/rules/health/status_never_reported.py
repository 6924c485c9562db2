"""Argo CD's health check waits for a status that no controller writes.

## What happens
Health checks read an object's `status`. A custom resource whose controller does not run, does not watch its
namespace, or is configured not to write a status (Sealed Secrets with status updates off) is Progressing
forever. The app never becomes Healthy, although nothing is broken.

## How whysync knows
The row is Progressing long after the sync, and the live object has no status. Without the live object: the
message of the row is the one that Argo CD's check has for an object without a status. A
HorizontalPodAutoscaler is Progressing while it has no conditions. Objects that were
created from it, such as the Secret of a SealedSecret, show that its controller works nevertheless.

## Fix
Let the controller run and write the status. If there will never be one: a custom health check in `argocd-cm`,
or `argocd.argoproj.io/ignore-healthcheck: "true"` on the object.

## When it is something else
This is normal in the first minutes after a sync. A claim or a load balancer that waits has its own rule.
A Warning event about the object shows that its controller has processed it, and why it is not ready.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.health.assess import health_of
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Missing, Object, integer, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.benign import lacks_status
from whysync.queries.commands import comment, kubectl, on_object, with_comment

_PROGRAMS = (
    "custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,"
    "COMMAND:.spec.template.spec.containers[*].command,ARGS:.spec.template.spec.containers[*].args"
)
_STATUS_SETTINGS = {
    ("bitnami.com", "SealedSecret"): (
        f"kubectl get deployments -A -o {quote(_PROGRAMS)} | grep -i sealed   # its controller",
        "# --update-status of the controller must not be false (chart sealed-secrets: updateStatus: true)",
    ),
}
_OTHER_VERSION = "its controller is most likely older or newer than the check"
_SUMMARIES = ("conditions", "health", "phase", "state", "status")
IGNORE = "/metadata/annotations/argocd.argoproj.io~1ignore-healthcheck"
AUTOSCALER = "HorizontalPodAutoscaler"
AUTOSCALER_CONDITIONS = "/metadata/annotations/autoscaling.alpha.kubernetes.io~1conditions"


@rule(cause="health-quirk", since="0.1")
def status_never_reported(case: Case) -> Iterator[Finding]:
    if case.synced_recently:
        return
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        symptom = SymptomId.unhealthy(row.key)
        if health_of_row(case, row)[0] != "Progressing" or _has_event(case, row):
            continue
        live = case.live_of(row.key)
        if live is None and not is_builtin(row.ref) and _says_no_status(row, health_of_row(case, row)[1]):
            yield _without_object(case, row)
        if live is None or live.meta.get("deletionTimestamp"):
            continue  # an object is Progressing while it is being deleted
        if is_builtin(row.ref):
            if row.kind == AUTOSCALER and not _has_conditions(live):
                yield _autoscaler_without_conditions(case, row, live)
            continue
        if live.status and not _is_unread(case, live):
            continue
        owned = case.owned_by(row.ref)
        declared = case.desired_of(row.key)
        if declared is not None and declared.at(IGNORE) == "true":
            continue  # excluded from the app's health
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.HIGH if owned else Confidence.MEDIUM,
            verdict=f"{row.ref} is Progressing because {_lack(live)}{_message_of(case, row)}; "
            + (_OTHER_VERSION if live.status else _why(row.ref, owned)),
            root=f"the controller of {row.ref.kind} writes no status" if owned else None,
            evidence=(
                case.cited_row(row, says="Argo CD waits for it"),
                cite(live, "/status", says="without a condition or phase" if live.status else "empty"),
                *(
                    cite(manifest, "/metadata/ownerReferences", says="created from it")
                    for manifest in owned[:2]
                ),
            ),
            fixes=tuple(_fixes(row.ref, works=bool(owned), is_declared=declared is not None)),
        )


def _fixes(ref: Ref, *, works: bool, is_declared: bool) -> Iterator[Fix]:
    """The exclusion hides problems: it is first only if the object works and no setting is known."""
    is_configurable = (ref.group, ref.kind) in _STATUS_SETTINGS
    exclude = Fix.change(
        ref,
        Set(pointer=IGNORE, value="true"),
        title="Exclude it from the app's health" + ("" if works else ", if there will never be a status"),
        risk="real problems of this object are not reported anymore",
    )
    writer = _status_writer(ref, works=works)
    ordered = (exclude, writer) if works and not is_configurable else (writer, exclude)
    yield from (fix for fix in ordered if fix is writer or is_declared)


def _has_event(case: Case, row: ResourceRow) -> bool:
    """Does an event about it show that a controller has processed it, and report why it is not ready?"""
    return any(
        s.kind is SymptomKind.EVENT and s.ref is not None and s.ref.key == row.key for s in case.symptoms
    )


def _has_conditions(autoscaler: Manifest) -> bool:
    """Version v1 of an autoscaler has its conditions in an annotation, later versions in the status."""
    annotated = not isinstance(autoscaler.at(AUTOSCALER_CONDITIONS), Missing)
    return annotated or bool(items(autoscaler.status.get("conditions")))


def _autoscaler_without_conditions(case: Case, row: ResourceRow, live: Manifest) -> Finding:
    return Finding(
        about=row.ref,
        explains=(SymptomId.unhealthy(row.key),),
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is Progressing because it has no conditions, which Argo CD waits for"
        f"{_message_of(case, row)}: the controller of autoscalers has not processed it, or this API version"
        " does not have them",
        evidence=(
            case.cited_row(row, says="Argo CD waits for conditions"),
            cite(live, "/apiVersion", says="the version in which it was read"),
            cite(live, "/status", says="without conditions"),
        ),
        fixes=(
            Fix.run(
                with_comment(
                    kubectl("get", "hpa.v2.autoscaling", row.name, "-o", "yaml", namespace=row.namespace),
                    "status.conditions: none there either? Its events show why",
                ),
                on_object("describe", row.ref),
                title="Look at it in version v2; if it has conditions there, declare autoscaling/v2 in Git",
            ),
        ),
    )


def _status_writer(ref: Ref, *, works: bool) -> Fix:
    if not works:
        return Fix.run(
            "kubectl get pods -A     # does the controller of this kind run?",
            title="Check that the controller of this kind runs and writes the status",
        )
    setting = _STATUS_SETTINGS.get((ref.group, ref.kind))
    if setting is not None:
        return Fix.run(
            *setting, title="Turn on status updates of its controller, for all objects of this kind"
        )
    return Fix.run(
        f"kubectl get deployments,statefulsets -A | grep -i {quote(ref.group.partition('.')[0] or ref.kind)}",
        comment("look for a setting of the controller that turns status updates off"),
        title="Let the controller of this kind write the status",
    )


def _is_unread(case: Case, live: Manifest) -> bool:
    """Does the check find nothing that it reads, in an object that works?

    It then answers as for an object without a status.
    """
    works = any(integer(live.status.get(name)) for name in ("availableReplicas", "readyReplicas"))
    if not works or any(live.status.get(name) for name in _SUMMARIES):
        return False
    bare = live.with_body({name: value for name, value in live.body.items() if name != "status"})
    return case.health_of(live) is not None and case.health_of(live) == case.health_of(bare)


def _message_of(case: Case, row: ResourceRow) -> str:
    """What the health check reports of it, in parentheses."""
    message = health_of_row(case, row)[1]
    return f" ({message})" if message else ""


def _lack(live: Manifest) -> str:
    if live.status:
        return "its status has no condition or phase, which Argo CD's check reads"
    return "it has no status"


def _says_no_status(row: ResourceRow, message: str) -> bool:
    """Does the check say so, in words or with the message that it has for an object without a status?"""
    if lacks_status(message):
        return True
    bare: Object = {"apiVersion": row.ref.api_version, "kind": row.kind, "metadata": {"name": row.name}}
    verdict = health_of(bare)
    return bool(message) and verdict is not None and verdict.message == message


def _without_object(case: Case, row: ResourceRow) -> Finding:
    """The health check itself says that there is no status."""
    return Finding(
        about=row.ref,
        explains=(SymptomId.unhealthy(row.key),),
        confidence=Confidence.MEDIUM,
        verdict=f"{row.ref} is Progressing because it has no status{_message_of(case, row)}:"
        f" {_why(row.ref, ())}",
        evidence=(case.cited_row(row, says="Argo CD waits for a status"),),
        fixes=(
            Fix.run(
                on_object("get", row.ref, "-o", "yaml"),
                "kubectl get pods -A     # does the controller of this kind run?",
                title="Check that the controller of this kind runs and writes the status; if it never does,"
                " replace the health check in argocd-cm",
            ),
        ),
    )


def _why(ref: Ref, owned: tuple[Manifest, ...]) -> str:
    """Objects that it owns show that its controller works."""
    if owned:
        return f"its controller works, because it created {owned[0].ref}, but does not write a status"
    return f"the controller of {ref.kind} does not run, does not watch it, or does not write one"
