"""Sync options of the operation and of objects, and the resulting apply method and prune decision.

Mirrors `SyncAppState`, and `applyObject`, `pruneObject` and `shouldUseServerSideApply` of gitops-engine,
Argo CD 3.6. Options must match exactly, including case. `Force=true` has an effect on an object, but not as
option of an Application; `Prune` is only read from the live object.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

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
    """Instead of replace for Namespaces and CRDs, whose deletion would delete their contents."""
    CREATE = "create"


class OptionSource(StrEnum):
    """Where an option is set; the first one that applies."""

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
    """`Prune=confirm` without a confirmation."""

    @property
    def message(self) -> str:
        """The message of the resource's result."""
        match self:
            case PruneDecision.PRUNED:
                return "pruned"
            case PruneDecision.NOT_ASKED:
                return "ignored (requires pruning)"
            case PruneDecision.FORBIDDEN:
                return "ignored (no prune)"
            case PruneDecision.UNCONFIRMED:
                return ""


class SyncOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The sync options of an operation."""

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
        """From the raw `operation.sync`; `app` may name the manager to migrate fields from."""
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
            # a selective sync runs no hooks, and neither does self-heal
            skip_hooks=is_apply or bool(items(sync.get("resources"))),
            create_namespace="CreateNamespace=true" in sync_options,
            out_of_sync_only="ApplyOutOfSyncOnly=true" in sync_options,
            fail_on_shared="FailOnSharedResource=true" in sync_options,
            respect_ignored="RespectIgnoreDifferences=true" in sync_options,
            skip_dry_run_on_missing=_SKIP_DRY_RUN in sync_options,
        )


def is_forced(strategy: Object) -> bool:
    """Mirrors `SyncStrategy.Force`: `apply` takes precedence over `hook`."""
    for strategy_type in ("apply", "hook"):
        strategy_fields = strategy.get(strategy_type)
        if isinstance(strategy_fields, dict):
            return strategy_fields.get("force") is True
    return False


def _propagation(sync_options: list[str]) -> Propagation:
    """The first policy in this order, regardless of the order of the options."""
    for policy in (Propagation.BACKGROUND, Propagation.FOREGROUND, Propagation.ORPHAN):
        if f"PrunePropagationPolicy={policy.value.lower()}" in sync_options:
            return policy
    return Propagation.FOREGROUND


class WritePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How an object is written, and where that is configured."""

    method: ApplyMethod
    set_by: OptionSource
    force: bool
    """Delete and recreate the object if it cannot be changed."""
    validate: bool
    migrates: bool
    """Fields of the client-side apply manager are migrated first."""


def write_plan(
    target: Object, live: Object | None, options: SyncOptions, *, dry_run: bool = False
) -> WritePlan:
    """Replace takes precedence over server-side apply. A dry run is always client-side."""
    server_side = uses_server_side_apply(target, options, dry_run=dry_run)
    set_by = _set_by(target, live, _REPLACE, of_operation=options.replace)
    method = ApplyMethod.SERVER_SIDE_APPLY if server_side else ApplyMethod.APPLY
    if set_by is not OptionSource.DEFAULT:
        method = _replacing(target, live)
    elif server_side:
        set_by = OptionSource.OPERATION if options.server_side_apply else OptionSource.TARGET
    forced = _set_by(target, live, _FORCE, of_operation=options.force)
    return WritePlan(
        method=method,
        set_by=set_by,
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
    """Does this manager own fields with operation `Update`, as kubectl's client-side apply does?"""
    rows = map(fields, items(dig(live or {}, "metadata", "managedFields")))
    return bool(manager) and any(
        row.get("manager") == manager and row.get("operation") == "Update" for row in rows
    )


def skips_missing_kind(target: Object, options: SyncOptions) -> bool:
    """May the kind be missing until the sync has created its CRD?"""
    return options.skip_dry_run_on_missing or has_option(target, SYNC_OPTIONS, _SKIP_DRY_RUN)


def prune_decision(live: Object, options: SyncOptions, *, confirmed: bool = False) -> PruneDecision:
    """The object's option takes precedence over the Application's."""
    object_option = option_value(live, SYNC_OPTIONS, "Prune")
    option = options.prune_option if object_option is None else object_option
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


def _set_by(target: Object, live: Object | None, option: str, *, of_operation: bool) -> OptionSource:
    if of_operation:
        return OptionSource.OPERATION
    if has_option(target, SYNC_OPTIONS, option):
        return OptionSource.TARGET
    if live is not None and has_option(live, SYNC_OPTIONS, option):
        return OptionSource.LIVE
    return OptionSource.DEFAULT
