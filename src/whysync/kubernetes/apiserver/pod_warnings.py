"""What the server warns about in Pods and their templates. Mirrors `pkg/api/pod/warnings.go`, 1.36.

Left out: overlapping paths of volumes, and addresses in old notations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from whysync.golang.quantity import quantity_text, value_or_zero
from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text

_OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SHOWN_AS: Final = {"storageos": "storageOS"}
_RENAMED_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_OLD_LABELS: Final = {
    **{old: f'deprecated since {at}; use "{new}" instead' for old, (at, new) in _RENAMED_LABELS.items()},
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_OLD_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _OLD_SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _OLD_SYSCTLS,
}
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP: Final = "seccomp.security.alpha.kubernetes.io/pod"
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"


def about_template(template: Object, prefix: str) -> Iterator[str]:
    """`prefix` is the path of the template; empty for a Pod itself."""
    base = f"{prefix}." if prefix else ""
    spec = fields(template.get("spec"))
    yield from _about_nodes(spec, f"{base}spec")
    annotations = fields(dig(template, "metadata", "annotations"))
    for key, why in _OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"{base}metadata.annotations[{key}]: {why}"
    yield from _about_volumes(spec, f"{base}spec")
    yield from _about_names(spec, f"{base}spec")
    if _SECCOMP in annotations and not dig(spec, "securityContext", "seccompProfile"):
        why = 'non-functional in v1.27+; use the "seccompProfile" field instead'
        yield f"{base}metadata.annotations[{_SECCOMP}]: {why}"
    for container, path in _containers(spec, f"{base}spec"):
        key = f"{_APPARMOR}{text(container.get('name'))}"
        if key in annotations and not dig(container, "securityContext", "appArmorProfile"):
            why = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            yield f"{base}metadata.annotations[{key}]: {why}"
        for side in ("memory", "ephemeral-storage"):
            for kind in ("limits", "requests"):
                amount = dig(container, "resources", kind, side)
                yield from about_bytes(amount, f"{path}.resources.{kind}[{side}]")
        yield from _about_env(container, path)
    yield from _about_ports(spec, f"{base}spec")
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        why = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{base}spec.terminationGracePeriodSeconds: {why}"
    yield from _about_affinity(spec, f"{base}spec.affinity")


def about_bytes(amount: Json | Missing, path: str) -> Iterator[str]:
    """Bytes come whole."""
    if isinstance(amount, (str, int, float)) and (value_or_zero(amount) * 1000) % 1000 != 0:
        yield f'{path}: fractional byte value "{quantity_text(amount)}" is invalid, must be an integer'


def about_claim(spec: Object, path: str) -> Iterator[str]:
    for kind in ("requests", "limits"):
        yield from about_bytes(dig(spec, "resources", kind, "storage"), f"{path}.resources.{kind}[storage]")


def about_terms(terms: list[Json], path: str, *inner: str) -> Iterator[str]:
    """Labels of nodes that have a new name by now, in selectors of nodes."""
    for at, raw in enumerate(terms):
        term = fields(dig(raw, *inner)) if inner else fields(raw)
        here = ".".join((f"{path}[{at}]", *inner))
        for number, expression in enumerate(items(term.get("matchExpressions"))):
            key = text(fields(expression).get("key"))
            if key in _OLD_LABELS:
                yield f"{here}.matchExpressions[{number}].key: {key} is {_OLD_LABELS[key]}"


def _about_nodes(spec: Object, path: str) -> Iterator[str]:
    for key in sorted(fields(spec.get("nodeSelector"))):
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    affinity = fields(dig(spec, "affinity", "nodeAffinity"))
    where = f"{path}.affinity.nodeAffinity"
    terms = items(dig(affinity, _REQUIRED, "nodeSelectorTerms"))
    yield from about_terms(terms, f"{where}.{_REQUIRED}.nodeSelectorTerms")
    yield from about_terms(items(affinity.get(_PREFERRED)), f"{where}.{_PREFERRED}", "preference")
    for at, raw in enumerate(items(spec.get("topologySpreadConstraints"))):
        here, key = f"{path}.topologySpreadConstraints[{at}]", text(fields(raw).get("topologyKey"))
        if key in _OLD_LABELS:
            yield f"{here}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if fields(raw).get("labelSelector") is None:
            yield f"{here}.labelSelector: {_NO_SELECTOR}"


def _about_volumes(spec: Object, path: str) -> Iterator[str]:
    for at, raw in enumerate(items(spec.get("volumes"))):
        volume = fields(raw)
        for source, why in _OLD_VOLUMES.items():
            if source in volume:
                yield f"{path}.volumes[{at}].{_SHOWN_AS.get(source, source)}: {why}"
        template = fields(dig(volume, "ephemeral", "volumeClaimTemplate", "spec"))
        yield from about_claim(template, f"{path}.volumes[{at}].ephemeral.volumeClaimTemplate.spec")


def _about_names(spec: Object, path: str) -> Iterator[str]:
    """Entries of lists that stand there twice, or have no name."""
    for group, key in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for at, raw in enumerate(items(spec.get(group))):
            value = text(fields(raw).get(key))
            if value in seen:
                yield f'{path}.{group}[{at}].{key}: duplicate {key} "{value}"'
            seen.add(value)
    for at, raw in enumerate(items(spec.get("imagePullSecrets"))):
        if not fields(raw).get("name"):
            yield f'{path}.imagePullSecrets[{at}].name: invalid empty name ""'
    for side in ("memory", "ephemeral-storage"):
        yield from about_bytes(dig(spec, "overhead", side), f"{path}.overhead[{side}]")


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for at, raw in enumerate(items(spec.get(group))):
            yield fields(raw), f"{path}.{group}[{at}]"


def _about_env(container: Object, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for at, raw in enumerate(items(container.get("env"))):
        name, value = text(fields(raw).get("name")), text(fields(raw).get("value"))
        reference = f"$({name})"
        # X=abc, then X=$(X)def, is the one good reason to set a variable twice.
        continued = reference in value and value != reference and not fields(raw).get("valueFrom")
        if name in seen and not continued:
            why = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{at}]: {why}"
        seen.add(name)


class _Port(NamedTuple):
    path: str
    host_ip: str
    host_port: int


def _about_ports(spec: Object, path: str) -> Iterator[str]:
    """The same port twice, in one container or in two of the same Pod."""
    known: dict[tuple[int, str], list[_Port]] = {}
    names: dict[str, str] = {}
    duplicate_names: list[str] = []
    for container, where in _containers(spec, path):
        for at, raw in enumerate(items(container.get("ports"))):
            told = fields(raw)
            port = _Port(f"{where}.ports[{at}]", text(told.get("hostIP")), integer(told.get("hostPort")))
            others = known.setdefault((integer(told.get("containerPort")), text(told.get("protocol"))), [])
            for other in others:
                yield from _clash(port, other)
            others.append(port)
            name = text(told.get("name"))
            if name and name in names:
                first = names[name]
                duplicate_names.append(
                    f'{port.path}: duplicate port name "{name}" with {first}, services and probes that '
                    f"select ports by name will use {first}"
                )
            elif name:
                names[name] = port.path
    yield from duplicate_names


def _clash(port: _Port, other: _Port) -> Iterator[str]:
    if port[1:] == other[1:]:
        yield f"{port.path}: duplicate port definition with {other.path}"
    elif port.host_port == 0 or other.host_port == 0:
        yield f"{port.path}: overlapping port definition with {other.path}"
    elif port.host_port == other.host_port and bool(port.host_ip) != bool(other.host_ip):
        yield f"{port.path}: dangerously ambiguous port definition with {other.path}"


def _about_affinity(spec: Object, path: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = fields(dig(spec, "affinity", kind))
        for at, raw in enumerate(items(affinity.get(_REQUIRED))):
            if fields(raw).get("labelSelector") is None:
                yield f"{path}.{kind}.{_REQUIRED}[{at}].labelSelector: {_NO_SELECTOR}"
        for at, raw in enumerate(items(affinity.get(_PREFERRED))):
            if fields(dig(raw, "podAffinityTerm")).get("labelSelector") is None:
                yield f"{path}.{kind}.{_PREFERRED}[{at}].podAffinityTerm.labelSelector: {_NO_SELECTOR}"
