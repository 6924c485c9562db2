"""A mutating webhook changes the object as it comes in.

## What happens
An admission webhook rewrites objects on their way into the cluster: it adds a sidecar, labels,
tolerations, selectors, or replaces an image's tag by its digest. Git never had that. Every sync sends Git's
version, the webhook changes it again, and the difference stays.

## How whysync knows
The writer is known as admission software; or Argo CD is recorded as the writer of a value that is not Git's,
at the commit that was synced; or only the cluster has a container, a volume or a selector of the kind that
is injected; or an image differs only by the digest that replaces its tag.

## Fix
Let the API server compare, webhooks included: `ServerSideDiff=true,IncludeMutationWebhook=true`. Or declare
in Git what the webhook writes. Or keep the webhook away from this object, where it offers an exception.
Ignoring the field is offered only where no release changes it: an ignored `image` that every sync respects
is never deployed again.

## When it is something else
A value that a controller writes later, on its own, is owned by that controller. A default of the API server
or of a CRD needs no webhook.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Evidence, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.mutating_webhooks import mutating_webhook
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.field_writers import Writer, WriterKind, phrase
from whysync.queries.drift import both_sides, drift_finding, field_names, live_values, server_side_diff
from whysync.queries.ignore_rules import ignore_fields


@rule(cause="webhook-injected", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def mutated_by_webhook(case: Case) -> Iterator[Finding]:
    for drifts in _together(case):
        first, writer = drifts[0], drifts[0].writer
        # A webhook's change is recorded under the name of whoever sent the request.
        known = writer is not None and writer.kind is WriterKind.WEBHOOK
        seen = None if known else mutating_webhook(case, first.ref)
        who = phrase(writer) if writer is not None and known else _called(seen)
        did = "adds" if first.only_live else "rewrites"
        yield drift_finding(
            *drifts,
            writer=writer,
            confidence=Confidence.HIGH if known or (writer and seen) else Confidence.MEDIUM,
            verdict=f"{who} {did} {field_names(drifts)} of {first.ref} as it comes into the cluster",
            evidence=(*both_sides(drifts), *_looking(seen)),
            fixes=(
                server_side_diff(case, webhooks=True),
                Fix.change(
                    first.ref,
                    *live_values(drifts),
                    title="Declare in Git what the webhook writes",
                    risk="Git has to follow whenever the webhook writes another value",
                ),
                *ignore_fields(case, first.ref, *(drift.pointer for drift in drifts)),
            ),
        )


def _together(case: Case) -> Iterator[list[Drift]]:
    """What one webhook adds to an object, and what it rewrites in it."""
    for drifts in case.drifts_by_object(Mechanism.INJECTED):
        groups: dict[tuple[bool, Writer | None], list[Drift]] = {}
        for drift in drifts:
            groups.setdefault((drift.only_live, drift.writer), []).append(drift)
        yield from groups.values()


def _called(seen: tuple[Manifest, str] | None) -> str:
    name = text(seen[0].at(f"{seen[1]}/name")) if seen is not None else ""
    return f"admission webhook {name}" if name else "an admission webhook"


def _looking(seen: tuple[Manifest, str] | None) -> Iterator[Evidence]:
    if seen is not None:
        yield cite(seen[0], f"{seen[1]}/rules", says="this webhook sees every such object on its way in")
