"""What a Pod Security level demands: the fields of a Pod template that satisfy its checks.

Mirrors the checks of `k8s.io/pod-security-admission/policy`, Kubernetes 1.36: a denial names each violated
check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whysync.diagnosis.fix import Set
from whysync.json_tree import Json, Object, dig, fields, items
from whysync.kubernetes.admission.pod_security import violations
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref, ref_of
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
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_LEVELS: Final = ("privileged", "baseline", "restricted")


def newly_refused(
    objects: Iterable[Object], namespace: str, *, level: str, before: str
) -> Iterator[tuple[Ref, str]]:
    """Workloads of a namespace whose next Pods a stricter level refuses, each with the violated checks.

    Pods that run already are not evicted: the level is enforced when a Pod is created.
    """
    for obj in objects:
        ref = ref_of(obj)
        if ref.namespace == namespace and not items(dig(obj, "metadata", "ownerReferences")):
            violated = _refused(obj, ref.kind, level=level, before=before)
            if violated:
                yield ref, violated


def refused_template(workload: Manifest, *, level: str, before: str) -> str:
    """The checks that the Pod template violates under the new level and not before; empty if none."""
    return _refused(workload.body, workload.ref.kind, level=level, before=before)


def _refused(obj: Object, kind: str, *, level: str, before: str) -> str:
    pod = fields(dig(obj, *_POD_SPECS.get(kind, _TEMPLATE)))
    if not items(pod.get("containers")) or any(violations(pod, before)):
        return ""
    return ", ".join(violations(pod, level))


def pod_spec_pointer(kind: str) -> str:
    """The pointer of the Pod spec in an object of this kind."""
    return "/" + "/".join(_POD_SPECS.get(kind, _TEMPLATE))


def is_stricter(level: str, before: str) -> bool:
    """Does a namespace with this level refuse more than with the level before? Unset is `privileged`."""
    if level not in _LEVELS:
        return False
    return _LEVELS.index(level) > (_LEVELS.index(before) if before in _LEVELS else 0)


def is_only_unset(reason: str) -> bool:
    """Does the denial only demand fields that can be set, and nothing to be removed?"""
    demanded = any(check in reason for check in (*_OF_CONTAINERS, *_OF_POD))
    return demanded and not any(check in reason for check in _FORBIDDEN)


def violated_checks(reason: str) -> Iterator[str]:
    """`runAsNonRoot != true`: the names of the violated checks, without the containers."""
    for check in compiled(_CHECK).findall(reason):
        yield str(check).partition("(")[0].strip(" ,")


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
