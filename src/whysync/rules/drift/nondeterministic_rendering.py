"""The source renders a different value each time.

## What happens
A template generates a value during rendering: a random password, a self-signed certificate, a timestamp, or a
checksum over one of these. Every rendering differs from the last one, so the app is OutOfSync after each
refresh without a new commit, and every sync replaces the value (even a password).

## How whysync knows
Git is at the revision that was synced, no other manager wrote the field, and the last sync applied another
value from the same source. If the applied value is unknown, the field is one that templates often generate:
Secret data, a rendered `caBundle`, a `checksum/…` annotation, a timestamp.

## Fix
Keep the live value: ignore only this field, also during a sync. Then set the value explicitly: in an existing
Secret, in the values, or with cert-manager for certificates. Helm's `lookup` does not help, because Argo CD
renders without access to the cluster.

## When it is something else
Another program may own the Secret (cert-manager, a reflector, External Secrets): managedFields, owner
references or annotations name it. If Git has changed since the last sync, the new commit has not been synced.
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
        doubt = "" if certain or not _is_content(first) else ", or a program in the cluster changed it"
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            verdict=f"the source renders {names} of {first.ref} differently each time{doubt}",
            evidence=(
                *both_sides(drifts[:5]),
                cite(case.application, "/status/sync/revision", says="the compared revision, already synced"),
            ),
            fixes=(
                ignore_field(
                    case,
                    first.ref,
                    *(drift.pointer for drift in drifts),
                    title=f"Keep the live value: ignore {names} of this object, also during a sync",
                    risk="a change of the value is no longer shown",
                ),
                Fix.run(
                    f"argocd app manifests {app_argument(case)} --source git > one.yaml",
                    f"argocd app get {app_argument(case)} --hard-refresh > /dev/null",
                    f"argocd app manifests {app_argument(case)} --source git | diff one.yaml -",
                    comment("what differs: give it in the values, or as an existing Secret, and commit"),
                    title="Render twice and compare; then set the value explicitly (Secret, values)",
                ),
            ),
        )


def _is_content(drift: Drift) -> bool:
    """Is it a value of a Secret or ConfigMap, which a person or a program may also change?"""
    return drift.ref.kind in ("Secret", "ConfigMap")


def _is_certain(case: Case, drift: Drift) -> bool:
    """Is the last applied value known, and does it come from the current commit and source?"""
    return changed_in_git_since_sync(case, drift) and rendered_differently(case, drift)
