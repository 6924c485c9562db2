"""Crossplane: all kinds of all groups under `crossplane.io` that have no check of their own."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    absent,
    conditions,
    degraded,
    empty,
    healthy,
    in_order,
    is_,
    present,
    progressing,
    says,
    when,
)

GROUP: Final = "*.crossplane.io"

_PROVISIONING: Final = progressing("Provisioning ...")
_UP_TO_DATE: Final = healthy("Resource is up-to-date.")


def managed(*, without_status: tuple[str, ...], ready: tuple[str, ...]) -> Step:
    """An object without any status passes for healthy, whatever its kind; one with an empty status only
    if its kind never has one."""
    return in_order(
        when(absent(".status"), then=_UP_TO_DATE),
        when(empty(".status"), is_(".kind", *without_status), then=_UP_TO_DATE),
        when(
            absent(".status.conditions"),
            then=in_order(
                when(
                    is_(".kind", "ProviderConfig", "ClusterProviderConfig"),
                    present(".status.users"),
                    then=healthy("Resource is in use."),
                ),
                _PROVISIONING,
            ),
        ),
        conditions(
            says("LastAsyncOperation", "False", degraded("{message}")),
            says("Synced", "False", degraded("{message}")),
        ),
        conditions(when(is_("type", *ready), is_("status", "True"), then=_UP_TO_DATE)),
        _PROVISIONING,
    )


CHECKS: Final[dict[str, Check]] = {
    "*": managed(
        without_status=(
            "Composition",
            "CompositionRevision",
            "DeploymentRuntimeConfig",
            "ClusterProviderConfig",
            "ProviderConfig",
            "ProviderConfigUsage",
            "ControllerConfig",  # Crossplane 1 only
        ),
        ready=("Ready", "Healthy", "Offered", "Established", "ValidPipeline", "RevisionHealthy"),
    )
}
