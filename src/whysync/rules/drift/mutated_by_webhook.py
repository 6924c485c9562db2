"""A mutating admission webhook changes the object.

## What happens
An admission webhook modifies objects when they are written: it adds a sidecar, labels, tolerations or
selectors, or replaces an image tag by its digest. Git does not declare these changes. Every sync sends Git's
version, the webhook modifies it again, and the difference stays.

## How whysync knows
The recorded writer is an admission controller; or Argo CD is recorded as the writer of a value that is not in
the synced commit; or only the live object has a container, a volume or a selector that webhooks usually
inject; or an image differs only by the digest that replaces its tag; or a mutating policy in the cluster
(Kyverno, Gatekeeper, MutatingAdmissionPolicy) selects the object and names the field. In an app whose diff
includes webhooks, a difference that nothing else explains has two readings, at low confidence: the webhook
changes a dry run differently, or someone changed the object after the last sync.

## Fix
Use server-side diff including webhooks: `ServerSideDiff=true,IncludeMutationWebhook=true`. Or declare in Git
what the webhook writes. Or exclude this object from the webhook, if the webhook supports that. whysync
suggests to ignore the field only if releases do not change it: a new value of an ignored `image` is never
deployed.

## When it is something else
If a controller writes the value later, the controller owns it. Defaults of the API server or of a CRD need no
webhook.
"""

from collections.abc import Iterator, Sequence

from whysync.diagnosis import Case, Confidence, Drift, Evidence, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.mechanism import compares_with_webhooks
from whysync.diagnosis.drift.mutating_webhooks import mutating_policy, mutating_webhook
from whysync.diagnosis.finding import EvidenceKey, KeyKind
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import without_indexes
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.queries.drift import (
    COMPARE_OPTIONS_POINTER,
    both_sides,
    drift_finding,
    field_names,
    find_writer,
    live_values,
    restore_from_git,
    server_side_diff,
)
from whysync.queries.ignore_rules import ignore_fields


@rule(cause="webhook-injected", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def mutated_by_webhook(case: Case) -> Iterator[Finding]:
    for drifts in _groups(case):
        first, writer = drifts[0], drifts[0].writer
        # A webhook's change is recorded under the name of whoever sent the request.
        known = writer is not None and writer.kind is WriterKind.WEBHOOK
        webhook = None if known else _source(case, first)
        who = phrase(writer) if writer is not None and known else _name_of(webhook)
        did = "adds" if first.only_live else "rewrites"
        yield drift_finding(
            *drifts,
            writer=writer,
            confidence=Confidence.HIGH if known or (writer and webhook) else Confidence.MEDIUM,
            verdict=f"{who} {did} {field_names(drifts)} of {first.ref} on admission",
            evidence=(
                *both_sides(drifts),
                *_webhook_evidence(webhook),
                *_comparison_evidence(case, first),
            ),
            key=_key(case, first, webhook),
            fixes=(
                *_include_webhooks(case, first),
                *_declare(drifts),
                *ignore_fields(case, first.ref, *(drift.pointer for drift in drifts)),
            ),
        )
    for drifts in case.drifts_by_object(Mechanism.NOT_AS_DRY_RUN):
        yield _undecided(case, drifts)


def _undecided(case: Case, drifts: Sequence[Drift]) -> Finding:
    """The app's diff includes webhooks, and nothing records who wrote the fields."""
    ref = drifts[0].ref
    return drift_finding(
        *drifts,
        writer=drifts[0].writer,
        confidence=Confidence.LOW,
        verdict=f"{field_names(drifts)} of {ref} is not what the dry run with webhooks returns: a webhook"
        " changes a dry run differently, or someone changed the live object",
        evidence=(*both_sides(drifts), *_comparison_evidence(case, drifts[0])),
        fixes=(
            find_writer(ref, hint="a webhook's change has the manager of the request, here Argo CD's"),
            *_declare(drifts),
            *ignore_fields(case, ref, *(drift.pointer for drift in drifts)),
            restore_from_git(case, drifts),
        ),
    )


def _source(case: Case, drift: Drift) -> tuple[Manifest, str] | None:
    """A policy that names the field says more than a webhook that is called for objects of the kind."""
    return mutating_policy(case, drift.ref, drift.pointer) or mutating_webhook(case, drift.ref)


def _include_webhooks(case: Case, drift: Drift) -> Iterator[Fix]:
    if not compares_with_webhooks(case, drift.desired):
        yield server_side_diff(case, webhooks=True)


def _declare(drifts: Sequence[Drift]) -> Iterator[Fix]:
    """The live values for Git, except those of a Secret: what a webhook fills in there stays out of Git."""
    if drifts[0].ref.kind != "Secret":
        yield Fix.change(
            drifts[0].ref,
            *live_values(drifts),
            title="Declare in Git what the webhook writes",
            risk="Git must be updated whenever the webhook writes another value",
        )


def _comparison_evidence(case: Case, drift: Drift) -> Iterator[Evidence]:
    if compares_with_webhooks(case, drift.desired):
        yield cite(
            case.application,
            COMPARE_OPTIONS_POINTER,
            says="Argo CD compares with a dry run that includes the changes of webhooks",
        )


def _groups(case: Case) -> Iterator[list[Drift]]:
    """The injected fields by object and writer, added and rewritten ones apart."""
    for drifts in case.drifts_by_object(Mechanism.INJECTED):
        groups: dict[tuple[bool, Writer | None], list[Drift]] = {}
        for drift in drifts:
            groups.setdefault((drift.only_live, drift.writer), []).append(drift)
        yield from groups.values()


def _name_of(webhook: tuple[Manifest, str] | None) -> str:
    if webhook is not None and _is_policy(webhook[0]):
        return str(webhook[0].ref)
    name = text(webhook[0].at(f"{webhook[1]}/name")) if webhook is not None else ""
    return f"admission webhook {name}" if name else "an admission webhook"


def _is_policy(source: Manifest) -> bool:
    return source.ref.kind != "MutatingWebhookConfiguration"


def _key(case: Case, drift: Drift, webhook: tuple[Manifest, str] | None) -> EvidenceKey | None:
    """The webhook and what it changes; without a known webhook, the writer of the field."""
    if webhook is None:
        return None
    configuration, pointer = webhook
    name = text(configuration.at(f"{pointer}/name")) or configuration.ref.name
    return EvidenceKey(
        kind=KeyKind.WEBHOOK,
        name=name,
        scope=case.app.spec.destination.server or case.app.spec.destination.name,
        detail=f"{drift.ref.kind} {without_indexes(drift.pointer)}",
    )


def _webhook_evidence(webhook: tuple[Manifest, str] | None) -> Iterator[Evidence]:
    if webhook is not None and _is_policy(webhook[0]):
        yield cite(webhook[0], webhook[1], says="the policy mutates objects of this kind")
    elif webhook is not None:
        yield cite(webhook[0], f"{webhook[1]}/rules", says="the webhook is called for objects of this kind")
