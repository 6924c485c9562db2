"""Ansible Tower: jobs."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import Check, by, degraded, healthy, progressing

_JOB = "{.status.ansibleJobResult.status} job - {.status.ansibleJobResult.url}"

GROUP = "tower.ansible.com"
CHECKS: dict[str, Check] = {
    "AnsibleJob": by(
        ".status?.ansibleJobResult?.status",
        {
            "successful": healthy(_JOB),
            "failed": degraded(_JOB),
            "error": degraded(_JOB),
            "canceled": degraded(_JOB),
            "new": progressing(_JOB),
            "pending": progressing(_JOB),
            "waiting": progressing(_JOB),
            "running": progressing(_JOB),
        },
        progressing("Waiting for AnsibleJob"),
    ),
}
