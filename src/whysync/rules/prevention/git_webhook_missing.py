"""No Git host sends webhooks to Argo CD.

## Why
Without a webhook, Argo CD detects a commit only when it polls the repository, every 2 to 3 minutes.

## Fix
Configure the Git host to call `/api/webhook` of argocd-server; `argocd-secret` has the shared secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whysync.diagnosis.case import Case
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.rule import Scope, Topic, rule
from whysync.queries.argocd_components import WebhookUse, webhook_use

_REASONS = {
    WebhookUse.NOT_LOGGED: "the log of argocd-server has no push event",
    WebhookUse.NO_SECRET: "argocd-secret has no webhook secret",
}


@rule(topic=Topic.WEBHOOK, scope=Scope.FLEET, severity=Severity.INFO, cause="polling-lag", since="0.1")
def git_webhook_missing(cases: Sequence[Case]) -> Iterator[Finding]:
    case = cases[0]
    reason = _REASONS.get(webhook_use(case))
    if reason is not None:
        yield Finding(
            about=case.application.ref,
            verdict=f"{reason}: Argo CD detects commits only by polling, every 2 to 3 minutes",
            confidence=Confidence.HIGH,
            severity=Severity.INFO,
        )
