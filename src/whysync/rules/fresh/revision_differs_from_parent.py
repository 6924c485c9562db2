"""The app follows another revision than the app that makes it.

## What happens
In an app of apps the parent follows one branch, and its children name a branch of their own. Whoever tests
a branch with the parent alone still gets the children's manifests from theirs. All is Synced, and the change
that people look for is not there.

## How whysync knows
The Application carries the tracking mark of another Application at hand, both take their manifests from one
repository, and they follow different revisions.

## Fix
Give the children the parent's revision (a Helm value or a Kustomize replacement for `targetRevision`), if
that is what is wanted.

## When it is something else
Children that are pinned on purpose: nothing is wrong then, and this is only a note. An app that follows a
branch or a commit of its own, without a parent, is no finding at all.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import Application
from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.case import same_repo
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest

REVISION = "/spec/source/targetRevision"


@rule(cause="wrong-revision", since="0.1")
def revision_differs_from_parent(case: Case) -> Iterator[Finding]:
    found = _parent(case)
    if found is None or case.app.spec.source is None or case.app.spec.sources:
        return
    manifest, parent = found
    own_source, parent_source = case.app.spec.source, parent.spec.source
    if (
        parent_source is None
        or own_source.chart
        or parent_source.chart
        or not same_repo(own_source.repo_url, parent_source.repo_url)
    ):
        return
    own_revision, parent_revision = (
        own_source.target_revision or "HEAD",
        parent_source.target_revision or "HEAD",
    )
    if own_revision == parent_revision:
        return
    yield Finding(
        about=case.application.ref,
        field=REVISION,
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        verdict=f"this app follows {own_revision}, while {parent.name}, which makes it,"
        f" follows {parent_revision}",
        evidence=(
            cite(case.application, REVISION, says="what this app follows"),
            cite(manifest, REVISION, says="what its parent follows, of the same repository"),
        ),
        fixes=(
            Fix.application(
                case.application.ref,
                Set(pointer=REVISION, value=parent_revision),
                title=f"Follow {parent_revision} too, if that is wanted:"
                f" change it where the parent renders it",
            ),
        ),
    )


def _parent(case: Case) -> tuple[Manifest, Application] | None:
    owner = text(case.application.at(TRACKING_ID_POINTER)).partition(":")[0].rpartition("_")[2]
    if not owner or owner == case.app.name:
        return None
    return case.index.apps_by_name.get(owner)
