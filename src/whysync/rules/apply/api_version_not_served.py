"""Git declares an API version that the cluster does not serve; it serves the kind in another version.

## What happens
Kubernetes removes old API versions (Ingress in `extensions/v1beta1`, PodDisruptionBudget and CronJob in
`v1beta1`), and operators drop old versions of their CRDs. After such an upgrade the manifest cannot be
applied, and one such manifest fails the whole sync.

## How whysync knows
Argo CD names the requested and the installed version; or it is a kind that Kubernetes moved to another API
group or version.

## Fix
Set the served version in `apiVersion`, and check the fields: versions differ in more than their name. For a
chart, use a release that supports the new version.

## When it is something else
No version of the kind is served: its CRD is missing (missing-crd).
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.messages.patterns.apply import KindNotServed
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import kubectl, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

API_VERSION = "/apiVersion"


@rule(cause="deprecated-api", since="0.1")
def api_version_not_served(case: Case) -> Iterator[Finding]:
    for group in grouped(case, KindNotServed, by=lambda f: (f.kind, f.group, f.version)):
        failure = group.failure
        if not (failure.other_version or failure.other_group):
            continue
        ref = named_ref(case, failure.resource, group.ref)
        declared_version = _joined(failure.group or ref.group, failure.version)
        served_version = _joined(failure.other_group or failure.group or ref.group, failure.other_version)
        desired = case.desired_of(ref.key)
        move = Fix.run(
            kubectl("explain", failure.kind or ref.kind, f"--api-version={served_version}"),
            sync(case),
            title=f"Migrate the manifest, or its chart, to {served_version}, then sync",
        )
        yield Finding(
            about=ref,
            field=API_VERSION,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{ref}{group.others}: the cluster does not serve {declared_version};"
            f" it serves {served_version}",
            evidence=(
                *group.cited(says="the requested and the installed version"),
                *_declared(case, ref.key),
            ),
            fixes=(
                *(
                    (
                        Fix.change(
                            ref,
                            Set(pointer=API_VERSION, value=served_version),
                            title=f"Declare {served_version} in Git",
                            risk="fields may be renamed or moved between the versions: kubectl explain"
                            f" {failure.kind or ref.kind} --api-version={served_version} shows the new ones",
                        ),
                    )
                    if desired is not None
                    else (move,)
                ),
            ),
            already_fixed=already_fixed(
                "", move, when=desired is not None and desired.at(API_VERSION) == served_version
            ),
        )


def _joined(api_group: str, version: str) -> str:
    return "/".join(part for part in (api_group, version) if part) or "this version"


def _declared(case: Case, key: object) -> Iterator[Evidence]:
    for manifest in case.desired:
        if manifest.key == key:
            yield cite(manifest, API_VERSION, says="Git declares this version")
