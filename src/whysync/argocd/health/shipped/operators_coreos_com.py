"""The Operator Lifecycle Manager: subscriptions."""

from __future__ import annotations

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import DEGRADED, HEALTHY, PROGRESSING, Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

_BROKEN = ("CatalogSourcesUnhealthy", "InstallPlanFailed", "ResolutionFailed")
_PENDING_STATES = (None, "", "UpgradeAvailable", "UpgradePending")


def _subscription(obj: Object) -> HealthVerdict:
    """The message lists all conditions and the state, whatever the verdict."""
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "An install plan for a subscription is pending installation")
    expected = _waits_for_approval(obj, entries)
    pending = degraded = False
    listed: list[str] = []
    for place, condition in lua.numbered(entries):
        kind, status = lua.at(condition, "type"), lua.at(condition, "status")
        if expected and kind == "InstallPlanPending":
            continue
        listed.append(lua.concat(place, ": ", kind, " | ", status, "\n"))
        if kind == "InstallPlanPending":
            pending |= status == "True"
        elif kind == "InstallPlanMissing":  # whatever its status
            degraded |= lua.at(condition, "reason") != "ReferencedInstallPlanNotFound"
        else:
            degraded |= kind in _BROKEN and status == "True"

    state = lua.named(obj, "status", "state")
    approval = expected and state == "UpgradePending"
    pending |= state in _PENDING_STATES and not approval
    degraded |= state == "UpgradeFailed"
    if state is None:
        listed.append(".status.state not yet known\n")
    else:
        note = " (manual InstallPlan approval pending; treated as healthy)" if approval else ""
        listed.append(lua.concat(".status.state is '", state, "'", note, "\n"))
    return HealthVerdict(DEGRADED if degraded else PROGRESSING if pending else HEALTHY, "".join(listed))


def _waits_for_approval(obj: Object, entries: Json) -> bool:
    """An upgrade, not the first install, that a person has to approve: nothing is wrong then."""
    if lua.maybe(obj, "spec", "installPlanApproval") != "Manual":
        return False
    for condition in lua.pairs(entries):
        if (
            lua.at(condition, "type") == "InstallPlanPending"
            and lua.at(condition, "status") == "True"
            and lua.at(condition, "reason") == "RequiresApproval"
        ):
            return lua.named(obj, "status", "installedCSV") is not None
    return False


GROUP = "operators.coreos.com"
CHECKS: dict[str, Check] = {"Subscription": _subscription}
