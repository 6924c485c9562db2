"""A certificate of cert-manager has expired or expires soon.

## Why
cert-manager renews a certificate before it expires. One that expires within three weeks is usually not being
renewed. Dates inside Secrets are masked and not checked.

## Fix
Read the conditions of the Certificate and of its CertificateRequest; the issuer is the usual reason.
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


@rule(topic=Topic.EXPIRY, cause="certificate-expiring", since="0.2")
def certificate_expiring(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = case.live_of(row.key) if row.kind == "Certificate" else None
        ends = _instant(live, "notAfter") if live is not None else None
        if live is None or ends is None or ends - case.now > _SOON:
            continue
        over = ends <= case.now
        due = _instant(live, "renewalTime")
        late = ", and was to be renewed before now" if due is not None and due < case.now else ""
        yield Finding(
            about=row.ref,
            verdict=f"the certificate {'ended' if over else 'ends'} on {ends:%Y-%m-%d}{late}",
            confidence=Confidence.HIGH,
            severity=Severity.CRITICAL if over else Severity.WARNING,
            evidence=(cite(live, "/status/notAfter", says="when it ends"),),
        )


def _instant(live: Manifest, name: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text(live.status.get(name)))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
