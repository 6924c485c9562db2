"""An admission policy or webhook refuses the object.

## What happens
Before the API server stores an object, it calls admission webhooks and evaluates policies (Kyverno,
Gatekeeper, Pod Security, a ValidatingAdmissionPolicy, an operator's webhook). One of them denied the
request, so the sync fails. Other objects of the same wave were applied, later waves were not. Another sync
fails in the same way.

## How whysync knows
The API server names the policy or webhook that denied the request, and repeats its reason.

## Fix
Change the field that the policy names, in Git. Only the owners of the policy can grant an exception. If the
message names another object that already has the same host, port or target, decide which of the two keeps it.

## When it is something else
A webhook that did not answer at all is webhook-down, which says nothing about the object.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import listed, one_line
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Missing, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.admission import AdmissionDenied, PolicyEngine
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.named_objects import find_object, is_namespaced, is_unnamed, named_ref, placed
from whysync.queries.pod_creation import until_created
from whysync.queries.pod_security import demanded_edits, demanded_fields, forbidden_fields, is_only_unset
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
_WEBHOOKS = (
    "get",
    "validatingwebhookconfiguration,mutatingwebhookconfiguration",
    "-o",
    "custom-columns=NAME:.metadata.name,WEBHOOKS:.webhooks[*].name,"
    "NAMESPACE:.webhooks[*].clientConfig.service.namespace,SERVICE:.webhooks[*].clientConfig.service.name",
)


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
            verdict=f"{denier(failure)} refuses {_refused(case, ref, failure)}{group.others}"
            + (f": {one_line(failure.checks or failure.reason)}" if failure.reason else ""),
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
    return "an object of this sync" if is_unnamed(case, ref) else str(ref)


def _refused(case: Case, ref: Ref, failure: AdmissionDenied) -> str:
    """Pod Security accepts every workload, and refuses its Pods."""
    of_workload = failure.engine is PolicyEngine.POD_SECURITY and ref.kind != "Pod"
    return f"the Pods of {ref}" if of_workload and not is_unnamed(case, ref) else _what(case, ref)


def denier(failure: AdmissionDenied) -> str:
    """`Kyverno policy require-limits, rule check-limits`."""
    name = failure.policy or failure.webhook
    of_rule = f", rule {failure.rule}" if failure.rule else ""
    binding = f" (binding {failure.binding})" if failure.binding else ""
    return f"{ENGINES[failure.engine]} {name}{of_rule}{binding}".strip()


def _field(failure: AdmissionDenied, desired: Manifest | None) -> Iterator[Evidence]:
    if failure.pointer and desired is not None:
        unset = isinstance(desired.at(failure.pointer), Missing)
        says = "not set in Git, but required" if unset else "the field in Git that the policy rejects"
        yield cite(desired, failure.pointer, says=says)


def _policy(case: Case, failure: AdmissionDenied) -> Iterator[Evidence]:
    """The policy object, if it is live: its annotations often name its owners."""
    if not failure.policy or failure.engine is PolicyEngine.POD_SECURITY:
        return
    for key in case.index.live_keys_by_name.get(failure.policy, ()):
        if "olicy" in key.kind:
            for manifest in case.index.live_by_key[key]:
                yield cite(manifest, "/metadata/name", says="the policy")


def _secured(case: Case, ref: Ref, reason: str) -> Fix:
    """The Pod template as the level demands it; in Git if the manifest is in the facts."""
    desired = case.desired_of(ref.key)
    risk = "an image that runs as root, or needs these privileges, does not start then: test it first"
    if not is_only_unset(reason):
        forbidden = listed(forbidden_fields(reason)) or one_line(reason)
        return Fix.run(
            *(comment(f"{line}; commit") for line in demanded_fields(reason)),
            *find_object(case, ref),
            comment(f"remove from the Pod template of {_what(case, ref)}: {forbidden}; commit"),
            sync(case),
            title=f"Remove from {_what(case, ref)} in Git what the level forbids: {forbidden}",
            risk="a program that needs it fails without it: test it first",
        )
    edits = demanded_edits(desired, reason) if desired is not None else ()
    if edits:
        return Fix.change(ref, *edits, title="Set the securityContext that the level demands", risk=risk)
    return Fix.run(
        *find_object(case, ref),
        *(comment(f"{line}; commit") for line in demanded_fields(reason)),
        sync(case),
        title=f"Set the securityContext that the level demands, in the manifest of {_what(case, ref)}",
        risk=risk,
    )


def _meets_level(failure: AdmissionDenied, desired: Manifest | None) -> bool:
    """Does Git have all fields that the Pod Security level demands?"""
    if failure.engine is not PolicyEngine.POD_SECURITY or desired is None:
        return False
    return is_only_unset(failure.reason) and not demanded_edits(desired, failure.reason)


def _fixes(case: Case, group: FailureGroup[AdmissionDenied], ref: Ref) -> Iterator[Fix]:
    failure = group.failure
    sync_command = sync(case)
    if failure.engine is PolicyEngine.POD_SECURITY:
        namespace = ("" if is_unnamed(case, ref) else ref.namespace) or case.destination_namespace
        yield _secured(case, ref, failure.reason)
        yield Fix.run(
            kubectl("label", "namespace", namespace, f"{ENFORCE}={_lower_level(failure)}", "--overwrite"),
            *until_created(case, ref),
            title="Or lower the namespace's Pod Security level",
            risk="applies to every Pod of the namespace; ask its owner first",
        )
        return
    if failure.other.name:
        yield from _one_of_two(case, failure, ref)
        return
    fields = failure.fields
    desired = case.desired_of(ref.key)
    unset = desired is not None and isinstance(desired.at(failure.pointer or "/"), Missing)
    verb = "set" if unset else "set or change" if desired is None and failure.pointer else "change"
    yield Fix.run(
        *_rules_of(failure),
        *find_object(case, ref),
        comment(
            f"{verb} {listed(fields)} of {_what(case, ref)} in Git; commit" if fields else _read(failure)
        ),
        sync_command,
        title=f"{verb.capitalize()} {listed(fields)} in Git so that {_decider(failure)} accepts it, then sync"
        if fields
        else f"Change in Git what {_decider(failure)} rejects: {one_line(failure.reason)}"
        if failure.reason
        else f"Find out what {_decider(failure)} checks, and change it in Git",
    )


def _rules_of(failure: AdmissionDenied) -> Iterator[str]:
    """What the policy checks, or which program is behind the webhook."""
    name = failure.policy
    match failure.engine:
        case PolicyEngine.KYVERNO if name:
            namespace, _, plain = name.rpartition("/")
            kind = "policies.kyverno.io" if namespace else "clusterpolicies.kyverno.io"
            show = kubectl("get", kind, plain, "-o", "yaml", namespace=namespace)
            yield with_comment(show, "what it checks")
        case PolicyEngine.GATEKEEPER if name:
            constraint = f"{kubectl('get', 'constraints', '-o', 'name')} | grep {quote(f'/{name}$')}"
            yield with_comment(f"{constraint} | xargs kubectl get -o yaml", "what it checks")
        case PolicyEngine.ADMISSION_POLICY if name:
            show = kubectl("get", "validatingadmissionpolicy", name, "-o", "yaml")
            yield with_comment(show, "what it checks")
        case PolicyEngine.POD_SECURITY:
            return
        case _:
            only = f" | grep -F {quote(failure.webhook)}" if failure.webhook else ""
            yield with_comment(kubectl(*_WEBHOOKS) + only, "the program that decides")


def _decider(failure: AdmissionDenied) -> str:
    return "the webhook" if failure.engine is PolicyEngine.WEBHOOK else "the policy"


def _read(failure: AdmissionDenied) -> str:
    return f"the message names no field: ask the owners of {_decider(failure)} if it is not clear; commit"


def _one_of_two(case: Case, failure: AdmissionDenied, ref: Ref) -> Iterator[Fix]:
    """Two objects claim the same: a host, a port, a target. One of them has to give it up."""
    other = _other(case, failure, ref)
    live = case.live_of(other.key)
    owner = text(live.at(TRACKING_ID_POINTER)).partition(":")[0] if live is not None else ""
    managed = f"Application {owner} manages it" if owner else "its labels and annotations show who manages it"
    yield Fix.run(
        with_comment(
            on_object("get", placed(case, other), "-o", "yaml"), f"{managed}; compare what else it declares"
        ),
        comment(
            f"if {other} is out of date: add to {_what(case, ref)} what only {other} declares and is still"
            " needed; remove it where it is managed, commit, and let it be pruned; if nothing manages it:"
            f" {on_object('delete', placed(case, other))}"
        ),
        comment(f"if both are needed: change in {_what(case, ref)} in Git what they share; commit"),
        sync(case),
        title=f"Decide which of the two keeps it, {_what(case, ref)} or {other}; change the other one",
        risk=f"if {other} is removed, what both declare is missing until the sync, and everything else that"
        f" only {other} declares is gone: compare them first",
    )
    row = case.rows.get(other.key)
    if row is not None and row.requires_pruning:
        yield Fix.run(
            sync(case, "--prune"),
            title=f"Sync with prune: Git no longer has {other}, and a wave prunes before it creates",
            risk="prunes everything else that Git no longer has as well",
            destroys=(str(other),),
        )


def _other(case: Case, failure: AdmissionDenied, ref: Ref) -> Ref:
    """The object that the denied one collides with, as a row or a live object if it is one."""
    named = failure.other
    namespace = named.namespace or ref.namespace or case.destination_namespace
    for key in (*case.rows, *case.index.live_keys_by_name.get(named.name, ())):
        if (key.kind.lower(), key.namespace, key.name) == (named.kind.lower(), namespace, named.name):
            return Ref(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name)
    kind = named.kind.capitalize() if named.kind.islower() else named.kind
    return Ref(kind=kind, namespace=namespace if is_namespaced(case, kind) else "", name=named.name)
