"""The version of a workload that ran before the present one: the safest way back.

A rollout that fails leaves the Pods of the version before it in place. Their ReplicaSet (of a StatefulSet:
its ControllerRevision) holds the whole template, so what Git has to say to have that version again is known
to the last field, and that it runs has been seen. Where none of its Pods is left, such as with the strategy
Recreate, it counts only if the Deployment was available until the present version came.
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
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, integer, items, same, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import child, split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.already_fixed import sync_again
from whysync.queries.commands import on_object, with_comment
from whysync.queries.introducing_commit import available_until, revision_introduced_by, versions

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_TEMPLATE = "/spec/template"
_ANNOTATIONS = f"{_TEMPLATE}/metadata/annotations"
_HASH = "pod-template-hash"
_OF_CONTENT = ("checksum", "hash", "sha256")
_NOT_OF_GIT = ("/creationTimestamp", "~1restartedAt")
_MOST_EDITS = 12
_NAMED = 2
_MASK = b"<masked "


class PreviousRevision(msgspec.Struct, frozen=True, kw_only=True):
    """`edits` bring the manifest in Git back to it; `done` when Git says so already, and was not synced."""

    manifest: Manifest
    edits: tuple[Edit, ...]
    in_git: bool
    evidence: tuple[Evidence, ...]
    still_runs: bool = True
    """It still does; else it did until the present version came."""

    @property
    def description(self) -> str:
        return "what still runs" if self.still_runs else "what ran before"

    @property
    def summary(self) -> str:
        """`image shop:1.4.2`, `resources.limits.memory 512Mi`: what differs most tellingly, and how much."""
        words = [_in_words(edit) for edit in self.edits if edit.pointer.endswith("/image")]
        words = words or [_in_words(edit) for edit in self.edits]
        more = f" and {len(self.edits) - _NAMED} more" if len(self.edits) > _NAMED else ""
        return ", ".join(words[:_NAMED]) + (more if len(words) > _NAMED else "")


def with_revert(case: Case, finding: Finding, *, first: bool = True) -> Finding:
    """The finding with the way back as its first fix (or its last), where its workload has one."""
    previous = previous_revision_of(case, finding.about)
    if previous is None or finding.already_fixed is not None:
        return finding
    if previous.in_git:
        return replace(
            finding,
            evidence=(*previous.evidence, *finding.evidence),
            already_fixed=sync_again(
                case,
                True,
                f"Git has gone back by now to {previous.description} ({previous.summary})",
                f"Sync: Git has {previous.description}",
                *finding.fixes,
            ),
        )
    revert = replace(way_back(finding.about, previous), afterwards=tuple(_stuck(case, finding.about)))
    others = [fix for fix in finding.fixes if fix.edits != revert.edits]
    return replace(
        finding,
        evidence=(*previous.evidence, *finding.evidence),
        fixes=(revert, *others) if first else (*others, revert),
    )


def _stuck(case: Case, ref: Ref) -> Iterator[str]:
    """A StatefulSet does not replace a Pod that is not ready, not even to go back: somebody has to."""
    live = case.live_of(ref.key)
    if live is None or ref.kind != "StatefulSet" or live.spec.get("podManagementPolicy") == "Parallel":
        return
    new = text(live.status.get("updateRevision"))
    for story in case.pods_of(ref):
        if text(story.pod.labels.get("controller-revision-hash")) == new and not _is_ready(story.pod):
            yield with_comment(on_object("delete", story.pod.ref), "it is not replaced while it is not ready")


def way_back(ref: Ref, previous: PreviousRevision) -> Fix:
    image = any(edit.pointer.endswith("/image") for edit in previous.edits)
    return Fix.change(
        ref,
        *previous.edits,
        title=f"Go back in Git to {previous.description}: {previous.summary}",
        risk="what the new version has changed elsewhere, such as in a database, stays changed"
        if image
        else "",
    )


def previous_revision_of(case: Case, ref: Ref) -> PreviousRevision | None:
    """`None` too where Git asks for a third version by now, or where not all that differs is known."""
    live, declared = case.live_of(ref.key), case.desired_of(ref.key)
    if live is None or declared is None:
        return None
    current_template = fields(live.at(_TEMPLATE))
    for kept, template, evidence in _kept(case, live):
        if same(template, current_template):
            continue
        steps = tuple(_steps(declared.at(_TEMPLATE), current_template, template, _TEMPLATE))
        if not steps or len(steps) > _MOST_EDITS or any(_is_out_of_reach(edit) for edit, _ in steps):
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


def _kept(case: Case, live: Manifest) -> Iterator[tuple[Manifest, Object, tuple[Evidence, ...]]]:
    """What still has ready Pods below the workload, with its template, the newest first; else what had."""
    sets = versions(case, live)
    # The newest one is not that of the present version where its own could not be made.
    present = bool(sets) and same(_plain(sets[0].at(_TEMPLATE)), _plain(live.at(_TEMPLATE)))
    commit = revision_introduced_by(case, sets[0]) if present else None
    introduced_by = (commit,) if commit is not None else ()
    running = [manifest for manifest in sets if integer(manifest.status.get("readyReplicas"))]
    for manifest in running:
        evidence = cite(manifest, "/status/readyReplicas", says="the version before it still runs")
        yield manifest, _plain(manifest.at(_TEMPLATE)), (evidence, *introduced_by)
    if len(sets) > 1 and present and not running:
        available = available_until(live, sets[0])
        if available is not None:
            yield sets[1], _plain(sets[1].at(_TEMPLATE)), (available, *introduced_by)
    current, new = text(live.status.get("currentRevision")), text(live.status.get("updateRevision"))
    if not current or current == new:
        return
    for manifest in case.owned_by(live.ref):
        if manifest.ref.kind == "ControllerRevision" and manifest.ref.name == current:
            for story in case.pods_of(live.ref):
                ready = (
                    text(story.pod.labels.get("controller-revision-hash")) == current and not story.failing
                )
                if ready and _is_ready(story.pod):
                    evidence = cite(story.pod, "/status/phase", says="the version before it still runs")
                    yield manifest, _plain(dig(manifest.body, "data", "spec", "template")), (evidence,)
                    return


def _is_ready(pod: Manifest) -> bool:
    conditions = (fields(raw) for raw in items(pod.status.get("conditions")))
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions
    )


def _plain(value: Json | Missing) -> Object:
    """The template as its workload has it: without the label that tells ReplicaSets apart.

    A ControllerRevision is a patch, and says so inside.
    """
    template = {key: part for key, part in fields(value).items() if key != "$patch"}
    meta = fields(template.get("metadata"))
    labels = {key: part for key, part in fields(meta.get("labels")).items() if key != _HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def _steps(
    git: Json | Missing, now: Json | Missing, then: Json | Missing, at: str
) -> Iterator[tuple[Edit, bool]]:
    """Edits of Git, from the present template to the one before; and whether Git still has the present."""
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
        # In a list of named parts, those that did not change stay as Git writes them: without defaults.
        kept = [
            git_parts[n] if n in git_parts and same(current_parts.get(n), part) else part
            for n, part in previous_parts.items()
        ]
        yield Set(pointer=at, value=kept or then), _agree(git, now)


def _by_name(values: Json | Missing) -> dict[str, Json]:
    """A list of named parts; empty where it is none."""
    by_name = {text(fields(value).get("name")): value for value in items(values)}
    return by_name if "" not in by_name and len(by_name) == len(items(values)) else {}


def _agree(git: Json | Missing, now: Json | Missing) -> bool:
    if isinstance(git, (dict, list)) or isinstance(now, (dict, list)):
        return True  # what lies inside is Git's, with defaults filled in
    return same(git, now) or equivalence_of(git, now) is not None


def _is_out_of_reach(edit: Edit) -> bool:
    """A checksum of something else, which would have to go back too; a value that nobody may see."""
    parts = split(edit.pointer)
    annotated = parts[2:4] == ("metadata", "annotations")
    if annotated and any(word in parts[-1].lower() for word in _OF_CONTENT):
        return True
    return not isinstance(edit, Remove) and _MASK in msgspec.json.encode(edit.value)


def _is_done(declared: Manifest, edit: Edit) -> bool:
    value = declared.at(edit.pointer)
    return isinstance(value, Missing) if isinstance(edit, Remove) else same(value, edit.value)


def _in_words(edit: Edit) -> str:
    parts = [part for part in split(edit.pointer)[3:] if not part.isdecimal()]
    name = ".".join(parts[1:] if parts[:1] in (["containers"], ["initContainers"]) else parts)
    if isinstance(edit, Remove):
        return f"without {name}"
    value = edit.value
    return f"{name} {value}" if isinstance(value, (str, int)) else name
