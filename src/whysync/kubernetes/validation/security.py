"""Security contexts of pods and containers.

Differs: what depends on the server's flags (privileged containers) counts as allowed, and the options for
Windows and the texts of AppArmor profiles are not looked into.
"""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation.field_error import Problems, invalid, required, unsupported
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.mounts import descending_path
from whysync.kubernetes.validation.scalars import optional_one_of

_LARGEST_ID = 2**31 - 1
_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and"


def container_security(security_context: Json | Missing, path: str) -> Problems:
    context = fields(security_context)
    if not context:
        return
    yield from _identities(context, path, ("runAsUser", "runAsGroup"))
    yield from optional_one_of(context.get("procMount"), f"{path}.procMount", ("Default", "Unmasked"))
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        shown = internal(context, "core/v1.SecurityContext")
        if context.get("privileged") is True:
            yield invalid(path, shown, f"{_ESCALATION} `privileged` to true")
        if "CAP_SYS_ADMIN" in items(fields(context.get("capabilities")).get("add")):
            yield invalid(path, shown, f"{_ESCALATION} `capabilities.Add` CAP_SYS_ADMIN")


def pod_security(spec: Object, path: str) -> Problems:
    context = fields(spec.get("securityContext"))
    yield from _identities(context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(items(context.get("supplementalGroups"))):
        yield from _identity(integer(group), f"{path}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", value=True, detail=detail)
    policies = ("Always", "OnRootMismatch")
    yield from optional_one_of(context.get("fsGroupChangePolicy"), f"{path}.fsGroupChangePolicy", policies)
    yield from _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    merging = ("Merge", "Strict")
    field = "supplementalGroupsPolicy"
    yield from optional_one_of(context.get(field), f"{path}.{field}", merging)


def _identities(context: Object, path: str, names: tuple[str, ...]) -> Problems:
    for name in names:
        if context.get(name) is not None:
            yield from _identity(integer(context.get(name)), f"{path}.{name}")


def _identity(value: int, path: str) -> Problems:
    if not 0 <= value <= _LARGEST_ID:
        yield invalid(path, value, f"must be between 0 and {_LARGEST_ID}, inclusive")


def _seccomp(seccomp_profile: Json | Missing, path: str) -> Problems:
    if not isinstance(seccomp_profile, dict):
        return
    kind, profile = text(seccomp_profile.get("type")), seccomp_profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in ("Localhost", "RuntimeDefault", "Unconfined"):
        yield unsupported(f"{path}.type", kind, ("Localhost", "RuntimeDefault", "Unconfined"))
    if kind == "Localhost":
        if profile is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from descending_path(text(profile), f"{path}.localhostProfile")
    elif profile is not None:
        detail = "can only be set when seccomp type is Localhost"
        yield invalid(f"{path}.localhostProfile", internal(seccomp_profile, "core/v1.SeccompProfile"), detail)
