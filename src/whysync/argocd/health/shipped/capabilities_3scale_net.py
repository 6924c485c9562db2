"""3scale API management: products, backends, applications and who may use them."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    Test,
    conditions,
    degraded,
    healthy,
    in_order,
    is_,
    isnt,
    none_of,
    present,
    progressing,
    says,
    suspended,
    when,
)
from whysync.json_tree import Json, Object

GROUP: Final = "capabilities.3scale.net"


def _judged(kind: str, *steps: Step) -> Step:
    return in_order(*steps, progressing(f"Waiting for 3scale {kind} status..."))


def _by_condition(kind: str, good: str, **bad: str) -> Step:
    """The first condition that is True decides: `good` means well, and each of `bad` has its own words,
    for when the condition has none."""
    return conditions(
        says(good, "True", healthy(f"3scale {kind} is {good.lower()}")),
        *(says(name, "True", degraded(f"{{message|3scale {kind} {text}}}")) for name, text in bad.items()),
    )


def _assigned(name: str) -> Test:
    """3scale has given it a number."""

    def test(obj: Object, _it: Json) -> bool:
        number = lua.named(obj, "status", name)
        return lua.is_number(number) and lua.less(0, number)

    return test


def _is_ready(obj: Object, _it: Json) -> bool:
    return any(
        lua.at(condition, "type") == "Ready" and lua.at(condition, "status") == "True"
        for condition in lua.ipairs(lua.named(obj, "status", "conditions"))
    )


_INVALID: Final = "configuration is invalid"
_ORPHAN: Final = "references non-existing resources"
_FAILED: Final = "synchronization failed"

CHECKS: Final[dict[str, Check]] = {
    "ActiveDoc": _judged(
        "ActiveDoc",
        _by_condition("ActiveDoc", "Ready", Invalid=_INVALID, Orphan=_ORPHAN, Failed=_FAILED),
    ),
    "Application": _judged(
        "Application",
        when(is_(".status?.state", "suspended"), then=suspended("3scale Application is suspended")),
        conditions(
            says("Ready", "True", healthy("3scale Application is ready")),
            when(
                is_("type", "Ready"),
                none_of(_assigned("adminId")),
                then=degraded("{message|3scale Application is not ready}"),
            ),
        ),
    ),
    "ApplicationAuth": _judged("ApplicationAuth", _by_condition("ApplicationAuth", "Ready", Failed="failed")),
    "Backend": _judged("Backend", _by_condition("Backend", "Synced", Invalid=_INVALID, Failed=_FAILED)),
    "CustomPolicyDefinition": _judged(
        "CustomPolicyDefinition",
        _by_condition("CustomPolicyDefinition", "Ready", Invalid=_INVALID, Failed=_FAILED),
    ),
    "DeveloperAccount": _judged(
        "DeveloperAccount",
        conditions(
            says("Ready", "True", healthy("3scale DeveloperAccount is ready")),
            says("Invalid", "True", degraded(f"{{message|3scale DeveloperAccount {_INVALID}}}")),
            says("Failed", "True", degraded(f"{{message|3scale DeveloperAccount {_FAILED}}}")),
            says("Waiting", "True", suspended("{message|3scale DeveloperAccount is waiting for approval}")),
        ),
    ),
    "DeveloperUser": _judged(
        "DeveloperUser",
        when(
            is_(".status?.developerUserState", "suspended"),
            then=suspended("3scale Developer user is waiting for admin approval"),
        ),
        _by_condition("DeveloperUser", "Ready", Invalid=_INVALID, Orphan=_ORPHAN, Failed=_FAILED),
    ),
    "OpenAPI": _judged(
        "OpenAPI", _by_condition("OpenAPI", "Ready", Invalid=_INVALID, Failed="reconciliation failed")
    ),
    "Product": _judged(
        "Product", _by_condition("Product", "Synced", Invalid=_INVALID, Orphan=_ORPHAN, Failed=_FAILED)
    ),
    "ProxyConfigPromote": _judged(
        "ProxyConfigPromote",
        conditions(
            says("Ready", "True", healthy("3scale ProxyConfigPromote is ready")),
            says("In-progress", "True", progressing("{message|3scale ProxyConfigPromote is in progress}")),
            says("Failed", "True", degraded("{message|3cale ProxyConfigPromote failed}")),  # upstream's typo
        ),
    ),
    "Tenant": _judged(
        "Tenant",
        when(
            present(".status?.conditions"),
            _is_ready,
            _assigned("tenantId"),
            _assigned("adminId"),
            then=healthy("3scale Tenant is ready"),
        ),
        conditions(
            when(
                is_("type", "Ready"),
                isnt("status", "True"),
                then=degraded("{message|3scale Tenant is degraded}"),
            )
        ),
    ),
}
