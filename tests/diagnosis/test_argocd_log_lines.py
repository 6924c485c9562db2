"""Lines of Argo CD's logs: a problem that a later line of the same log reports as over does not count."""

from __future__ import annotations

from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.snapshot import Snapshot
from whysync.kubernetes.api.container_log import Log

ERROR = 'time="2026-03-02T03:00:00Z" level=error msg="ComparisonError: no route to host" application=shop'
SYNCED = 'time="2026-03-02T03:01:00Z" level=info msg="Sync operation to a3f1c29 succeeded" application='


def loud(*lines: str) -> int:
    log = Log(namespace="argocd", pod="argocd-application-controller-0", container="main", lines=lines)
    return len(SnapshotIndex(Snapshot(logs=(log,))).argocd_log_lines.get("shop", ()))


def test_an_error_counts() -> None:
    assert loud(ERROR) == 1
    assert loud(SYNCED + "shop", ERROR) == 1


def test_an_error_before_a_later_success_is_over() -> None:
    assert loud(ERROR, SYNCED + "shop") == 0


def test_the_success_of_another_app_changes_nothing() -> None:
    assert loud(ERROR, SYNCED + "cart") == 1
