"""Whether Git hosts send webhooks to Argo CD."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from whysync.diagnosis.case import Case
from whysync.json_tree import fields

PUSH_EVENT: Final = "Received push event"
"""What argocd-server logs for each webhook of a Git host. Argo CD 3.6, `util/webhook`."""


class WebhookUse(Enum):
    USED = auto()
    NOT_LOGGED = auto()
    NO_SECRET = auto()
    UNKNOWN = auto()
    """Neither the log of argocd-server nor argocd-secret is in the facts."""


def webhook_use(case: Case) -> WebhookUse:
    logs = [log for log in case.index.snapshot.logs if "argocd-server" in log.pod]
    if any(PUSH_EVENT in line for log in logs for line in log.lines):
        return WebhookUse.USED
    if logs:
        return WebhookUse.NOT_LOGGED
    secret = case.settings("argocd-secret")
    if secret is None:
        return WebhookUse.UNKNOWN
    has_secret = any(key.startswith("webhook.") for key in fields(secret.body.get("data")))
    return WebhookUse.USED if has_secret else WebhookUse.NO_SECRET
