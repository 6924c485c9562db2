"""An admission policy or webhook refuses the object.

## What happens
Before the API server stores an object, it calls admission webhooks and evaluates policies (Kyverno,
Gatekeeper, Pod Security, a ValidatingAdmissionPolicy, an operator's webhook). One of them denied the
request, so the sync fails. Other objects of the same wave were applied, later waves were not. Another sync
fails in the same way.

## How whysync knows
The API server names the policy or webhook that denied the request, and repeats its reason.

## Fix
Change the field that the policy names, in Git. Only the owners of the policy can grant an exception.

## When it is something else
A webhook that did not answer at all is webhook-down, which says nothing about the object.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import SymptomId
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.admission import AdmissionDenied, PolicyEngine
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.pod_security import demanded_edits, demanded_fields, is_only_unset
from whysync.queries.revert import is_reverted_in_git, revert_in_git

ENGINES = {
    PolicyEngine.KYVERNO: "Kyverno policy",
    PolicyEngine.GATEKEEPER: "Gatekeeper constraint",
    PolicyEngine.POD_SECURITY: "Pod Security level",
    PolicyEngine.POD_SECURITY_POLICY: "PodSecurityPolicy",
    PolicyEngine.SECURITY_CONTEXT_CONSTRAINTS: "SecurityContextConstraints",
    PolicyEngine.ADMISSION_POLICY: "ValidatingAdmissionPolicy",
    PolicyEngine.WEBHOOK: "admission webhook",
    PolicyEngine.PLUGIN: "admission plugin",
}
ENFORCE = "pod-security.kubernetes.io/enforce"
# The command that shows the policy.
LOOK = {
    PolicyEngine.KYVERNO: ("get", "clusterpolicy,policy", "-A"),
    PolicyEngine.GATEKEEPER: ("get", "constraints"),
    PolicyEngine.ADMISSION_POLICY: ("get", "validatingadmissionpolicy"),
    PolicyEngine.WEBHOOK: ("get", "validatingwebhookconfiguration,mutatingwebhookconfiguration"),
}


@rule(cause="admission-denied", since="0.1")
def admission_denied(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, AdmissionDenied, by=lambda f: (f.engine, f.webhook, f.policy, f.rule, f.reason or f.text)
    ):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        desired = case.desired_of(ref.key)
        reverted = len(group.resources) == 1 and is_reverted_in_git(case, ref, group.explains)
        yield Finding(
            about=ref,
            field=failure.pointer or None,
            explains=tuple(dict.fromkeys((*group.explains, *_unhealthy(case, ref)))),
            because=group.explains if failure.inner is not None else (),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{denier(failure)} refuses {_what(case, ref)}{group.others}"
            + (f": {one_line(failure.reason)}" if failure.reason else ""),
            root=one_line(failure.reason) or None,
            evidence=(
                *group.cited(says="the denial, as the API server reports it"),
                *_field(failure, desired),
                *_policy(case, failure),
            ),
            fixes=(*_fixes(case, group, ref), *filter(None, (revert_in_git(case, ref),))),
            already_fixed=sync_again(
                case,
                "the change was reverted in Git",
                "Sync again: the change was reverted in Git",
                when=reverted,
            )
            or sync_again(
                case,
                "Git has the securityContext that the level demands",
                "Sync again: Git is corrected",
                when=_meets_level(failure, desired),
            ),
        )


def _unhealthy(case: Case, ref: Ref) -> Iterator[SymptomId]:
    """The health symptom of a workload whose Pods are denied."""
    yield from (id for id in (SymptomId.unhealthy(ref.key),) if id in case.symptom_ids)


def _lower_level(failure: AdmissionDenied) -> str:
    return "privileged" if failure.policy.startswith("baseline") else "baseline"


def _what(case: Case, ref: Ref) -> str:
    """A message without an object is about one that the sync applies, not about the Application."""
    return "an object of this sync" if ref.key == case.application.ref.key else str(ref)


def denier(failure: AdmissionDenied) -> str:
    """`Kyverno policy require-limits, rule check-limits`."""
    name = failure.policy or failure.webhook
    of_rule = f", rule {failure.rule}" if failure.rule else ""
    binding = f" (binding {failure.binding})" if failure.binding else ""
    return f"{ENGINES[failure.engine]} {name}{of_rule}{binding}".strip()


def _field(failure: AdmissionDenied, desired: Manifest | None) -> Iterator[Evidence]:
    if failure.pointer and desired is not None:
        yield cite(desired, failure.pointer, says="the field in Git that the policy rejects")


def _policy(case: Case, failure: AdmissionDenied) -> Iterator[Evidence]:
    """The policy object, if it is live: its annotations often name its owners."""
    if not failure.policy or failure.engine is PolicyEngine.POD_SECURITY:
        return
    for manifest in case.index.snapshot.live:
        if manifest.ref.name == failure.policy and "olicy" in manifest.ref.kind:
            yield cite(manifest, "/metadata/name", says="the policy")


def _secured(case: Case, ref: Ref, reason: str) -> Fix:
    """The Pod template as the level demands it; in Git if the manifest is in the facts."""
    desired = case.desired_of(ref.key)
    risk = "an image that runs as root, or needs these privileges, does not start then: test it first"
    if not is_only_unset(reason):
        return Fix.run(
            *(comment(f"{line}; commit") for line in demanded_fields(reason)),
            comment(f"remove from the Pod template of {ref} what the level forbids, and commit"),
            sync(case),
            title=f"Remove what the level forbids from {ref} in Git",
        )
    edits = demanded_edits(desired, reason) if desired is not None else ()
    if edits:
        return Fix.change(ref, *edits, title="Set the securityContext that the level demands", risk=risk)
    return Fix.run(
        *(comment(f"{line}; commit") for line in demanded_fields(reason)),
        sync(case),
        title=f"Set the securityContext that the level demands, in the manifest of {ref}",
        risk=risk,
    )


def _meets_level(failure: AdmissionDenied, desired: Manifest | None) -> bool:
    """Does Git have all fields that the Pod Security level demands?"""
    if failure.engine is not PolicyEngine.POD_SECURITY or desired is None:
        return False
    return is_only_unset(failure.reason) and not demanded_edits(desired, failure.reason)


def _fixes(case: Case, group: FailureGroup[AdmissionDenied], ref: Ref) -> Iterator[Fix]:
    failure = group.failure
    field = failure.pointer or "what the policy names"
    sync_command = sync(case)
    if failure.engine is PolicyEngine.POD_SECURITY:
        namespace = ref.namespace or case.destination_namespace
        yield _secured(case, ref, failure.reason)
        yield Fix.run(
            kubectl("label", "namespace", namespace, f"{ENFORCE}={_lower_level(failure)}", "--overwrite"),
            sync_command,
            title="Or lower the namespace's Pod Security level",
            risk="applies to every Pod of the namespace; ask its owner first",
        )
        return
    show = LOOK.get(failure.engine)
    name = failure.policy or failure.webhook
    yield Fix.run(
        *((with_comment(kubectl(*show), name) if name else kubectl(*show),) if show else ()),
        *(
            (on_object("get", ref, "-o", "yaml") + "   # the live object, if any",)
            if ref.key != case.application.ref.key
            else ()
        ),
        sync_command,
        title=f"Change {field} in Git so that the policy accepts it, then sync",
    )
