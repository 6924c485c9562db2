"""Annotations and sync options of Argo CD 3.6; they are case-sensitive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PREFIX: Final = "argocd.argoproj.io/"

_OWN: Final = (
    "application-set-refresh", "auto-label-cluster-info", "client-side-apply-migration-manager",
    "compare-options", "deletion-approved", "hook", "hook-delete-policy", "hook-finalizer", "hydrate",
    "hydrate-timestamp", "ignore-default-links", "ignore-healthcheck", "ignore-resource-updates",
    "ignore-restart-policy", "installation-id", "instance", "kubernetes-version", "managed-by-url",
    "manifest-generate-paths", "project", "refresh", "refresh-timestamp", "secret-type", "skip-reconcile",
    "sync-options", "sync-wave", "tracking-id",
)  # fmt: skip
ANNOTATIONS: Final = tuple(f"{PREFIX}{name}" for name in _OWN)

_BOOLEANS: Final = (
    "ApplyOutOfSyncOnly", "ClientSideApplyMigration", "CreateNamespace", "FailOnSharedResource", "Force",
    "PruneLast", "Replace", "RespectIgnoreDifferences", "ServerSideApply", "SkipDryRunOnMissingResource",
    "Validate",
)  # fmt: skip
SYNC_OPTIONS: Final = (
    *(f"{name}={value}" for name in _BOOLEANS for value in ("true", "false")),
    "Prune=true", "Prune=false", "Prune=confirm", "Delete=true", "Delete=false", "Delete=confirm",
    "PrunePropagationPolicy=foreground", "PrunePropagationPolicy=background", "PrunePropagationPolicy=orphan",
)  # fmt: skip
COMPARE_OPTIONS: Final = (
    "IgnoreExtraneous", "ServerSideDiff=true", "ServerSideDiff=false", "IncludeMutationWebhook=true",
    "IncludeMutationWebhook=false",
)  # fmt: skip


def with_correct_case(name: str, known: Iterable[str]) -> str:
    """The known name that differs from this one only in case, spaces or quotes."""
    folded = name.replace(" ", "").strip("\"'").lower()
    return next((candidate for candidate in known if candidate.lower() == folded), "")
