"""Revert a change: the commit that broke the source, or an object that the API server rejected.

Nothing of a rejected change was applied, so the live object has the previous values: Git can be set to them.
That is true only for differences of a new commit: other differences were made by others, and must not be
written to Git.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from shlex import quote
from typing import TYPE_CHECKING

from whysync.argocd.api.application import HealthCode, Source
from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis.drift.mechanism import Mechanism, mechanism_of
from whysync.diagnosis.fix import Fix
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.kubernetes.api.ref import Ref
from whysync.queries.drift import live_values
from whysync.queries.sources import is_commit, synced_commit

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_MOST = 12
_VERSION = re.compile(r"v?\d{1,6}\.\d")
_BAD = (HealthCode.DEGRADED, HealthCode.MISSING, HealthCode.UNKNOWN)


def revert_in_git(case: Case, ref: Ref) -> Fix | None:
    live = case.live_of(ref.key)
    drifts = [
        drift for drift in case.drifts if drift.ref.key == ref.key and drift.pointer != TRACKING_ID_POINTER
    ]
    if live is None or not drifts or len(drifts) > _MOST:
        return None
    health = case.health_of(live)
    if health is not None and health.code in _BAD:
        return None
    if any(mechanism_of(case, drift) is not Mechanism.NOT_SYNCED_YET for drift in drifts):
        return None
    return Fix.change(
        ref,
        *live_values(drifts),
        title="Revert the change: restore the old values"
        if case.is_predicted
        else "Or revert the change: set Git to the live values",
        risk="the purpose of the change is lost",
    )


def revert_commit(case: Case, source: Source | None) -> Iterator[Fix]:
    """Revert the commit that broke the source, if commits came after the last sync that succeeded."""
    good = synced_commit(case, source)
    bad = _broken_commit(case, source)
    if source is None or not good or not bad or good == bad or is_fixed_revision(source.target_revision):
        return
    log = f"git log --oneline {good[:8]}..{bad[:8]} -- {quote(source.path or '.')}"
    yield Fix.run(
        f"{log}   # which commit broke it?",
        "git revert --no-edit COMMIT",
        "git push",
        title=f"Or, as an immediate way out, revert the commit that broke it ({good[:8]} was good)",
        risk="everything else in that commit is reverted, too",
    )


def is_fixed_revision(revision: str) -> bool:
    """A commit or a version tag: a new commit on a branch does not change it."""
    return is_commit(revision) or _VERSION.match(revision) is not None


def _broken_commit(case: Case, source: Source | None) -> str:
    """The newest known commit of the source: of the branch, of the failed sync, of the comparison."""
    if source is None:
        return ""
    head = case.head_of(source.repo_url, source.target_revision)
    several = case.app.spec.sources
    index = several.index(source) if source in several else 0
    operation = case.operation
    result = operation.sync_result if operation is not None else None
    if head is not None:
        return head.commit
    known: list[str] = []
    if result is not None:
        known.append(result.revisions[index] if index < len(result.revisions) else result.revision)
    known.append(case.app.revisions[index] if index < len(case.app.revisions) else "")
    good = synced_commit(case, source)
    return next((commit for commit in known if is_commit(commit) and commit != good), "")


def is_reverted_in_git(case: Case, ref: Ref, explains: Iterable[SymptomId]) -> bool:
    """Was the sync of this object rejected, and is the change already reverted in Git?

    Objects that are rejected later, such as its Pods, do not count: Git and the cluster never differed.
    """
    if not any(explain.kind is SymptomKind.RESULT for explain in explains):
        return False
    resource = case.compared(ref.key)
    return resource is not None and resource.has_both_sides and not resource.is_modified
