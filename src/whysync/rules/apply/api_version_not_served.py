"""Git declares an API version that the cluster does not serve; it serves the kind in another one.

## What happens
Kubernetes removes old API versions (Ingress of `extensions/v1beta1`, PodDisruptionBudget and
CronJob of `v1beta1`), and so do operators when their CRDs grow up. After such an upgrade the
manifest cannot be applied, and one such manifest fails the whole sync.

## How whysync knows
Argo CD names the version that is asked for and the one that is installed; or the kind is one that
Kubernetes has moved, with the version that it moved to.

## Fix
Write the served version into `apiVersion`, and check the fields: versions differ in more than the
name. For a chart, take a release that knows the new version.

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
            title=f"Move the manifest, or its chart, to {served_version}, then sync",
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
                *group.cited(says="what is asked for, and what is installed"),
                *_declared(case, ref.key),
            ),
            fixes=(
                *(
                    (
                        Fix.change(
                            ref,
                            Set(pointer=API_VERSION, value=served_version),
                            title=f"Declare {served_version} in Git",
                            risk="fields may have been renamed or moved between the versions",
                        ),
                    )
                    if desired is not None
                    else ()
                ),
                move,
            ),
            already_fixed=already_fixed(
                desired is not None and desired.at(API_VERSION) == served_version, "", move
            ),
        )


def _joined(api_group: str, version: str) -> str:
    return "/".join(part for part in (api_group, version) if part) or "this version"


def _declared(case: Case, key: object) -> Iterator[Evidence]:
    for manifest in case.desired:
        if manifest.key == key:
            yield cite(manifest, API_VERSION, says="Git declares this version")
