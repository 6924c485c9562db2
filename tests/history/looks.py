"""Looks at apps, for tests of the history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from whysync.history.model import AppKey, LastSync, Look, Problem

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SHOP = AppKey("", "argocd", "shop")
WEBHOOK_DOWN = Problem(
    cause="webhook-down", severity="critical", verdict="webhook policy.example.com does not answer",
    evidence_key="webhook policy.example.com",
)  # fmt: skip
OOM = Problem(cause="oom", verdict="container api is OOMKilled", fix="raise the memory limit")


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def look(
    problem: Problem | None = None,
    *,
    minutes: float = 0,
    app: str = "shop",
    in_progress: bool = False,
    revision: str = "",
    last_sync: LastSync | None = None,
) -> Look:
    return Look(
        app=AppKey("", "argocd", app),
        at=after(minutes),
        project="store",
        labels={"team": "checkout"},
        sync="OutOfSync" if problem else "Synced",
        health="Degraded" if problem else "Healthy",
        revision=revision,
        last_sync=last_sync,
        problem=problem,
        in_progress=in_progress,
    )
