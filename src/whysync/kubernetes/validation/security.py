"""Security contexts of pods and containers.

Differs: privileged containers, which a flag of the server can forbid, are allowed; the options for
Windows and AppArmor profiles are not validated.
"""

from __future__ import annotations

from whysync.json_tree import Json, Missing, Object, fields, integer, items, text
from whysync.kubernetes.validation.field_error import Problems, invalid, required, unsupported
from whysync.kubernetes.validation.internal_types import internal
from whysync.kubernetes.validation.mounts import validate_local_descending_path
from whysync.kubernetes.validation.scalars import validate_optional_enum

_LARGEST_ID = 2**31 - 1
_ESCALATION = "cannot set `allowPrivilegeEscalation` to false and"


def validate_security_context(security_context: Json | Missing, path: str) -> Problems:
    context = fields(security_context)
    if not context:
        return
    yield from _validate_ids(context, path, ("runAsUser", "runAsGroup"))
    yield from validate_optional_enum(context.get("procMount"), f"{path}.procMount", ("Default", "Unmasked"))
    yield from _validate_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        bad_value = internal(context, "core/v1.SecurityContext")
        if context.get("privileged") is True:
            yield invalid(path, bad_value, f"{_ESCALATION} `privileged` to true")
        if "CAP_SYS_ADMIN" in items(fields(context.get("capabilities")).get("add")):
            yield invalid(path, bad_value, f"{_ESCALATION} `capabilities.Add` CAP_SYS_ADMIN")


def validate_pod_security_context(spec: Object, path: str) -> Problems:
    context = fields(spec.get("securityContext"))
    yield from _validate_ids(context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    for index, group in enumerate(items(context.get("supplementalGroups"))):
        yield from _validate_id(integer(group), f"{path}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", value=True, detail=detail)
    policies = ("Always", "OnRootMismatch")
    yield from validate_optional_enum(
        context.get("fsGroupChangePolicy"), f"{path}.fsGroupChangePolicy", policies
    )
    yield from _validate_seccomp_profile(context.get("seccompProfile"), f"{path}.seccompProfile")
    group_policies = ("Merge", "Strict")
    field = "supplementalGroupsPolicy"
    yield from validate_optional_enum(context.get(field), f"{path}.{field}", group_policies)


def _validate_ids(context: Object, path: str, names: tuple[str, ...]) -> Problems:
    for name in names:
        if context.get(name) is not None:
            yield from _validate_id(integer(context.get(name)), f"{path}.{name}")


def _validate_id(value: int, path: str) -> Problems:
    if not 0 <= value <= _LARGEST_ID:
        yield invalid(path, value, f"must be between 0 and {_LARGEST_ID}, inclusive")


def _validate_seccomp_profile(seccomp_profile: Json | Missing, path: str) -> Problems:
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
            yield from validate_local_descending_path(text(profile), f"{path}.localhostProfile")
    elif profile is not None:
        detail = "can only be set when seccomp type is Localhost"
        yield invalid(f"{path}.localhostProfile", internal(seccomp_profile, "core/v1.SeccompProfile"), detail)
