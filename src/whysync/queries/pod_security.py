"""What a Pod Security level demands: the fields of a Pod template that satisfy its checks.

Mirrors the checks of `k8s.io/pod-security-admission/policy`, Kubernetes 1.36: a denial names each violated
check.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.diagnosis.fix import Set
from whysync.json_tree import Json, dig, items
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.pattern import compiled

_OF_CONTAINERS: Final[dict[str, tuple[str, Json]]] = {
    "allowPrivilegeEscalation != false": ("allowPrivilegeEscalation", False),
    "unrestricted capabilities": ("capabilities/drop", ["ALL"]),
}
_OF_POD: Final[dict[str, tuple[str, Json]]] = {
    "runAsNonRoot != true": ("runAsNonRoot", True),
    "seccompProfile": ("seccompProfile/type", "RuntimeDefault"),
}
# Checks that demand that something is removed.
_FORBIDDEN: Final = (
    "hostPath volumes", "host namespaces", "hostPort", "privileged (", "non-default capabilities",
    "runAsUser=0", "restricted volume types", "forbidden sysctls", "procMount", "seLinuxOptions",
    "hostProcess", "forbidden AppArmor profile", "must not ",
)  # fmt: skip
# One violated check: `hostPath volumes (volume "sockets")`.
_CHECK: Final = r"[^(]{1,100}\([^)]{1,300}\)"
_POD_SPECS: Final = {"Pod": ("spec",), "CronJob": ("spec", "jobTemplate", "spec", "template", "spec")}
_TEMPLATE: Final = ("spec", "template", "spec")


def is_only_unset(reason: str) -> bool:
    """Does the denial only demand fields that can be set, and nothing to be removed?"""
    demanded = any(check in reason for check in (*_OF_CONTAINERS, *_OF_POD))
    return demanded and not any(check in reason for check in _FORBIDDEN)


def forbidden_fields(reason: str) -> Iterator[str]:
    """`hostPath volumes (volume "sockets")`: the violated checks that demand that something is removed."""
    for check in compiled(_CHECK).findall(reason):
        text = str(check).strip(" ,")
        if any(forbidden in text for forbidden in _FORBIDDEN):
            yield text


def demanded_fields(reason: str) -> Iterator[str]:
    """`each container: allowPrivilegeEscalation: false`, for a comment."""
    for scope, checks in (("each container", _OF_CONTAINERS), ("the Pod", _OF_POD)):
        wanted = [
            (path.replace("/", "."), value) for check, (path, value) in checks.items() if check in reason
        ]
        if wanted:
            texts = ", ".join(f"{path}: {_yaml(value)}" for path, value in wanted)
            yield f"securityContext of {scope}: {texts}"


def demanded_edits(workload: Manifest, reason: str) -> tuple[Set, ...]:
    """The edits of a workload that the denial demands; none that are made already."""
    path = _POD_SPECS.get(workload.ref.kind, _TEMPLATE)
    pod = dig(workload.body, *path)
    base = "/" + "/".join(path)
    wanted = [
        Set(pointer=f"{base}/{group}/{index}/securityContext/{name}", value=value)
        for group in ("initContainers", "containers")
        for index, _ in enumerate(items(dig(pod, group)))
        for check, (name, value) in _OF_CONTAINERS.items()
        if check in reason
    ]
    wanted += [
        Set(pointer=f"{base}/securityContext/{name}", value=value)
        for check, (name, value) in _OF_POD.items()
        if check in reason
    ]
    return tuple(edit for edit in wanted if workload.at(edit.pointer) != edit.value) if pod else ()


def _yaml(value: Json) -> str:
    return (
        "[ALL]" if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
    )
