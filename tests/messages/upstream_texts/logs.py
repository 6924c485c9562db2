"""Texts of Argo CD's own logs."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            ("settings-malformed", "Unable to parse updated settings: server.secretkey is missing"),
            (
                "generation-timeout",
                "finished unary call with code Internal: rpc error: code = Internal desc = "
                "Failed to fetch git repo: `git fetch origin --tags --force` failed timeout "
                "after 1m30s",
            ),
            (
                "plugin",
                "finished unary call with code Unknown: Manifest generation error (cached): "
                "plugin sidecar failed. error generating manifests in cmp: error sending file "
                "to cmp-server: client stream context error: context canceled",
            ),
            (
                "operation-pinned",
                "rpc error: code = FailedPrecondition desc = another operation is already in progress",
            ),
            ("revision-not-found", "revision 4f2c9d1 must be resolved"),
            ("appset-error", "error listing branches for team/shop: 429 Too Many Requests"),
        ),
    ),
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            (
                "hydrator-failed",
                "Failed to hydrate app: failed to commit hydrated manifests: rpc error: code = Unknown "
                "desc = failed to clone repo: authentication required",
            ),
            (
                "cluster-unreachable",
                "Failed to sync cluster https://10.4.0.1:6443: error getting API resources: Get "
                '"https://10.4.0.1:6443/api": dial tcp 10.4.0.1:6443: i/o timeout',
            ),
        ),
    ),
)
