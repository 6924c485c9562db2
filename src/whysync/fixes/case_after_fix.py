"""The Case after a fix is applied, for tests and proofs."""

from __future__ import annotations

import msgspec

from whysync.argocd.api.application import Application
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Fix, FixKind
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.fixes.edit import edited
from whysync.fixes.files import policy_edit
from whysync.fixes.patches import object_of
from whysync.json_tree import copy_object, dig, fields, items
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role


def applied(fix: Fix, case: Case) -> Case:
    """The Case after the fix; commands cannot be applied to a Case, which is then returned unchanged."""
    snapshot = case.index.snapshot
    name = case.app.qualified_name
    if fix.create is not None:
        created = Manifest(fix.create, role=Role.DESIRED)
        desired = {**snapshot.desired, name: (*case.desired, created)}
        return _remade(case, SnapshotIndex(msgspec.structs.replace(snapshot, desired=desired)))
    if fix.line:
        fix = policy_edit(fix.line, case)
    target = object_of(fix, case)
    if target is None:
        return case
    if fix.drops:
        rest = tuple(desired_object for desired_object in case.desired if desired_object is not target)
        return _remade(
            case, SnapshotIndex(msgspec.structs.replace(snapshot, desired={**snapshot.desired, name: rest}))
        )
    changed = target.with_body(edited(target.body, fix.edits))

    def swap(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
        return tuple(changed if manifest is target else manifest for manifest in manifests)

    match fix.kind:
        case FixKind.APPLICATION:
            snapshot = msgspec.structs.replace(snapshot, applications=swap(snapshot.applications))
        case FixKind.PROJECT:
            snapshot = msgspec.structs.replace(snapshot, projects=swap(snapshot.projects))
        case FixKind.SETTINGS:
            return _remade(case, with_settings_of(case.index, changed))
        case FixKind.MANIFEST | FixKind.POLICY | FixKind.COMMAND:
            snapshot = msgspec.structs.replace(
                snapshot, desired={**snapshot.desired, name: swap(case.desired)}
            )
    return _remade(case, SnapshotIndex(snapshot))


def with_settings_of(world: SnapshotIndex, changed: Manifest) -> SnapshotIndex:
    """The snapshot with this ConfigMap of Argo CD replaced or added."""
    unchanged = tuple(setting for setting in world.snapshot.settings if setting.ref.key != changed.ref.key)
    return world.with_settings((*unchanged, changed))


def _remade(case: Case, world: SnapshotIndex) -> Case:
    for manifest, app in world.decoded:
        if app.qualified_name == case.app.qualified_name:
            return compared_again(Case(world, manifest, app))
    return case


def compared_again(case: Case) -> Case:
    """The Application after another comparison: resources that no longer differ are Synced."""
    body = copy_object(case.application.body)
    for raw, row in zip(items(dig(body, "status", "resources")), case.app.status.resources, strict=False):
        resource = case.compared(row.key) if row.status == "OutOfSync" else None
        if resource is not None and resource.has_both_sides and not resource.is_modified:
            fields(raw)["status"] = "Synced"
    app, _ = decode(body, Application)
    return Case(case.index, case.application.with_body(body), app or case.app)
