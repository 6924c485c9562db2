"""Argo CD has no health check for a custom resource.

## Why
A resource without a health check never makes the app unhealthy, and a sync wave does not wait for it after
it is applied.

## Fix
Add a health check for the kind to `argocd-cm`. The proposed check reads a condition of the live object;
whysync has run it on that object.
"""

from __future__ import annotations

from collections.abc import Iterator

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import health_of
from whysync.argocd.settings.overrides import ResourceOverride
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.finding import Confidence, Finding, Severity
from whysync.diagnosis.fix import Fix, FixKind, Set
from whysync.diagnosis.rule import Topic, rule
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.queries.commands import argocd_namespace

_CONDITION_TYPES = ("Ready", "Available", "Healthy", "Synced", "Succeeded", "Reconciled")
_EXPECTED = {"True": HealthCode.HEALTHY, "False": HealthCode.DEGRADED, "Unknown": HealthCode.PROGRESSING}
_LUA = """\
local answer = {status = "Progressing", message = "waits for condition CONDITION"}
for _, one in ipairs((obj.status or {}).conditions or {}) do
  if one.type == "CONDITION" then
    answer.message = one.message or one.reason or ""
    if one.status == "True" then
      answer.status = "Healthy"
    elseif one.status == "False" then
      answer.status = "Degraded"
    end
  end
end
return answer
"""


@rule(topic=Topic.HEALTH, severity=Severity.INFO, cause="no-health-check", since="0.1")
def health_check_missing(case: Case) -> Iterator[Finding]:
    reported: set[tuple[str, str]] = set()
    for row in case.app.status.resources:
        kind = row.group, row.kind
        if kind in reported or row.health is not None or row.hook or is_builtin(row.ref):
            continue
        live = case.live_of(row.key)
        if row.group == "argoproj.io" or live is None or case.health_of(live) is not None:
            continue
        reported.add(kind)
        count = sum(1 for other in case.app.status.resources if (other.group, other.kind) == kind)
        subject = "it has" if count == 1 else f"{count} resources have"
        fix = _proposal(case, row.ref, live)
        yield Finding(
            about=row.ref,
            confidence=Confidence.HIGH,
            severity=Severity.INFO,
            verdict=f"Argo CD has no health check for {row.kind} ({row.group}): {subject} no health,"
            " and sync waves do not wait",
            fixes=(fix,) if fix else (),
        )


def _proposal(case: Case, ref: Ref, live: Manifest) -> Fix | None:
    for name in _CONDITION_TYPES:
        for raw in items(live.status.get("conditions")):
            condition = fields(raw)
            expected = _EXPECTED.get(text(condition.get("status")))
            if text(condition.get("type")) != name or expected is None:
                continue
            script = _LUA.replace("CONDITION", name)
            override = {f"{ref.group}/{ref.kind}": ResourceOverride(health_lua=script)}
            health = health_of(live.body, override)
            if health is None or health.code is not expected:
                return None
            return Fix(
                title=f"Add a health check of condition {name}; its result for {ref.name} is {health.code}",
                kind=FixKind.SETTINGS,
                target=_settings(case),
                edits=(
                    Set(
                        pointer=join(("data", f"resource.customizations.health.{ref.group}_{ref.kind}")),
                        value=script,
                    ),
                ),
                risk="apps with such resources can become Degraded or Progressing",
            )
    return None


def _settings(case: Case) -> Ref:
    settings = case.settings("argocd-cm")
    if settings is not None:
        return settings.ref
    return Ref(version="v1", kind="ConfigMap", namespace=argocd_namespace(case), name="argocd-cm")
