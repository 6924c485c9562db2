"""The previous version of a workload, and the edits of Git that revert to it.

A failing rollout keeps the Pods of the previous version. Their ReplicaSet (of a StatefulSet: its
ControllerRevision) contains the whole template, so the edits are known exactly, and that it runs is proven.
If none of its Pods is left, as with the strategy Recreate, it counts only if the Deployment was available
until the current version was rolled out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from whysync.diagnosis.drift.equivalent_values import equivalence_of
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.finding import Finding
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.diagnosis.sentences import and_more
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, integer, items, same, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child, split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import on_object, with_comment
from whysync.queries.introducing_commit import (
    available_until,
    plain_template,
    revision_introduced_by,
    versions,
)

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_TEMPLATE = "/spec/template"
_ANNOTATIONS = f"{_TEMPLATE}/metadata/annotations"
_OF_CONTENT = ("checksum", "hash", "sha256")
_NOT_OF_GIT = ("/creationTimestamp", "~1restartedAt")
_MOST_EDITS = 12
_NAMED = 2
_MASK = b"<masked "


class PreviousRevision(msgspec.Struct, frozen=True, kw_only=True):
    """`edits` revert the manifest in Git to it; `in_git` if Git already has it but is not synced."""

    manifest: Manifest
    edits: tuple[Edit, ...]
    in_git: bool
    evidence: tuple[Evidence, ...]
    still_runs: bool = True
    """False if it ran until the current version was rolled out."""

    @property
    def description(self) -> str:
        return "the version that still runs" if self.still_runs else "the version that ran before"

    @property
    def summary(self) -> str:
        """The main differences: `image shop:1.4.2`, `resources.limits.memory 512Mi`."""
        words = [_edit_text(edit) for edit in self.edits if edit.pointer.endswith("/image")]
        words = words or [_edit_text(edit) for edit in self.edits]
        more = and_more(len(self.edits) - _NAMED)
        return ", ".join(words[:_NAMED]) + (more if len(words) > _NAMED else "")


def with_revert(case: Case, finding: Finding, *, first: bool = True) -> Finding:
    """The finding with a revert as its first (or last) fix, if the workload has a previous version."""
    previous = previous_revision_of(case, finding.about)
    if previous is None or finding.already_fixed is not None:
        return finding
    if previous.in_git:
        return replace(
            finding,
            evidence=(*previous.evidence, *finding.evidence),
            already_fixed=sync_again(
                case,
                f"Git is already reverted to {previous.description} ({previous.summary})",
                f"Sync: Git is reverted to {previous.description}",
                *finding.fixes,
            ),
        )
    revert = replace(
        revert_fix(finding.about, previous), afterwards=tuple(_pods_to_delete(case, finding.about))
    )
    others = [fix for fix in finding.fixes if fix.edits != revert.edits]
    return replace(
        finding,
        evidence=(*previous.evidence, *finding.evidence),
        fixes=(revert, *others) if first else (*others, revert),
    )


def _pods_to_delete(case: Case, ref: Ref) -> Iterator[str]:
    """Deletes Pods that are not ready: a StatefulSet does not replace them, not even for a revert."""
    live = case.live_of(ref.key)
    if live is None or ref.kind != "StatefulSet" or live.spec.get("podManagementPolicy") == "Parallel":
        return
    new = text(live.status.get("updateRevision"))
    for history in case.pods_of(ref):
        if text(history.pod.labels.get("controller-revision-hash")) == new and not _is_ready(history.pod):
            yield with_comment(
                on_object("delete", history.pod.ref),
                "the StatefulSet does not replace it while it is not ready",
            )


def revert_fix(ref: Ref, previous: PreviousRevision) -> Fix:
    image = any(edit.pointer.endswith("/image") for edit in previous.edits)
    return Fix.change(
        ref,
        *previous.edits,
        title=f"Revert Git to {previous.description}: {previous.summary}",
        risk="changes that the new version made elsewhere, such as in a database, are not reverted"
        if image
        else "",
    )


def previous_revision_of(case: Case, ref: Ref) -> PreviousRevision | None:
    """`None` also if Git declares a third version, or if not all differences are known."""
    live, declared = case.live_of(ref.key), case.desired_of(ref.key)
    if live is None or declared is None:
        return None
    current_template = fields(live.at(_TEMPLATE))
    for kept, template, evidence in _previous_versions(case, live):
        if same(template, current_template):
            continue
        steps = tuple(_steps(declared.at(_TEMPLATE), current_template, template, _TEMPLATE))
        if not steps or len(steps) > _MOST_EDITS or any(_cannot_be_proposed(edit) for edit, _ in steps):
            return None
        remaining = [(edit, current) for edit, current in steps if not _is_done(declared, edit)]
        if not all(current for _, current in remaining):
            return None
        edits = tuple(edit for edit, _ in remaining or steps)
        runs = kept.ref.kind != "ReplicaSet" or bool(integer(kept.status.get("readyReplicas")))
        return PreviousRevision(
            manifest=kept, edits=edits, in_git=not remaining, evidence=evidence, still_runs=runs
        )
    return None


def _previous_versions(case: Case, live: Manifest) -> Iterator[tuple[Manifest, Object, tuple[Evidence, ...]]]:
    """Previous versions with their template: those with ready Pods, newest first, else the last available."""
    sets = versions(case, live)
    # The newest ReplicaSet is an older version if the one of the current version could not be created.
    present = bool(sets) and same(plain_template(sets[0].at(_TEMPLATE)), plain_template(live.at(_TEMPLATE)))
    commit = revision_introduced_by(case, sets[0]) if present else None
    introduced_by = (commit,) if commit is not None else ()
    running = [manifest for manifest in sets if integer(manifest.status.get("readyReplicas"))]
    for manifest in running:
        evidence = cite(manifest, "/status/readyReplicas", says="ready Pods of the previous version")
        yield manifest, plain_template(manifest.at(_TEMPLATE)), (evidence, *introduced_by)
    if len(sets) > 1 and present and not running:
        available = available_until(live, sets[0])
        if available is not None:
            yield sets[1], plain_template(sets[1].at(_TEMPLATE)), (available, *introduced_by)
    current, new = text(live.status.get("currentRevision")), text(live.status.get("updateRevision"))
    if not current or current == new:
        return
    for manifest in case.owned_by(live.ref):
        if manifest.ref.kind == "ControllerRevision" and manifest.ref.name == current:
            for history in case.pods_of(live.ref):
                ready = (
                    text(history.pod.labels.get("controller-revision-hash")) == current
                    and not history.failing
                )
                if ready and _is_ready(history.pod):
                    evidence = cite(history.pod, "/status/phase", says="a Pod of the previous version")
                    yield (
                        manifest,
                        plain_template(dig(manifest.body, "data", "spec", "template")),
                        (evidence,),
                    )
                    return


def _is_ready(pod: Manifest) -> bool:
    conditions = (fields(raw) for raw in items(pod.status.get("conditions")))
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions
    )


def _steps(
    git: Json | Missing, now: Json | Missing, then: Json | Missing, at: str
) -> Iterator[tuple[Edit, bool]]:
    """Edits of Git from the current template to the previous one, and whether Git has the current value."""
    if same(now, then) or at.endswith(_NOT_OF_GIT):
        return
    git_parts, current_parts, previous_parts = _by_name(git), _by_name(now), _by_name(then)
    if at == _ANNOTATIONS or (isinstance(now, dict) and isinstance(then, dict)):
        for key in sorted({*fields(now), *fields(then)}):
            current_value, previous_value = fields(now).get(key, MISSING), fields(then).get(key, MISSING)
            yield from _steps(fields(git).get(key, MISSING), current_value, previous_value, child(at, key))
    elif current_parts and list(current_parts) == list(previous_parts):
        for index, name in enumerate(git_parts):
            if name in current_parts:
                yield from _steps(
                    git_parts[name], current_parts[name], previous_parts[name], child(at, index)
                )
    elif isinstance(then, Missing):
        yield Remove(pointer=at), _agree(git, now)
    else:
        # Unchanged elements of a named list stay as in Git: without defaults.
        kept = [
            git_parts[n] if n in git_parts and same(current_parts.get(n), part) else part
            for n, part in previous_parts.items()
        ]
        yield Set(pointer=at, value=kept or then), _agree(git, now)


def _by_name(values: Json | Missing) -> dict[str, Json]:
    """List elements by name; empty if they have no unique names."""
    by_name = {text(fields(value).get("name")): value for value in items(values)}
    return by_name if "" not in by_name and len(by_name) == len(items(values)) else {}


def _agree(git: Json | Missing, now: Json | Missing) -> bool:
    if isinstance(git, (dict, list)) or isinstance(now, (dict, list)):
        return True  # a map or list is Git's with defaults added
    return same(git, now) or equivalence_of(git, now) is not None


def _cannot_be_proposed(edit: Edit) -> bool:
    """Can the edit not be proposed? A checksum of another object, or a masked value."""
    parts = split(edit.pointer)
    annotated = parts[2:4] == ("metadata", "annotations")
    if annotated and any(word in parts[-1].lower() for word in _OF_CONTENT):
        return True
    return not isinstance(edit, Remove) and _MASK in msgspec.json.encode(edit.value)


def _is_done(declared: Manifest, edit: Edit) -> bool:
    value = declared.at(edit.pointer)
    return isinstance(value, Missing) if isinstance(edit, Remove) else same(value, edit.value)


def _edit_text(edit: Edit) -> str:
    parts = [part for part in split(edit.pointer)[3:] if not part.isdecimal()]
    name = ".".join(parts[1:] if parts[:1] in (["containers"], ["initContainers"]) else parts)
    if isinstance(edit, Remove):
        return f"without {name}"
    value = edit.value
    return f"{name} {value}" if isinstance(value, (str, int)) else name
