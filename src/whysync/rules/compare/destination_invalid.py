"""The Application does not say in one clear way where it is to be deployed.

## What happens
`spec.destination` takes a cluster by its URL (`server`) or by its name (`name`). With both, or with neither,
Argo CD refuses the Application before it looks for any cluster. Nothing is compared.

## How whysync knows
`can't have both name and server defined`, `Destination server missing from app spec`.

## Fix
Keep one of the two. Argo CD's own cluster is called `in-cluster`.

## When it is something else
One is given, and Argo CD has no such cluster: then it is not registered.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import SourceSpecInvalid
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import app_argument, with_comment
from whysync.queries.group_failures import grouped

DESTINATION = "/spec/destination"


@rule(cause="cluster-not-registered", since="0.1")
def destination_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SourceSpecInvalid, by=lambda failure: failure.detail):
        detail = group.failure.detail
        if "estination" not in detail:
            continue
        given = case.app.spec.destination
        yield Finding(
            about=case.application.ref,
            field=DESTINATION,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the Application's destination cannot be used as it is written: {one_line(detail)}",
            evidence=(
                *group.cited(says="Argo CD refuses it"),
                cite(case.application, DESTINATION, says="the destination as it is"),
            ),
            fixes=tuple(_fixes(case)),
            already_fixed=refresh_again(
                case,
                bool(given.name) != bool(given.server),
                "by now it names one cluster",
                "Refresh: the destination has been corrected",
            ),
        )


def _fixes(case: Case) -> Iterator[Fix]:
    given = case.app.spec.destination
    if given.name and given.server:
        for kept, dropped in (("server", "name"), ("name", "server")):
            yield Fix.application(
                case.application.ref,
                Remove(pointer=f"{DESTINATION}/{dropped}"),
                title=f"Keep the {kept} and take out the {dropped}",
            )
        return
    yield Fix.run(
        with_comment("argocd cluster list", "the clusters that Argo CD knows"),
        f"argocd app set {app_argument(case)} --dest-name NAME",
        title="Name the cluster that it is to be deployed to",
    )
