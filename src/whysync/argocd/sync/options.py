"""Sync options: those of the operation, those of an object, and what follows from both.

Mirrors `SyncAppState`, and `applyObject`, `pruneObject` and `shouldUseServerSideApply` of gitops-engine,
Argo CD 3.6. Options are whole words, upper and lower case included. What surprises: `Force=true` counts on an
object, but not among the options of an Application; `Prune` is read from the live object alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from whysync.argocd.hooks.annotations import SYNC_OPTIONS, has_option, option_value
from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of

KUBECTL_MANAGER: Final = "kubectl-client-side-apply"
_MIGRATION_MANAGER: Final = "argocd.argoproj.io/client-side-apply-migration-manager"
_REPLACE: Final = "Replace=true"
_FORCE: Final = "Force=true"
_SERVER_SIDE: Final = "ServerSideApply=true"
_NOT_SERVER_SIDE: Final = "ServerSideApply=false"
_NO_VALIDATION: Final = "Validate=false"
_SKIP_DRY_RUN: Final = "SkipDryRunOnMissingResource=true"


class Propagation(StrEnum):
    FOREGROUND = "Foreground"
    BACKGROUND = "Background"
    ORPHAN = "Orphan"


class ApplyMethod(StrEnum):
    APPLY = "apply"
    SERVER_SIDE_APPLY = "server-side-apply"
    REPLACE = "replace"
    UPDATE = "update"
    """In place of a replacement, which would delete what lives in a namespace or is made of a definition."""
    CREATE = "create"


class OptionSource(StrEnum):
    """Who asked for it; the first that did."""

    OPERATION = "operation"
    TARGET = "target"
    LIVE = "live"
    DEFAULT = "default"


class PruneDecision(StrEnum):
    PRUNED = "pruned"
    NOT_ASKED = "not-asked"
    """The operation does not prune."""
    FORBIDDEN = "forbidden"
    """`Prune=false`."""
    UNCONFIRMED = "unconfirmed"
    """`Prune=confirm`, and nobody has."""

    @property
    def message(self) -> str:
        """What the result of the resource says."""
        match self:
            case PruneDecision.PRUNED:
                return "pruned"
            case PruneDecision.NOT_ASKED:
                return "ignored (requires pruning)"
            case PruneDecision.FORBIDDEN:
                return "ignored (no prune)"
            case PruneDecision.UNCONFIRMED:
                return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions:
    """What holds for all objects of one operation."""

    dry_run: bool = False
    prune: bool = False
    prune_option: str | None = None
    prune_last: bool = False
    propagation: Propagation = Propagation.FOREGROUND
    validate: bool = True
    replace: bool = False
    force: bool = False
    server_side_apply: bool = False
    migrate: bool = True
    migration_manager: str = KUBECTL_MANAGER
    skip_hooks: bool = False
    create_namespace: bool = False
    out_of_sync_only: bool = False
    fail_on_shared: bool = False
    respect_ignored: bool = False
    skip_dry_run_on_missing: bool = False

    @staticmethod
    def of(sync: Object, app: Object | None = None) -> SyncOptions:
        """Of `operation.sync`, raw; the Application may name the manager to take fields over from."""
        sync_options = [text(option) for option in items(sync.get("syncOptions"))]
        strategy = fields(sync.get("syncStrategy"))
        is_apply = isinstance(strategy.get("apply"), dict)
        manager = text(dig(app or {}, "metadata", "annotations", _MIGRATION_MANAGER))
        return SyncOptions(
            dry_run=sync.get("dryRun") is True,
            prune=sync.get("prune") is True,
            prune_option=next(
                (option.removeprefix("Prune=") for option in sync_options if option.startswith("Prune=")),
                None,
            ),
            prune_last="PruneLast=true" in sync_options,
            propagation=_propagation(sync_options),
            validate=_NO_VALIDATION not in sync_options,
            replace=_REPLACE in sync_options,
            force=is_forced(strategy),
            server_side_apply=_SERVER_SIDE in sync_options,
            migrate="ClientSideApplyMigration=false" not in sync_options,
            migration_manager=manager or KUBECTL_MANAGER,
            # a sync of some resources only runs no hooks; so self-heal never does
            skip_hooks=is_apply or bool(items(sync.get("resources"))),
            create_namespace="CreateNamespace=true" in sync_options,
            out_of_sync_only="ApplyOutOfSyncOnly=true" in sync_options,
            fail_on_shared="FailOnSharedResource=true" in sync_options,
            respect_ignored="RespectIgnoreDifferences=true" in sync_options,
            skip_dry_run_on_missing=_SKIP_DRY_RUN in sync_options,
        )


def is_forced(strategy: Object) -> bool:
    """Mirrors `SyncStrategy.Force`: the first of both ways that is there has the word."""
    for way in ("apply", "hook"):
        strategy_fields = strategy.get(way)
        if isinstance(strategy_fields, dict):
            return strategy_fields.get("force") is True
    return False


def _propagation(sync_options: list[str]) -> Propagation:
    """Several at once: the first in this order, not in the order written."""
    for policy in (Propagation.BACKGROUND, Propagation.FOREGROUND, Propagation.ORPHAN):
        if f"PrunePropagationPolicy={policy.value.lower()}" in sync_options:
            return policy
    return Propagation.FOREGROUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How an object is written, and who asked for that."""

    method: ApplyMethod
    asked_by: OptionSource
    force: bool
    """Delete it and create it anew where it cannot be changed."""
    validate: bool
    migrates: bool
    """Fields of the manager of client-side apply are taken over first."""


def writing_of(
    target: Object, live: Object | None, options: SyncOptions, *, dry_run: bool = False
) -> Writing:
    """Replacing wins over server-side apply. A dry run is always a client's, and never server-side."""
    server_side = uses_server_side_apply(target, options, dry_run=dry_run)
    asked_by = _asked_by(target, live, _REPLACE, of_operation=options.replace)
    method = ApplyMethod.SERVER_SIDE_APPLY if server_side else ApplyMethod.APPLY
    if asked_by is not OptionSource.DEFAULT:
        method = _replacing(target, live)
    elif server_side:
        asked_by = OptionSource.OPERATION if options.server_side_apply else OptionSource.TARGET
    forced = _asked_by(target, live, _FORCE, of_operation=options.force)
    return Writing(
        method=method,
        asked_by=asked_by,
        force=forced is not OptionSource.DEFAULT,
        validate=options.validate and not has_option(target, SYNC_OPTIONS, _NO_VALIDATION),
        migrates=server_side
        and not dry_run
        and options.migrate
        and needs_migration(live, options.migration_manager),
    )


def uses_server_side_apply(target: Object, options: SyncOptions, *, dry_run: bool = False) -> bool:
    if options.dry_run or dry_run or has_option(target, SYNC_OPTIONS, _NOT_SERVER_SIDE):
        return False
    return options.server_side_apply or has_option(target, SYNC_OPTIONS, _SERVER_SIDE)


def needs_migration(live: Object | None, manager: str) -> bool:
    """Does this manager own fields by `Update`, as kubectl's client-side apply does?"""
    rows = map(fields, items(dig(live or {}, "metadata", "managedFields")))
    return bool(manager) and any(
        row.get("manager") == manager and row.get("operation") == "Update" for row in rows
    )


def skips_missing_kind(target: Object, options: SyncOptions) -> bool:
    """May its kind be unknown until the sync has created the definition?"""
    return options.skip_dry_run_on_missing or has_option(target, SYNC_OPTIONS, _SKIP_DRY_RUN)


def prune_fate(live: Object, options: SyncOptions, *, confirmed: bool = False) -> PruneDecision:
    """The object's own word wins over the Application's."""
    own = option_value(live, SYNC_OPTIONS, "Prune")
    option = options.prune_option if own is None else own
    if option == "confirm" and not confirmed:
        return PruneDecision.UNCONFIRMED
    if not options.prune:
        return PruneDecision.NOT_ASKED
    return PruneDecision.FORBIDDEN if option == "false" else PruneDecision.PRUNED


def _replacing(target: Object, live: Object | None) -> ApplyMethod:
    if live is None:
        return ApplyMethod.CREATE
    ref = ref_of(target)
    is_definition = ref.group == "apiextensions.k8s.io" and ref.kind == "CustomResourceDefinition"
    return ApplyMethod.UPDATE if is_definition or ref.kind == "Namespace" else ApplyMethod.REPLACE


def _asked_by(target: Object, live: Object | None, option: str, *, of_operation: bool) -> OptionSource:
    if of_operation:
        return OptionSource.OPERATION
    if has_option(target, SYNC_OPTIONS, option):
        return OptionSource.TARGET
    if live is not None and has_option(live, SYNC_OPTIONS, option):
        return OptionSource.LIVE
    return OptionSource.DEFAULT
