"""The rules of an aggregated ClusterRole are filled in by Kubernetes.

## What happens
A Kubernetes controller fills in the `rules` of a ClusterRole with `aggregationRule` from all ClusterRoles
that its selectors match, and overwrites what Git declares. The `rules` in Git (often an empty list) always
differ.

## How whysync knows
The ClusterRole has an `aggregationRule`, and `rules` differs.

## Fix
Delete `rules` from the manifest in Git. To fix all ClusterRoles at once, set `ignoreAggregatedRoles: true`
under `resource.compareoptions` in `argocd-cm`.

## When it is something else
If the ClusterRole has no `aggregationRule`, a person or an operator changed it.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Mechanism, cite, rule
from whysync.queries.commands import argocd_namespace, kubectl
from whysync.queries.drift import drift_finding
from whysync.queries.ignore_rules import ignore_field

RULES = "/rules"
OPTION = '{"data":{"resource.compareoptions":"ignoreAggregatedRoles: true\\n"}}'


@rule(cause="aggregated-clusterrole", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def aggregated_cluster_role(case: Case) -> Iterator[Finding]:
    for drifts in case.drifts_by_object(Mechanism.AGGREGATED):
        first = drifts[0]
        declared = first.desired.body.get("rules") is not None
        yield drift_finding(
            *drifts,
            field=RULES,
            writer=first.writer,
            confidence=Confidence.HIGH,
            verdict=f"Kubernetes fills in the rules of {first.ref} from the ClusterRoles it aggregates",
            evidence=(
                cite(first.live, "/aggregationRule", says="aggregates other ClusterRoles")
                if first.live.body.get("aggregationRule") is not None
                else cite(first.desired, "/aggregationRule", says="aggregates other ClusterRoles"),
                *first.cited(),
            ),
            fixes=(
                *((Fix.remove(first.ref, RULES, title="Delete rules from Git"),) if declared else ()),
                ignore_field(case, first.ref, RULES, risk="none: Kubernetes computes these rules"),
                Fix.run(
                    kubectl("patch", "configmap", "argocd-cm", "--type=merge", "-p", OPTION,
                            namespace=argocd_namespace(case)),
                    title="For all apps: ignore the rules of aggregated ClusterRoles",
                    risk="replaces the other options in resource.compareoptions: merge them by hand",
                ),
            ),
        )  # fmt: skip
