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

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import both_ends
from whysync.queries.commands import on_object, with_comment
from whysync.queries.missing_objects import (
    WAVE,
    MissingObject,
    absence_evidence,
    absence_fixes,
    absence_of,
    absence_text,
    missing_objects,
    producer_of_missing,
)
from whysync.queries.operator_remedies import in_short, remedy
from whysync.queries.producers import Producer
from whysync.queries.reason_chain import chain_evidence, chain_of_producer, last_reason, symptoms_on


@rule(cause="dependency-missing", since="0.1")
def referenced_object_missing(case: Case) -> Iterator[Finding]:
    for need in missing_objects(case):
        producer = producer_of_missing(case, need)
        if producer is not None:
            yield _not_created(case, need, producer)
            continue
        absence = absence_of(case, need)
        yield Finding(
            about=need.needed_by or case.application.ref,
            field=WAVE if absence.not_yet_applied else None,
            explains=need.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if need.reported else Confidence.MEDIUM,
            verdict=absence_text(case, absence),
            root=f"{need.what} does not exist" if not need.key else None,
            evidence=absence_evidence(absence),
            fixes=tuple(absence_fixes(case, absence)),
        )


def _not_created(case: Case, need: MissingObject, producer: Producer) -> Finding:
    """Another program creates the object: the reason is what its source reports, or what that depends on."""
    source = producer.manifest.ref
    chain = chain_of_producer(case, source)
    reason, last_ref = last_reason(chain), chain[-1].ref if chain else source
    subject = f"{need.needed_by} needs " if need.needed_by else ""
    reporter = f"{last_ref}: " if last_ref != source else ""
    is_copy = source.kind == need.kind
    created = with_comment(on_object("get", source), "it creates the object once that is fixed")
    return Finding(
        about=need.needed_by or source,
        explains=tuple(dict.fromkeys((*need.explains, *symptoms_on(case, chain)))),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if producer.certain and reason is not None else Confidence.MEDIUM,
        verdict=f"{subject}{need.what}, which "
        + (
            f"is not copied from {source}"
            if is_copy
            else f"{source} has not created"
            if producer.certain
            else f"does not exist; by its name it is created from {source}, which is not ready"
        )
        + (f": {reporter}{in_short(reason.text)}" if reason is not None else ", and it does not report why"),
        root=both_ends(reason.text) if reason is not None else f"{need.what} does not exist",
        evidence=(
            *need.evidence,
            *(chain_evidence(chain) or (_cited_source(producer, is_copy=is_copy),)),
        ),
        fixes=(
            remedy(case, last_ref, reason.text, created, title_end="; do not create the object manually")
            if reason is not None
            else Fix.run(
                on_object("describe", last_ref),
                created,
                title=f"Find out why it is not copied from {source}: its annotations name the namespaces"
                if is_copy
                else f"Find out why {source} has not created it; do not create it manually",
            ),
        ),
    )


def _cited_source(producer: Producer, *, is_copy: bool) -> Evidence:
    if is_copy:
        return cite(producer.manifest, "/metadata/annotations", says="it is copied from this")
    return cite(producer.manifest, "/spec", says="it is created from this")
