from __future__ import annotations

from pathlib import Path

import pytest

from whysync.cli.main import main

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec: {project: prod, destination: {server: "https://kubernetes.default.svc", namespace: web}}
status: {sync: {status: Synced}, health: {status: Healthy}, reconciledAt: "2026-03-02T03:05:00Z"}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: prod, namespace: argocd}
spec: {syncWindows: [%s]}
"""


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("", "Sync Allowed (no window matches this app)"),
        ('{kind: allow, schedule: "0 3 * * *", duration: 1h, applications: ["*"]}', "Sync Allowed"),
        (
            '{kind: deny, schedule: "0 3 * * *", duration: 1h, applications: ["*"]}',
            "Sync Denied until 2026-03-02T04:00:00Z",
        ),
        (
            '{kind: deny, schedule: "0 3 * * *", duration: 1h, manualSync: true, applications: ["*"]}',
            "Manual Allowed, auto-sync denied until 2026-03-02T04:00:00Z",
        ),
    ],
)
def test_get_shows_whether_a_window_allows_a_sync(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], window: str, expected: str
) -> None:
    (tmp_path / "all.yaml").write_text(APPLICATION % window)
    assert main(["get", "shop", "--bundle", str(tmp_path / "all.yaml")]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("SyncWindow:"))
    assert line.removeprefix("SyncWindow:").strip() == expected
