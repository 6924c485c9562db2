"""NetApp Astra: protection of applications by backups and snapshots."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    present,
    progressing,
    says,
    suspended,
    when,
)

GROUP: Final = "astra.netapp.io"

_NOT_YET: Final = progressing("No status available")

_RUN: Final = in_order(
    when(absent(".status?.state"), then=_NOT_YET),
    by(
        ".status.state",
        {"Completed": healthy("{.kind} Completed"), "Running": progressing("{.kind} Running")},
        other=degraded("{.status.state}"),
    ),
)

CHECKS: Final[dict[str, Check]] = {
    "AppVault": in_order(
        by(
            ".status?.state",
            {
                "available": healthy("{.kind} Available"),
                "Available": healthy("{.kind} Available"),
                "failed": degraded("{.kind} Failed"),
                "Failed": degraded("{.kind} Failed"),
            },
            other=_NOT_YET,
        ),
    ),
    "Application": in_order(
        conditions(
            says(
                "Ready",
                "True",
                healthy("Astra Application Ready, protectionState: {.status.protectionState}"),
            ),
            says("Ready", "False", degraded("Astra Application Degraded, message: {message}")),
        ),
        _NOT_YET,
    ),
    "Backup": _RUN,
    "ExecHook": in_order(
        when(is_(".spec?.enabled", True), then=healthy("{.kind} enabled")),
        when(is_(".spec?.enabled", False), then=suspended("{.kind} disabled")),
        _NOT_YET,
    ),
    "ExecHooksRun": _RUN,
    "ResourceBackup": _RUN,
    "ResticVolumeBackup": _RUN,
    "Schedule": in_order(
        when(
            present(".status?.lastScheduleTime"),
            then=healthy("Protection policy lastScheduleTime: {.status.lastScheduleTime}"),
        ),
        healthy("Protection policy not yet executed"),
    ),
    "Snapshot": _RUN,
}
