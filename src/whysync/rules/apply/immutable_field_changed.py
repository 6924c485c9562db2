"""Git changes a field that Kubernetes does not let anyone change.

## What happens
Some fields are fixed when an object is created: a Deployment's `spec.selector`, a Job's
`spec.template`, most of a StatefulSet's `spec`, a Service's `clusterIP`, a binding's `roleRef`. The API
server refuses the whole object, and the sync fails. Syncing again fails in the same way.

## How whysync knows
The API server's own words in the operation (`field is immutable`, `updates to statefulset spec for
fields other than …`), or hidden inside a server-side diff error.

## Fix
Take the change back in Git, so that the field has its live value again. Or recreate the object on
purpose (`Replace=true,Force=true` as its sync option): that deletes it first, with all that hangs on it.

## When it is something else
A webhook or policy that forbids the change says so with its own name: that is admission-denied.
"""

from collections.abc import Iterator

from whysync.contracts.manifest import Manifest
from whysync.contracts.ref import Ref
from whysync.contracts.tree import Missing
from whysync.diagnosis import Case, Confidence, Finding, Fix, Reported, Set, Severity, cite, rule
from whysync.diagnosis.resources import named_ref
from whysync.semantics.messages import ImmutableField

OPTIONS = "/metadata/annotations/argocd.argoproj.io~1sync-options"

# What goes with the object when it is deleted and made anew.
COSTS = {
    "Deployment": "all its Pods at once: the workload is down until the new ones are ready",
    "StatefulSet": "all its Pods at once; its volumes stay, as they belong to their claims",
    "DaemonSet": "all its Pods on every node at once",
    "Service": "its ClusterIP and any external load balancer address",
    "PersistentVolumeClaim": "the claim, and with reclaim policy Delete its data",
    "Job": "the finished run with its Pods and logs; it will run again",
}


@rule(cause="immutable-field", since="0.1")
def immutable_field_changed(case: Case) -> Iterator[Finding]:
    for report in case.failures(ImmutableField):
        failure = report.failure
        ref = named_ref(case, failure.resource, report.ref)
        desired, live = case.desired_of(ref.key), case.live_of(ref.key)
        field = failure.pointer or None
        yield Finding(
            about=ref,
            field=field,
            explains=report.symptoms,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}: {failure.field or 'a field'} cannot be changed after creation",
            evidence=(
                report.cite(says="the API server refuses the change"),
                *(cite(side, field, says="one side of it") for side in (desired, live) if side and field),
            ),
            fixes=tuple(_fixes(ref, field, desired, live)),
        )


def _fixes(ref: Ref, field: str | None, desired: Manifest | None, live: Manifest | None) -> Iterator[Fix]:
    if field and desired and live:
        value = live.at(field)
        if not isinstance(value, Missing) and value != desired.at(field):
            yield Fix.change(
                ref, Set(pointer=field, value=value), title="Give the field its live value again in Git"
            )
    else:
        yield Fix.run(
            "git revert COMMIT   # the one that changed the field",
            title="Take the change of this field back in Git",
        )
    cost = COSTS.get(ref.kind, "the object, and what belongs to it")
    if desired is not None:
        yield Fix.change(
            ref,
            Set(pointer=OPTIONS, value=_with_replace(desired)),
            title="Recreate it: Replace=true,Force=true on this object, for one sync",
            risk="take the option off again after the sync",
            destroys=(cost,),
        )
    else:
        place = f"-n {ref.namespace} " if ref.namespace else ""
        yield Fix.run(
            f"kubectl {place}delete {ref.kind.lower()} {ref.name}",
            "argocd app sync APP",
            title="Recreate it: delete the object, then sync",
            destroys=(cost,),
        )


def _with_replace(desired: Manifest) -> str:
    known = desired.at(OPTIONS)
    options = [option.strip() for option in known.split(",")] if isinstance(known, str) else []
    return ",".join(dict.fromkeys([*options, "Replace=true", "Force=true"]))
