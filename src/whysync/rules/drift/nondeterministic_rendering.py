"""The source renders another value each time.

## What happens
A template makes something up while rendering: a random password, a certificate of its own, a timestamp, a
checksum over one of these. Every rendering differs from the last one, so the app is OutOfSync after each
refresh although nobody committed anything, and a sync replaces the value (a password!) again.

## How whysync knows
Git is at the very revision that was synced, no other manager wrote the field, and the last sync applied
another value from the same source. Where what was applied is not known: the field is of the kind that
templates make up, Secret data, a rendered `caBundle`, a `checksum/…` annotation, a timestamp.

## Fix
Keep what the cluster has: ignore exactly this field, also when syncing. Then give the value a fixed home: an
existing Secret, explicit values, or cert-manager for certificates. Helm's `lookup` does not help: Argo CD
renders without a cluster.

## When it is something else
Another program may own the Secret (cert-manager, a reflector, External Secrets): then managedFields, owner
references or annotations name it. If Git has moved on since the last sync, it is simply a new commit.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.diagnosis.drift.mechanism import changed_in_git_since_sync, rendered_differently
from whysync.queries.commands import app_argument, comment
from whysync.queries.drift import both_sides, drift_finding, field_names
from whysync.queries.ignore_rules import ignore_field


@rule(cause="nondeterministic", needs={Fact.DESIRED, Fact.LIVE}, since="0.1", on_absence=True)
def nondeterministic_rendering(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.GENERATED):
        first = drifts[0]
        names = field_names(drifts)
        certain = any(_is_certain(case, drift) for drift in drifts)
        doubt = "" if certain or not _is_content(first) else ", or something in the cluster changed it"
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            verdict=f"{names} of {first.ref} comes out differently each time the source is rendered{doubt}",
            evidence=(
                *both_sides(drifts[:5]),
                cite(
                    case.application, "/status/sync/revision", says="compared at the commit that was synced"
                ),
            ),
            fixes=(
                ignore_field(
                    case,
                    first.ref,
                    *(drift.pointer for drift in drifts),
                    title=f"Keep what the cluster has: ignore {names} of this one object, also when syncing",
                    risk="until the value has a home of its own, nobody sees when it changes",
                ),
                Fix.run(
                    f"argocd app manifests {app_argument(case)} --source git > one.yaml",
                    f"argocd app get {app_argument(case)} --hard-refresh > /dev/null",
                    f"argocd app manifests {app_argument(case)} --source git | diff one.yaml -",
                    comment("what differs: give it in the values, or as an existing Secret, and commit"),
                    title="Render twice and compare; then give the value a fixed home (Secret, values)",
                ),
            ),
        )


def _is_content(drift: Drift) -> bool:
    """A value of a Secret or ConfigMap, which a person or a program may change as well."""
    return drift.ref.kind in ("Secret", "ConfigMap")


def _is_certain(case: Case, drift: Drift) -> bool:
    """What was applied last is known, and came from this very commit and source."""
    return changed_in_git_since_sync(case, drift) and rendered_differently(case, drift)
