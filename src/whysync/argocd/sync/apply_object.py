"""One object written to the cluster, the way its options ask for. Mirrors `applyObject`, Argo CD 3.6."""

from __future__ import annotations

from whysync.argocd.sync import messages
from whysync.argocd.sync.cluster_ops import ClusterOps, Mode, Refused
from whysync.argocd.sync.csa_migration import migrate
from whysync.argocd.sync.options import ApplyMethod, Writing, writing_of
from whysync.argocd.sync.request import is_definition
from whysync.argocd.sync.results import Code
from whysync.argocd.sync.step_context import Step
from whysync.json_tree import Object, dig, fields
from whysync.kubernetes.api.ref import ref_of


def apply_object(step: Step, target: Object, live: Object | None, *, dry_run: bool) -> tuple[Code, str]:
    """What became of it, and what kubectl or the API server said."""
    writing = writing_of(target, live, step.options, dry_run=dry_run)
    ground, request = step.ground, step.request
    if writing.migrates and live is not None:
        old = step.options.migration_manager
        try:
            migrate(ground, live, from_manager=old, to_manager=request.manager)
        except Refused as problem:
            return Code.SYNC_FAILED, messages.not_migrated(str(ref_of(live).key), problem.message)
    mode = Mode(
        dry_run=dry_run,
        force=writing.force,
        validate=writing.validate,
        server_side=writing.method is ApplyMethod.SERVER_SIDE_APPLY,
        manager=request.manager,
    )
    try:
        message = _written(ground, target, live, writing, mode)
    except Refused as problem:
        return Code.SYNC_FAILED, problem.message
    if is_definition(target) and not dry_run:
        ground.established(ref_of(target).name)
    return Code.SYNCED, message


def _written(ground: ClusterOps, target: Object, live: Object | None, writing: Writing, mode: Mode) -> str:
    match writing.method:
        case ApplyMethod.APPLY | ApplyMethod.SERVER_SIDE_APPLY:
            return ground.apply(target, mode)
        case ApplyMethod.CREATE:
            return ground.create(target, mode)
        case ApplyMethod.REPLACE:
            return ground.replace(target, mode)
        case ApplyMethod.UPDATE:
            # replacing a Namespace or a definition could delete and recreate it, and all that hangs on it
            meta = {**fields(target.get("metadata"))}
            version = dig(live or {}, "metadata", "resourceVersion")
            if isinstance(version, str):
                meta["resourceVersion"] = version
            ground.update({**target, "metadata": meta}, dry_run=mode.dry_run)
            ref = ref_of(target)
            return messages.updated(ref.kind, ref.name)
