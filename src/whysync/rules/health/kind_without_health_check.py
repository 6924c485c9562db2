"""A custom resource says that it is not well, and Argo CD has no check to read it.

## What happens
Argo CD judges the kinds that it knows, and those for which `argocd-cm` has a check. Any other custom resource
has no health: it never makes the app unhealthy, and in a wave it counts as done the moment it is applied. So
the app is Healthy while the resource failed, and later waves start before it is ready.

## How whysync knows
The object's own status has a condition such as `Ready` that is `False`, and neither Argo CD nor the settings
at hand have a check for its kind.

## Fix
Add a check for the kind to `argocd-cm`. The one proposed reads the very condition that the object has.

## When it is something else
The condition is `Unknown` or young: then the resource is still on its way.
"""

from collections.abc import Iterator

from whysync.contracts.manifest import Manifest
from whysync.contracts.pointer import join
from whysync.contracts.tree import fields, items, text
from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, FixKind, Set, Severity, cite, rule
from whysync.diagnosis.shape import is_builtin
from whysync.diagnosis.words import one_line

_TELLING = ("Ready", "Available", "Healthy", "Synced", "Succeeded", "Reconciled")
_LUA = """\
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


@rule(cause="no-health-check", needs={Fact.LIVE, Fact.SETTINGS}, since="0.1")
def kind_without_health_check(case: Case) -> Iterator[Finding]:
    settings = case.settings("argocd-cm")
    if case.synced_recently or settings is None:
        return
    told: set[tuple[str, str]] = set()
    for row in case.app.status.resources:
        if row.health is not None or is_builtin(row.ref) or row.hook or (row.group, row.kind) in told:
            continue
        if row.group == "argoproj.io":
            continue  # Applications have no health on purpose
        live = case.live_of(row.key)
        found = _unwell(live) if live is not None else None
        if live is None or found is None or case.health_of(live) is not None:
            continue
        told.add((row.group, row.kind))
        index, condition, message = found
        key = f"resource.customizations.health.{row.group}_{row.kind}"
        yield Finding(
            about=row.ref,
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} says that it is not {condition}"
            + (f" ({one_line(message)})" if message else "")
            + ", and Argo CD has no health check for its kind",
            evidence=(cite(live, f"/status/conditions/{index}", says="its own word"),),
            fixes=(
                Fix(
                    title=f"Add a health check for {row.kind} that reads this condition",
                    kind=FixKind.SETTINGS,
                    target=settings.ref,
                    edits=(Set(pointer=join(("data", key)), value=_LUA.format(condition=condition)),),
                    risk="apps with such resources become Degraded where they looked Healthy",
                ),
            ),
        )


def _unwell(live: Manifest) -> tuple[int, str, str] | None:
    """The telling condition that is False."""
    for index, raw in enumerate(items(live.status.get("conditions"))):
        condition = fields(raw)
        if text(condition.get("type")) in _TELLING and text(condition.get("status")) == "False":
            return index, text(condition.get("type")), text(condition.get("message"))
    return None
