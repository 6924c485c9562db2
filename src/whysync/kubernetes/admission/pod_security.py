"""Pod Security levels of a namespace: violations of `baseline` and `restricted`.

Mirrors the `PodSecurity` admission of Kubernetes 1.36 for the most common checks: host namespaces,
privileged containers, host paths and ports, capabilities, privilege escalation, volume types, users, seccomp.
Differs: SELinux, AppArmor, sysctls and `/proc` mounts are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.request import RequestContext
from whysync.kubernetes.apiserver.status_errors import forbidden
from whysync.kubernetes.apiserver.storage import Store

_LABEL: Final = "pod-security.kubernetes.io/"
_SAFE_VOLUMES: Final = frozenset(
    {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
        "projected", "secret",
    }
)  # fmt: skip
_DEFAULT_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
        "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    }
)  # fmt: skip
_SECCOMP: Final = ("RuntimeDefault", "Localhost")


def check_pod_security(obj: Object, call: RequestContext, store: Store) -> None:
    """Raises `Refused` for a Pod that violates the enforced level of its namespace.

    Differs: no warnings for the `warn` level, nor for templates of workloads.
    """
    if call.resource.kind != "Pod" or call.resource.group or call.address.subresource:
        return
    namespace = store.get((("", "namespaces"), "", call.address.namespace))
    labels = fields(dig(namespace or {}, "metadata", "labels"))
    level = text(labels.get(f"{_LABEL}enforce"))
    violated = ", ".join(violations(fields(obj.get("spec")), level))
    if violated:
        version = text(labels.get(f"{_LABEL}enforce-version"), "latest")
        why = f'violates PodSecurity "{level}:{version}": {violated}'
        raise forbidden("pods", "", text(dig(obj, "metadata", "name")), why)


def violations(spec: Object, level: str) -> Iterator[str]:
    """Violations in the order in which the server reports them."""
    if level not in {"baseline", "restricted"}:
        return
    strict = level == "restricted"
    shared = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    if shared:
        yield f"host namespaces ({', '.join(shared)})"
    if not strict:
        yield from _added_capabilities(spec)
        yield from _host_paths(spec)
    yield from _host_ports(spec)
    bad = [name for name, context in _contexts(spec) if context.get("privileged") is True]
    if bad:
        yield f"privileged ({_containers(bad)} must not set securityContext.privileged=true)"
    if strict:
        yield from _restricted(spec)


def _restricted(spec: Object) -> Iterator[str]:
    pod = fields(spec.get("securityContext"))
    bad = [name for name, context in _contexts(spec) if context.get("allowPrivilegeEscalation") is not False]
    if bad:
        setting = "securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({_containers(bad)} must set {setting})"
    bad = [
        name for name, context in _contexts(spec) if "ALL" not in items(dig(context, "capabilities", "drop"))
    ]
    if bad:
        setting = 'securityContext.capabilities.drop=["ALL"]'
        yield f"unrestricted capabilities ({_containers(bad)} must set {setting})"
    yield from _volumes(spec)
    bad = [
        name
        for name, context in _contexts(spec)
        if context.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True
    ]
    if bad:
        yield f"runAsNonRoot != true (pod or {_containers(bad)} must set securityContext.runAsNonRoot=true)"
    bad = [name for name, context in _contexts(spec) if context.get("runAsUser") == 0]
    if pod.get("runAsUser") == 0:
        yield "runAsUser=0 (pod must not set runAsUser=0)"
    elif bad:
        yield f"runAsUser=0 ({_containers(bad)} must not set runAsUser=0)"
    bad = [name for name, context in _contexts(spec) if not _has_seccomp(context, pod)]
    if bad:
        setting = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_containers(bad)} must set {setting})"


def _has_seccomp(context: Object, pod: Object) -> bool:
    profile = fields(context.get("seccompProfile")) or fields(pod.get("seccompProfile"))
    return profile.get("type") in _SECCOMP


def _contexts(spec: Object) -> Iterator[tuple[str, Object]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for raw in items(spec.get(group)):
            yield text(fields(raw).get("name")), fields(fields(raw).get("securityContext"))


def _containers(names: list[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"container {quoted}" if len(names) == 1 else f"containers {quoted}"


def _added_capabilities(spec: Object) -> Iterator[str]:
    added_by_container = [
        (
            name,
            [
                text(capability)
                for capability in items(dig(context, "capabilities", "add"))
                if text(capability) not in _DEFAULT_CAPABILITIES
            ],
        )
        for name, context in _contexts(spec)
    ]
    bad = [name for name, added in added_by_container if added]
    if bad:
        added = ", ".join(
            sorted({f'"{capability}"' for _, more in added_by_container for capability in more})
        )
        field_text = "in securityContext.capabilities.add"
        yield f"non-default capabilities ({_containers(bad)} must not include {added} {field_text})"


def _host_paths(spec: Object) -> Iterator[str]:
    volumes = [fields(volume) for volume in items(spec.get("volumes"))]
    bad = [f'"{text(volume.get("name"))}"' for volume in volumes if "hostPath" in volume]
    if bad:
        yield f"hostPath volumes (volume{'s' if len(bad) > 1 else ''} {', '.join(bad)})"


def _host_ports(spec: Object) -> Iterator[str]:
    ports_by_container: list[tuple[str, list[str]]] = []
    for group in ("initContainers", "containers"):
        for raw in items(spec.get(group)):
            host_ports = [fields(port).get("hostPort") for port in items(fields(raw).get("ports"))]
            ports = [str(port) for port in host_ports if port]
            if ports:
                ports_by_container.append((text(fields(raw).get("name")), ports))
    if ports_by_container:
        ports = sorted({port for _, more in ports_by_container for port in more})
        ports_text = f"hostPort{'s' if len(ports) > 1 else ''} {', '.join(ports)}"
        uses = "uses" if len(ports_by_container) == 1 else "use"
        yield f"hostPort ({_containers([name for name, _ in ports_by_container])} {uses} {ports_text})"


def _volumes(spec: Object) -> Iterator[str]:
    restricted: list[tuple[str, str]] = []
    for raw in items(spec.get("volumes")):
        volume = fields(raw)
        kinds = [key for key in volume if key != "name" and key not in _SAFE_VOLUMES]
        if kinds:
            restricted.append((text(volume.get("name")), kinds[0]))
    if not restricted:
        return
    names = ", ".join(f'"{name}"' for name, _ in restricted)
    kinds = sorted({f'"{kind}"' for _, kind in restricted})
    volumes, use = ("volume", "uses") if len(restricted) == 1 else ("volumes", "use")
    types_text = f"restricted volume type{'s' if len(kinds) > 1 else ''} {', '.join(kinds)}"
    yield f"restricted volume types ({volumes} {names} {use} {types_text})"
