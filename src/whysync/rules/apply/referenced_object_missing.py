"""A Pod needs a Secret, ConfigMap, ServiceAccount or claim that does not exist, or an Ingress its class.

## What happens
The manifest refers to an object that does not exist: the Pod cannot start, a hook waits forever, a wave never
becomes healthy. Often the object is created in a later sync wave or phase than what needs it, or later by
another tool (External Secrets, Sealed Secrets); it then works only where the object exists from before.

## How whysync knows
Events and container states name it (`secret "x" not found`), or a Pod template refers to an object that is
not among the live ones of its kind. whysync then looks up where Git declares it, and in which phase and wave;
or from which live object another program creates it (an ExternalSecret, a Certificate, a SealedSecret, an
operator's custom resource, a Secret that is copied), and what that object reports.

## Fix
Create it, or apply it first: in an earlier phase or sync wave. Objects of the same wave have no order. A
PreSync hook cannot use what the Sync phase creates. If another program creates it, fix what that program
reports; a manual copy hides the error and is overwritten later.

## When it is something else
The object exists but lacks a key: config-error. It exists but the login with it fails: then the log reports
it (hook-failed, crashloop).
"""

from collections.abc import Iterator
from difflib import get_close_matches

from whysync.diagnosis import Case, Confidence, Evidence, Fact, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.sentences import both_ends
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.commands import comment, kubectl, on_object, sync, with_comment
from whysync.queries.missing_objects import (
    WAVE,
    MissingObject,
    comes_in_time,
    creation_commands,
    declared_source,
    missing_objects,
    names_of_kind,
    producer_of_missing,
    reorder_fixes,
)
from whysync.queries.operator_remedies import in_short, remedy
from whysync.queries.producers import Producer
from whysync.queries.reason_chain import chain_evidence, last_reason, reason_chain, symptoms_on
from whysync.queries.references import referenced_keys
from whysync.queries.sync_position import (
    phase_and_wave,
)

_CREATABLE = ("ConfigMap", "Secret", "ServiceAccount")


@rule(cause="dependency-missing", since="0.1")
def referenced_object_missing(case: Case) -> Iterator[Finding]:
    for need in missing_objects(case):
        producer = producer_of_missing(case, need)
        if producer is not None:
            yield _not_created(case, need, producer)
            continue
        source = declared_source(case, need)
        user = case.desired_of(need.needed_by.key) if need.needed_by else None
        late = source is not None and user is not None and not comes_in_time(need, source, user)
        yield Finding(
            about=need.needed_by or case.application.ref,
            field=None if source is None or late else WAVE,
            explains=need.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if need.reported else Confidence.MEDIUM,
            verdict=_verdict(case, need, source, user, late=late),
            root=f"{need.what} does not exist" if not need.key else None,
            evidence=(
                *need.evidence,
                *((need.pruned,) if need.pruned is not None else ()),
                *_places(source, user),
            ),
            fixes=tuple(_fixes(case, need, source, user, late=late)),
        )


def _not_created(case: Case, need: MissingObject, producer: Producer) -> Finding:
    """Another program creates the object: the reason is what its source reports, or what that depends on."""
    source = producer.manifest.ref
    chain = reason_chain(case, source)
    reason, last_ref = last_reason(chain), chain[-1].ref if chain else source
    subject = f"{need.needed_by} needs " if need.needed_by else ""
    reporter = f"{last_ref}: " if last_ref != source else ""
    created = with_comment(on_object("get", source), "it creates the object once that is fixed")
    return Finding(
        about=need.needed_by or source,
        explains=tuple(dict.fromkeys((*need.explains, *symptoms_on(case, chain)))),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if producer.certain and reason is not None else Confidence.MEDIUM,
        verdict=f"{subject}{need.what}, which "
        + (
            f"{source} has not created"
            if producer.certain
            else f"does not exist; by its name it is created from {source}, which is not ready"
        )
        + (f": {reporter}{in_short(reason.text)}" if reason is not None else ", and it does not report why"),
        root=both_ends(reason.text) if reason is not None else f"{need.what} does not exist",
        evidence=(
            *need.evidence,
            *(chain_evidence(chain) or (cite(producer.manifest, "/spec", says="it is created from this"),)),
        ),
        fixes=(
            remedy(case, last_ref, reason.text, created, title_end="; do not create the object manually")
            if reason is not None
            else Fix.run(
                on_object("describe", last_ref),
                created,
                title=f"Find out why {source} has not created it; do not create it manually",
            ),
        ),
    )


def _verdict(
    case: Case, need: MissingObject, source: Manifest | None, user: Manifest | None, *, late: bool
) -> str:
    subject = f"{need.needed_by} needs " if need.needed_by else ""
    missing = need.what
    if need.key:
        return f"{subject}key {need.key} of {missing}, which it does not have"
    if need.deleted_after_sync:
        return f"{subject}{missing}, a hook that its hook-delete-policy HookSucceeded deletes after the sync"
    if source is None and need.pruned is not None:
        return f"{subject}{missing}, which the last sync pruned because it is no longer in Git"
    if source is None:
        undeclared = ", and this Application does not declare it" if case.has(Fact.DESIRED) else ""
        return f"{subject}{missing}, which does not exist{undeclared}"
    created_from = "" if source.ref.kind == need.kind else f" created from {source.ref},"
    if late and user is not None:
        applied, needed = phase_and_wave(source), phase_and_wave(user)
        if applied == needed:
            return f"{subject}{missing},{created_from} in the same wave ({applied}), which has no order"
        order = f"in {applied}, but is needed in {needed}"
        return f"{subject}{missing},{created_from} which is applied too late: {order}"
    return (
        f"{subject}{missing},{created_from} which is declared in Git"
        f" ({phase_and_wave(source)}) but not in the cluster yet"
    )


def _places(source: Manifest | None, user: Manifest | None) -> Iterator[Evidence]:
    if source is not None:
        yield cite(source, "/metadata/annotations", says=f"when it is applied: {phase_and_wave(source)}")
    if source is not None and user is not None:
        yield cite(user, "/metadata/annotations", says=f"when it is needed: {phase_and_wave(user)}")


def _fixes(
    case: Case, need: MissingObject, source: Manifest | None, user: Manifest | None, *, late: bool
) -> Iterator[Fix]:
    sync_command = sync(case)
    if need.deleted_after_sync:
        yield Fix.run(
            comment(
                f"{need.kind} {need.name}: no hook annotation, or hook-delete-policy: BeforeHookCreation"
            ),
            sync_command,
            title="Keep it: make it a regular resource, or a hook that stays until the next sync",
        )
        return
    if late and source is not None and user is not None:
        yield from reorder_fixes(source, user)
        return
    if source is not None:
        yield Fix.run(
            on_object("get", source.ref), sync_command, title=f"Sync, so that {source.ref} is created first"
        )
        return
    similar = get_close_matches(need.name, names_of_kind(case, need), n=1)
    if similar and user is not None and need.pointer and user.at(need.pointer) == need.name:
        yield Fix.change(
            user.ref,
            Set(pointer=need.pointer, value=similar[0]),
            title=f"If {similar[0]} is meant: correct the name in Git",
        )
    elif similar:
        yield Fix.run(
            kubectl("get", need.kind.lower(), similar[0], namespace=need.namespace),
            title=f"If {similar[0]} is meant: correct the name in Git",
        )
    if need.pruned is not None:
        yield Fix.run(
            comment(f"the commit that removed {need.kind} {need.name}: git log --diff-filter=D -- PATH"),
            "git revert COMMIT && git push",
            title=f"Restore {need.kind} {need.name} in Git; argocd.argoproj.io/sync-options: Prune=false"
            " protects it from pruning",
        )
    if need.pruned is not None and need.kind not in _CREATABLE:
        return
    action = (
        f"Add key {need.key} to {need.kind} {need.name}" if need.key else f"Create {need.kind} {need.name}"
    )
    referrer = user or (case.live_of(need.needed_by.key) if need.needed_by is not None else None)
    keys = referenced_keys(referrer, need.kind, need.name) if referrer is not None else []
    unknown_keys = not keys and not need.key and need.kind in ("Secret", "ConfigMap")
    look = (
        with_comment(on_object("get", need.needed_by, "-o", "yaml"), "which keys of it are read")
        if need.needed_by is not None and unknown_keys
        else ""
    )
    yield Fix.run(
        *((look,) if look else ()),
        *creation_commands(need, keys),
        sync_command,
        title=f"{action}, then sync",
    )
    yield from _in_an_earlier_hook(case, need)


def _in_an_earlier_hook(case: Case, need: MissingObject) -> Iterator[Fix]:
    """A PreSync hook runs before the app's own resources are applied; the facts do not show whose it is."""
    needed_by = need.needed_by
    if needed_by is None or case.has(Fact.DESIRED) or need.key:
        return
    if not any(result.key == needed_by.key and result.hook_type == "PreSync" for result in case.results):
        return
    yield Fix.run(
        comment(f"{need.kind} {need.name}, annotations argocd.argoproj.io/hook: PreSync,"),
        comment("argocd.argoproj.io/sync-wave: '-1', argocd.argoproj.io/hook-delete-policy:"),
        comment(f"BeforeHookCreation; or make {needed_by} a PostSync hook; commit"),
        sync(case),
        title=f"If this app creates {need.kind} {need.name} itself: create it before the hook, which runs"
        " in PreSync",
    )
