"""The rules of an aggregated ClusterRole are filled in by Kubernetes.

## What happens
A ClusterRole with `aggregationRule` gets its `rules` from all ClusterRoles that its selectors match: a
controller of Kubernetes writes them, whatever Git says. Git's own `rules` (often an empty list) differ for
ever.

## How whysync knows
The ClusterRole has an `aggregationRule`, and `rules` is what differs.

## Fix
Delete `rules` from the manifest in Git. For all of them at once: `ignoreAggregatedRoles: true` under
`resource.compareoptions` in `argocd-cm`.

## When it is something else
A ClusterRole without `aggregationRule` was changed by a person or an operator.
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
            verdict=f"Kubernetes fills in the rules of {first.ref} from the ClusterRoles that it aggregates",
            evidence=(
                cite(first.live, "/aggregationRule", says="it aggregates others")
                if first.live.body.get("aggregationRule") is not None
                else cite(first.desired, "/aggregationRule", says="it aggregates others"),
                *first.cited(),
            ),
            fixes=(
                *((Fix.remove(first.ref, RULES, title="Delete rules from Git"),) if declared else ()),
                ignore_field(case, first.ref, RULES, risk="none: the rules are never Git's"),
                Fix.run(
                    kubectl("patch", "configmap", "argocd-cm", "--type=merge", "-p", OPTION,
                            namespace=argocd_namespace(case)),
                    title="For all apps: let Argo CD ignore rules of aggregated roles",
                    risk="replaces other options under resource.compareoptions: merge them by hand",
                ),
            ),
        )  # fmt: skip
