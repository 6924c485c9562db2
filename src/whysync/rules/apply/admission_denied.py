"""A policy of the cluster refuses the object.

## What happens
The API server asks admission webhooks and policies (Kyverno, Gatekeeper, Pod Security, a
ValidatingAdmissionPolicy, a webhook of an operator) before it stores an object. One of them said
no, so the sync fails; other objects of the same wave were applied, later waves were not. Syncing
again ends the same way.

## How whysync knows
The API server names who refused it and repeats the reason.

## Fix
Change the field that the policy names, in Git. An exception in the policy is for the people who own
it.

## When it is something else
A webhook that did not answer at all is webhook-down: that says nothing about the object.
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
# How to look at the policy itself.
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
                *group.cited(says="the refusal in its own words"),
                *_field(failure, desired),
                *_policy(case, failure),
            ),
            fixes=(*_fixes(case, group, ref), *filter(None, (revert_in_git(case, ref),))),
            already_fixed=sync_again(
                case, reverted, "Git says by now what runs", "Sync again: Git says what runs"
            ),
        )


def _unhealthy(case: Case, ref: Ref) -> Iterator[SymptomId]:
    """A workload whose Pods are refused is not healthy for that reason."""
    yield from (id for id in (SymptomId.unhealthy(ref.key),) if id in case.symptom_ids)


def _lower_level(failure: AdmissionDenied) -> str:
    return "privileged" if failure.policy.startswith("baseline") else "baseline"


def _what(case: Case, ref: Ref) -> str:
    """Where the text names no object, it is one of those that the sync applies, not the Application."""
    return "an object of this sync" if ref.key == case.application.ref.key else str(ref)


def denier(failure: AdmissionDenied) -> str:
    """`Kyverno policy require-limits, rule check-limits`."""
    name = failure.policy or failure.webhook
    of_rule = f", rule {failure.rule}" if failure.rule else ""
    binding = f" (binding {failure.binding})" if failure.binding else ""
    return f"{ENGINES[failure.engine]} {name}{of_rule}{binding}".strip()


def _field(failure: AdmissionDenied, desired: Manifest | None) -> Iterator[Evidence]:
    if failure.pointer and desired is not None:
        yield cite(desired, failure.pointer, says="the field that the policy speaks of, as Git has it")


def _policy(case: Case, failure: AdmissionDenied) -> Iterator[Evidence]:
    """The policy object, where it is at hand: the people to ask are in its annotations."""
    if not failure.policy or failure.engine is PolicyEngine.POD_SECURITY:
        return
    for manifest in case.index.snapshot.live:
        if manifest.ref.name == failure.policy and "olicy" in manifest.ref.kind:
            yield cite(manifest, "/metadata/name", says="the policy")


def _fixes(case: Case, group: FailureGroup[AdmissionDenied], ref: Ref) -> Iterator[Fix]:
    failure = group.failure
    field = failure.pointer or "what it names"
    sync_command = sync(case)
    if failure.engine is PolicyEngine.POD_SECURITY:
        namespace = ref.namespace or case.destination_namespace
        yield Fix.run(
            comment(f"set the securityContext fields that the message lists, on {ref}, and commit"),
            sync_command,
            title="Give the Pods the securityContext that the message lists",
        )
        yield Fix.run(
            kubectl("label", "namespace", namespace, f"{ENFORCE}={_lower_level(failure)}", "--overwrite"),
            sync_command,
            title="Or lower the namespace's Pod Security level",
            risk="every Pod of the namespace may then do more; ask whoever owns it",
        )
        return
    show = LOOK.get(failure.engine)
    name = failure.policy or failure.webhook
    yield Fix.run(
        *((with_comment(kubectl(*show), name) if name else kubectl(*show),) if show else ()),
        *(
            (on_object("get", ref, "-o", "yaml") + "   # what is live, if anything",)
            if ref.key != case.application.ref.key
            else ()
        ),
        sync_command,
        title=f"Change {field} in Git so that the policy is met, then sync",
    )
