"""A custom resource reports a failure, but Argo CD has no health check for its kind.

## What happens
Argo CD assesses the kinds that it knows and those with a health check in `argocd-cm`. Any other custom
resource has no health: it never makes the app unhealthy, and in a wave it counts as done as soon as it is
applied. The app is Healthy although the resource failed, and later waves start before it is ready.

## How whysync knows
The object's status has a condition such as `Ready` that is `False`, or a `phase` such as `Failed`, and
neither Argo CD nor its settings have a health check for the kind.

## Fix
Add a health check for the kind to `argocd-cm`. The proposed one reads the condition or phase that the object
has. whysync runs it on the live object and offers it only if the result is Degraded.

## When it is something else
The condition is `Unknown` or recent: then the resource is still in progress.
"""

import json
from collections.abc import Iterator

import msgspec

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.assess import health_of
from whysync.argocd.settings.overrides import ResourceOverride
from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, FixKind, Set, Severity, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.finding import EvidenceKey, KeyKind
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import SymptomKind
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.queries.operator_remedies import remedy

_SUMMARIES = ("Ready", "Available", "Healthy", "Synced", "Succeeded", "Reconciled")
_PHASES = ("phase", "state")
_BAD = ("Failed", "Error", "Degraded", "Unhealthy", "Invalid", "Rejected")
_GOOD = ("Ready", "Running", "Active", "Available", "Bound", "Healthy", "Succeeded", "Completed", "Done")
_BY_CONDITION = """\
hs = {{status = "Progressing", message = "Waiting for condition {condition}"}}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "{condition}" and condition.status == "True" then
      hs = {{status = "Healthy", message = condition.message}}
    elseif condition.type == "{condition}" and condition.status == "False" then
      hs = {{status = "Degraded", message = condition.message}}
    end
  end
end
return hs
"""
_BY_PHASE = """\
local bad = {{{bad}}}
local good = {{{good}}}
hs = {{status = "Progressing", message = "Waiting for a {phase}"}}
if obj.status ~= nil and obj.status.{phase} ~= nil then
  hs.message = "{phase}: " .. tostring(obj.status.{phase})
  if bad[obj.status.{phase}] then
    hs.status = "Degraded"
  elseif good[obj.status.{phase}] then
    hs.status = "Healthy"
  end
end
return hs
"""


class _ReportedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A failure in the object's status, its pointer, and a health script that reads it."""

    pointer: str
    says: str
    script: str


@rule(cause="no-health-check", needs={Fact.LIVE, Fact.SETTINGS}, since="0.1")
def health_check_missing(case: Case) -> Iterator[Finding]:
    settings = case.settings("argocd-cm")
    if case.synced_recently or settings is None:
        return
    reported: set[tuple[str, str]] = set()
    for row in case.app.status.resources:
        if row.health is not None or is_builtin(row.ref) or row.hook or (row.group, row.kind) in reported:
            continue
        if row.group == "argoproj.io":
            continue  # Applications have no health on purpose
        live = case.live_of(row.key)
        failure = _reported_failure(live) if live is not None else None
        if live is None or failure is None or case.health_of(live) is not None:
            continue
        reported.add((row.group, row.kind))
        yield Finding(
            about=row.ref,
            explains=tuple(
                s.id for s in case.symptoms if s.kind is SymptomKind.STATE and s.id.key == live.key
            ),
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} reports that {failure.says}, but Argo CD has no health check for its kind",
            evidence=(cite(live, failure.pointer, says="its own status"),),
            fixes=(remedy(case, row.ref, failure.says), *_fixes(settings, row.ref, live, failure)),
            key=EvidenceKey(kind=KeyKind.API, name=f"{row.ref.group}/{row.ref.kind}"),
        )


def _fixes(settings: Manifest, ref: Ref, live: Manifest, failure: _ReportedFailure) -> Iterator[Fix]:
    """The health script for the kind, if it assesses the live object as Degraded."""
    key = f"resource.customizations.health.{ref.group}_{ref.kind}"
    result = health_of(live.body, {f"{ref.group}/{ref.kind}": ResourceOverride(health_lua=failure.script)})
    if result is None or result.code is not HealthCode.DEGRADED:
        return
    yield Fix(
        title=f"So that Argo CD reports it next time: add a health check for {ref.kind}; for {ref.name} it"
        " returns Degraded",
        kind=FixKind.SETTINGS,
        target=settings.ref,
        edits=(Set(pointer=join(("data", key)), value=failure.script),),
        risk="apps with such resources can become Degraded where they were Healthy",
    )


def _reported_failure(live: Manifest) -> _ReportedFailure | None:
    """The summary condition that is False, or the phase that reports a failure."""
    for index, raw in enumerate(items(live.status.get("conditions"))):
        condition = fields(raw)
        name, message = text(condition.get("type")), text(condition.get("message"))
        if name in _SUMMARIES and text(condition.get("status")) == "False":
            return _ReportedFailure(
                pointer=f"/status/conditions/{index}",
                says=f"it is not {name}" + (f" ({one_line(message)})" if message else ""),
                script=_BY_CONDITION.format(condition=name),
            )
    for phase in _PHASES:
        value = text(live.status.get(phase))
        if value in _BAD:
            script = _BY_PHASE.format(phase=phase, bad=_lua_set(_BAD), good=_lua_set(_GOOD))
            return _ReportedFailure(pointer=f"/status/{phase}", says=f"its {phase} is {value}", script=script)
    return None


def _lua_set(words: tuple[str, ...]) -> str:
    return ", ".join(f"[{json.dumps(word)}] = true" for word in words)
