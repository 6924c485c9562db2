"""A setting of Argo CD cannot be read, so it cannot work with any Application that needs it.

## What happens
One malformed entry of `argocd-cm` (a health check, an ignore rule, a list of exclusions) can stop
every comparison: sync and health become Unknown, often for all Applications at once.

## How whysync knows
Argo CD names the entry that it cannot parse.

## Fix
Correct that entry. Argo CD reads its settings again by itself.

## When it is something else
A Lua health check that is read and then fails is health-script-error.
"""

from collections.abc import Iterator

from whysync.contracts.manifest import Manifest
from whysync.contracts.pointer import child
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import argocd_namespace, beside, refresh
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.words import one_line
from whysync.semantics.messages import SettingsMalformed


@rule(cause="settings-malformed", since="0.1")
def settings_cannot_be_read(case: Case) -> Iterator[Finding]:
    for group in grouped(case, SettingsMalformed, by=lambda failure: failure.key):
        failure = group.failure
        settings = case.settings("argocd-cm")
        yield Finding(
            about=settings.ref if settings else case.application.ref,
            field=child("/data", failure.key) if failure.key and settings else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD cannot read its setting {failure.key or 'in argocd-cm'}"
            + (f": {one_line(failure.detail)}" if failure.detail else ""),
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="the entry that cannot be parsed"), *_entry(settings, failure.key)),
            fixes=(
                Fix.run(
                    beside(f"kubectl -n {argocd_namespace(case)} edit configmap argocd-cm", failure.key),
                    refresh(case),
                    title="Correct the entry; Argo CD reads it again by itself",
                ),
            ),
        )


def _entry(settings: Manifest | None, key: str) -> Iterator[Evidence]:
    if settings is not None and key:
        yield cite(settings, child("/data", key), says="the entry as it is")
