"""The app tracks another revision than its parent app.

## What happens
In an app of apps the parent tracks one branch, and its children set a branch of their own. Whoever tests a
branch with the parent alone still gets the children's manifests from theirs. Everything is Synced, but the
expected change is missing.

## How whysync knows
The Application has the tracking id of another Application, both use the same repository, and they track
different revisions.

## Fix
Give the children the parent's revision (a Helm value or a Kustomize replacement for `targetRevision`), if
that is intended.

## When it is something else
Children that are pinned on purpose: then nothing is wrong, and this is only a note. An app without a parent
is never reported.
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
        verdict=f"this app tracks {own_revision}, but its parent Application {parent.name} tracks"
        f" {parent_revision}",
        evidence=(
            cite(case.application, REVISION, says="the revision of this app"),
            cite(
                manifest, REVISION, says=f"the revision of its parent {parent.name}, in the same repository"
            ),
        ),
        fixes=(
            Fix.application(
                case.application.ref,
                Set(pointer=REVISION, value=parent_revision),
                title=f"If intended, track {parent_revision} too: change it where the parent renders it",
            ),
        ),
    )


def _parent(case: Case) -> tuple[Manifest, Application] | None:
    owner = text(case.application.at(TRACKING_ID_POINTER)).partition(":")[0].rpartition("_")[2]
    if not owner or owner == case.app.name:
        return None
    return case.index.apps_by_name.get(owner)
