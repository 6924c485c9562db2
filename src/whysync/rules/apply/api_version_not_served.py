"""Git declares an API version that the cluster does not serve; it serves the kind in another version.

## What happens
Kubernetes removes old API versions (Ingress in `extensions/v1beta1`, PodDisruptionBudget and CronJob in
`v1beta1`), and operators drop old versions of their CRDs. After such an upgrade the manifest cannot be
applied, and one such manifest fails the whole sync.

## How whysync knows
Argo CD names the requested and the installed version; or the kind is one of Kubernetes itself, which no CRD
defines, and the version is one that Kubernetes removed or does not have yet in an older release.

## Fix
Set the served version in `apiVersion`, and check the fields: versions differ in more than their name. For a
chart, use a release that supports the new version.

## When it is something else
No version of the kind is served: its CRD is missing (missing-crd).
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.kubernetes.schema.releases import NEWEST, OLDEST, span_of_kind
from whysync.messages.patterns.apply import KindNotServed
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import CONTROLLER, kubectl, restart, sync, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.removed_apis import is_kind_of_kubernetes, removal_of, replacement_of

API_VERSION = "/apiVersion"


@rule(cause="deprecated-api", since="0.1")
def api_version_not_served(case: Case) -> Iterator[Finding]:
    for group in grouped(case, KindNotServed, by=lambda f: (f.kind, f.group, f.version)):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        kind, api_group = failure.kind or ref.kind, failure.group or ref.group
        declared_version = _joined(api_group, failure.version or ref.version)
        if failure.other_version or failure.other_group:
            served_version = _joined(failure.other_group or api_group, failure.other_version)
            why = f"it serves {served_version}"
        elif is_kind_of_kubernetes(api_group, kind):
            served_version, why = _of_kubernetes(declared_version, kind)
        else:
            continue
        is_named = ref.key != case.application.ref.key
        refused = declared_version if is_named else f"{kind} in {declared_version}"
        desired = case.desired_of(ref.key)
        move = Fix.run(
            *(
                (kubectl("explain", kind.lower(), f"--api-version={served_version}"),)
                if served_version
                else ()
            ),
            sync(case),
            title=f"Migrate the manifest, or its chart, to {served_version}, then sync"
            if served_version
            else f"Remove the manifest from Git, or use a release of its chart without {kind}, then sync",
        )
        can_declare = desired is not None and bool(served_version)
        declare = Fix.change(
            ref,
            Set(pointer=API_VERSION, value=served_version),
            title=f"Declare {served_version} in Git",
            risk="fields may be renamed or moved between the versions: kubectl explain"
            f" {kind.lower()} --api-version={served_version} shows the new ones",
        )
        yield Finding(
            about=ref,
            field=API_VERSION,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH if why else Confidence.LOW,
            verdict=f"{ref}{group.others}: the cluster does not serve {refused}"
            + (
                f"; {why}"
                if why
                else ", which every current release of"
                " Kubernetes serves: the cluster is old, or what Argo CD knows of it is outdated"
            ),
            evidence=(
                *group.cited(says="the API server does not serve the version"),
                *_declared(case, ref.key),
            ),
            fixes=(declare if can_declare else move,) if why else (_check(case, kind),),
            already_fixed=already_fixed(
                "",
                move,
                when=can_declare and desired is not None and desired.at(API_VERSION) == served_version,
            ),
        )


def _of_kubernetes(declared_version: str, kind: str) -> tuple[str, str]:
    """The version to use instead, and why the declared one is not served; empty if that is not known."""
    instead = replacement_of(declared_version, kind)
    removed, span = removal_of(declared_version, kind), span_of_kind(declared_version, kind)
    use = f"; use {instead}" if instead else ""
    if removed is not None:
        return instead, f"Kubernetes removed it in {removed}{use or ', without a replacement'}"
    if span is None:
        return instead, f"Kubernetes has no such version of {kind}{use}"
    if span.last < NEWEST:
        return instead, f"Kubernetes removed it in 1.{span.last + 1}{use}"
    if span.first > OLDEST:
        return instead, f"it exists since Kubernetes 1.{span.first}, so the cluster is older{use}"
    return instead, ""


def _check(case: Case, kind: str) -> Fix:
    """Every current release has the version: is the cluster old, or what Argo CD knows of it?"""
    return Fix.run(
        kubectl("version"),
        with_comment(f"kubectl api-resources | grep -i {quote(kind.lower())}", "does the cluster serve it?"),
        with_comment(restart(case, CONTROLLER), "if it does: Argo CD reads the served kinds again"),
        title="Compare the release of the cluster with the version in Git",
        risk="a restarted controller reads all clusters again: comparisons wait for some minutes",
    )


def _joined(api_group: str, version: str) -> str:
    return "/".join(part for part in (api_group, version) if part) or "this version"


def _declared(case: Case, key: object) -> Iterator[Evidence]:
    for manifest in case.desired:
        if manifest.key == key:
            yield cite(manifest, API_VERSION, says="Git declares this version")
