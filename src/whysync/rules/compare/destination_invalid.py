"""The Application's destination has both or neither of `server` and `name`.

## What happens
`spec.destination` names a cluster by its URL (`server`) or by its name (`name`). With both, or with
neither, Argo CD rejects the Application, and nothing is compared.

## How whysync knows
`can't have both name and server defined`, `Destination server missing from app spec`.

## Fix
Keep one of the two. Argo CD's own cluster is called `in-cluster`.

## When it is something else
If only one is set and Argo CD has no such cluster, the cluster is not registered.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Remove, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import DestinationSpecInvalid
from whysync.queries.already_fixed import refresh_again
from whysync.queries.commands import app_argument, with_comment
from whysync.queries.group_failures import grouped

DESTINATION = "/spec/destination"


@rule(cause="cluster-not-registered", since="0.1")
def destination_invalid(case: Case) -> Iterator[Finding]:
    for group in grouped(case, DestinationSpecInvalid, by=lambda failure: failure.detail):
        detail = group.failure.detail
        destination = case.app.spec.destination
        yield Finding(
            about=case.application.ref,
            field=DESTINATION,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the Application's destination is invalid: {one_line(detail)}",
            evidence=(
                *group.cited(says="reported by Argo CD"),
                cite(case.application, DESTINATION, says="current destination"),
            ),
            fixes=tuple(_fixes(case)),
            already_fixed=refresh_again(
                case,
                "the current spec names exactly one cluster",
                "Refresh: the destination has been corrected",
                when=bool(destination.name) != bool(destination.server),
            ),
        )


def _fixes(case: Case) -> Iterator[Fix]:
    destination = case.app.spec.destination
    if destination.name and destination.server:
        for kept, dropped in (("server", "name"), ("name", "server")):
            yield Fix.application(
                case.application.ref,
                Remove(pointer=f"{DESTINATION}/{dropped}"),
                title=f"Keep {kept} and remove {dropped}",
            )
        return
    yield Fix.run(
        with_comment("argocd cluster list", "the registered clusters"),
        f"argocd app set {app_argument(case)} --dest-name NAME",
        title="Set the destination cluster",
    )
