"""A cert-manager Certificate has expired or expires soon.

## Why
cert-manager renews a certificate before it expires. If it expires within three weeks, the renewal has usually
failed. Certificates inside Secrets are masked and not checked.

## Fix
Read the conditions of the Certificate and of its CertificateRequest; usually the issuer is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import cite
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.rule import Topic, rule
from whysync.json_tree import text
from whysync.kubernetes.api.manifest import Manifest

_SOON: Final = timedelta(days=21)


@rule(topic=Topic.EXPIRY, cause="certificate-expiring", since="0.1")
def certificate_expiring(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = case.live_of(row.key) if row.kind == "Certificate" else None
        expires_at = _instant(live, "notAfter") if live is not None else None
        if live is None or expires_at is None or expires_at - case.now > _SOON:
            continue
        expired = expires_at <= case.now
        due = _instant(live, "renewalTime")
        overdue = ", and its renewal is overdue" if due is not None and due < case.now else ""
        yield Finding(
            about=row.ref,
            verdict=f"the certificate {'expired' if expired else 'expires'} on"
            f" {expires_at:%Y-%m-%d}{overdue}",
            confidence=Confidence.HIGH,
            severity=Severity.CRITICAL if expired else Severity.WARNING,
            evidence=(cite(live, "/status/notAfter", says="expiry date"),),
        )


def _instant(live: Manifest, name: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text(live.status.get(name)))
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
