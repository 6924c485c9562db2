"""Argo CD's settings exclude this kind, so it is neither compared nor applied.

## What happens
`resource.exclusions` (or a list of inclusions) in `argocd-cm` takes kinds out of Argo CD's sight,
for all Applications. An object of such a kind in Git gives a warning and is left alone: it is never
created, and its drift is never seen. Since Argo CD 3.0 some noisy kinds (Endpoints, Leases,
reports) are excluded by default.

## How whysync knows
`Resource … is excluded in the settings`.

## Fix
Take the object out of Git, or the kind off the exclusions.

## When it is something else
The project does not permit the kind: project-denied.
"""

from collections.abc import Iterator

from whysync.contracts.manifest import Manifest
from whysync.contracts.tree import fields
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import CONTROLLER, argocd_namespace, hard_refresh, remark, restart
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.resources import named_ref
from whysync.semantics.messages import ExcludedResource

EXCLUSIONS = "/data/resource.exclusions"
INCLUSIONS = "/data/resource.inclusions"


@rule(cause="excluded-resource", since="0.1")
def kind_excluded_by_settings(case: Case) -> Iterator[Finding]:
    settings = case.settings("argocd-cm")
    for group in grouped(case, ExcludedResource, by=lambda f: (f.resource.group, f.resource.kind)):
        ref = named_ref(case, group.failure.resource, group.ref)
        more = f" and {len(group.reports) - 1} more" if len(group.reports) > 1 else ""
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"{ref}{more}: Argo CD's settings exclude {ref.kind}, so it is never applied",
            evidence=(*group.cited(says="Argo CD leaves it alone"), *_lists(settings)),
            fixes=(
                Fix.run(
                    remark(f"delete {ref} from the source, and commit"),
                    title="Take it out of Git, if nobody needs it there",
                ),
                Fix.run(
                    f"kubectl -n {argocd_namespace(case)} edit configmap argocd-cm   # resource.exclusions",
                    restart(case, CONTROLLER),
                    hard_refresh(case),
                    title=f"Or take {ref.kind} off resource.exclusions",
                    risk="Argo CD then watches all objects of this kind, in every cluster: more load",
                ),
            ),
        )


def _lists(settings: Manifest | None) -> Iterator[Evidence]:
    if settings is None:
        return
    data = fields(settings.body.get("data"))
    for pointer in (EXCLUSIONS, INCLUSIONS):
        if pointer.rpartition("/")[2] in data:
            yield cite(settings, pointer, says="the list that leaves it out")
