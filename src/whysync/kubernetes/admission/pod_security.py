"""Pod Security levels of a namespace: violations of `baseline` and `restricted`.

Mirrors pod-security-admission `policy`, Kubernetes 1.36: the checks of a level run in the order of their ids,
those of `baseline` first; some of `restricted` replace one of `baseline`. Differs: versions before 1.25 have
the checks of 1.25.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from whysync.golang.fmt import quoted
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
_APP_ARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
_SELINUX_TYPES: Final = {
    "": 0,
    "container_t": 0,
    "container_init_t": 0,
    "container_kvm_t": 0,
    "container_engine_t": 31,
}
"""Allowed types, and the minor version since which they are."""
_SAFE_SYSCTLS: Final = {
    **dict.fromkeys(
        (
            "kernel.shm_rmid_forced",
            "net.ipv4.ip_local_port_range",
            "net.ipv4.ip_unprivileged_port_start",
            "net.ipv4.ping_group_range",
            "net.ipv4.tcp_syncookies",
        ),
        0,
    ),
    "net.ipv4.ip_local_reserved_ports": 27,
    **dict.fromkeys(
        (
            "net.ipv4.tcp_fin_timeout",
            "net.ipv4.tcp_keepalive_intvl",
            "net.ipv4.tcp_keepalive_probes",
            "net.ipv4.tcp_keepalive_time",
        ),
        29,
    ),
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
"""Allowed sysctls, and the minor version since which they are."""
_LATEST: Final = 36


def check_pod_security(obj: Object, call: RequestContext, store: Store) -> None:
    """Raises `Refused` for a Pod that violates the enforced level of its namespace.

    Differs: no warnings for the `warn` level, nor for templates of workloads.
    """
    if call.resource.kind != "Pod" or call.resource.group or call.address.subresource:
        return
    namespace = store.get((("", "namespaces"), "", call.address.namespace))
    labels = fields(dig(namespace or {}, "metadata", "labels"))
    level = text(labels.get(f"{_LABEL}enforce"))
    version = text(labels.get(f"{_LABEL}enforce-version"), "latest")
    annotations = fields(dig(obj, "metadata", "annotations"))
    found = violations(fields(obj.get("spec")), level, annotations=annotations, version=version)
    violated = ", ".join(found)
    if violated:
        why = f'violates PodSecurity "{level}:{version}": {violated}'
        raise forbidden("pods", "", text(dig(obj, "metadata", "name")), why)


class _Pod:
    """What the checks read of a Pod."""

    def __init__(self, spec: Object, annotations: Object, version: str) -> None:
        minor = version.partition(".")[2]
        self.minor = int(minor) if minor.isdecimal() else _LATEST
        self.spec = spec
        self.context = fields(self.spec.get("securityContext"))
        self.annotations = annotations
        self.containers = [
            fields(raw)
            for group in ("initContainers", "containers", "ephemeralContainers")
            for raw in items(self.spec.get(group))
        ]
        self.contexts = [
            (text(container.get("name")), fields(container.get("securityContext")))
            for container in self.containers
        ]

    @property
    def is_windows(self) -> bool:
        return dig(self.spec, "os", "name") == "windows"

    @property
    def has_user_namespace(self) -> bool:
        """Since 1.35, such a Pod may be root in its own namespace."""
        return self.minor >= 35 and self.spec.get("hostUsers") is False

    def names(self, is_bad: Callable[[Object], bool]) -> list[str]:
        """The containers whose security context is bad."""
        return [name for name, context in self.contexts if is_bad(context)]

    def setters(self, is_bad: Callable[[Object], bool]) -> str:
        """Who sets something bad: `pod`, `container "a"`, or both; empty if nobody does."""
        bad = self.names(is_bad)
        setters = ["pod"] if is_bad(self.context) else []
        return " and ".join([*setters, _containers(bad)] if bad else setters)


def violations(
    spec: Object, level: str, *, annotations: Object | None = None, version: str = "latest"
) -> Iterator[str]:
    """Violations of a Pod's spec in the order in which the server reports them."""
    subject = _Pod(spec, annotations or {}, version)
    for check in _CHECKS.get(level, ()):
        yield from check(subject)


def _app_armor(pod: _Pod) -> Iterator[str]:
    def profile(context: Object) -> str:
        return text(dig(context, "appArmorProfile", "type"))

    def is_bad(context: Object) -> bool:
        return "appArmorProfile" in context and profile(context) not in _SECCOMP

    values = sorted({profile(context) for context in _bad_contexts(pod, is_bad)})
    annotations = sorted(
        f"{key}={quoted(text(value))}"
        for key, value in pod.annotations.items()
        if key.startswith(_APP_ARMOR_ANNOTATION)
        and text(value) not in ("", "runtime/default")
        and not text(value).startswith("localhost/")
    )
    setters = [pod.setters(is_bad)] if values else []
    if annotations:
        setters.append("annotation" if len(annotations) == 1 else "annotations")
    if setters:
        bad = [*values, *annotations]
        reason = f"forbidden AppArmor profile{'' if len(bad) == 1 else 's'}"
        yield f"{reason} ({' and '.join(setters)} must not set AppArmor profile type to {_joined(bad)})"


def _added_capabilities(pod: _Pod) -> Iterator[str]:
    bad, added = _adding(pod, _DEFAULT_CAPABILITIES)
    if bad:
        must_not = f"must not include {_joined(added)} in securityContext.capabilities.add"
        yield f"non-default capabilities ({_containers(bad)} {must_not})"


def _adding(pod: _Pod, allowed: frozenset[str]) -> tuple[list[str], list[str]]:
    """The containers that add other capabilities than the allowed ones, and these capabilities."""

    def added(context: Object) -> set[str]:
        return set(map(text, items(dig(context, "capabilities", "add")))) - allowed

    return pod.names(lambda context: bool(added(context))), sorted(
        {capability for _, context in pod.contexts for capability in added(context)}
    )


def _host_namespaces(pod: _Pod) -> Iterator[str]:
    shared = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(key)]
    if shared:
        yield f"host namespaces ({', '.join(shared)})"


def _host_paths(pod: _Pod) -> Iterator[str]:
    volumes = [fields(volume) for volume in items(pod.spec.get("volumes"))]
    bad = [text(volume.get("name")) for volume in volumes if "hostPath" in volume]
    if bad:
        yield f"hostPath volumes (volume{'s' if len(bad) > 1 else ''} {_joined(bad)})"


def _host_ports(pod: _Pod) -> Iterator[str]:
    ports_by_container: list[tuple[str, list[str]]] = []
    for container in pod.containers:
        host_ports = [fields(port).get("hostPort") for port in items(container.get("ports"))]
        ports = [str(port) for port in host_ports if port]
        if ports:
            ports_by_container.append((text(container.get("name")), ports))
    if ports_by_container:
        ports = sorted({port for _, more in ports_by_container for port in more})
        ports_text = f"hostPort{'s' if len(ports) > 1 else ''} {', '.join(ports)}"
        uses = "uses" if len(ports_by_container) == 1 else "use"
        yield f"hostPort ({_containers([name for name, _ in ports_by_container])} {uses} {ports_text})"


def _host_probes(pod: _Pod) -> Iterator[str]:
    bad: set[str] = set()
    hosts: set[str] = set()
    for container in pod.containers if pod.minor >= 34 else ():
        handlers = [container.get(key) for key in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [dig(container, "lifecycle", key) for key in ("postStart", "preStop")]
        for handler in handlers:
            named = {text(dig(fields(handler), key, "host")) for key in ("httpGet", "tcpSocket")} - {""}
            if named:
                bad.add(text(container.get("name")))
                hosts |= named
    if bad:
        uses = "uses" if len(bad) == 1 else "use"
        hosts_text = f"probe or lifecycle host{'s' if len(hosts) > 1 else ''} {_joined(sorted(hosts))}"
        yield f"probe or lifecycle host ({_containers(sorted(bad))} {uses} {hosts_text})"


def _privileged(pod: _Pod) -> Iterator[str]:
    bad = pod.names(lambda context: context.get("privileged") is True)
    if bad:
        yield f"privileged ({_containers(bad)} must not set securityContext.privileged=true)"


def _proc_mount(pod: _Pod) -> Iterator[str]:
    def is_bad(context: Object) -> bool:
        return "procMount" in context and context["procMount"] != "Default"

    bad = pod.names(is_bad)
    if bad:
        values = sorted({text(context.get("procMount")) for _, context in pod.contexts if is_bad(context)})
        yield f"procMount ({_containers(bad)} must not set securityContext.procMount to {_joined(values)})"


def _baseline_proc_mount(pod: _Pod) -> Iterator[str]:
    if not pod.has_user_namespace:
        yield from _proc_mount(pod)


def _proc_mount_until_34(pod: _Pod) -> Iterator[str]:
    if pod.minor < 35:
        yield from _proc_mount(pod)


def _proc_mount_from_35(pod: _Pod) -> Iterator[str]:
    if pod.minor >= 35:
        yield from _proc_mount(pod)


def _selinux(pod: _Pod) -> Iterator[str]:
    def options(context: Object) -> Object:
        return fields(context.get("seLinuxOptions"))

    def allows(kind: str) -> bool:
        return pod.minor >= _SELINUX_TYPES.get(kind, _LATEST + 1)

    def is_bad(context: Object) -> bool:
        given = options(context)
        return not allows(text(given.get("type"))) or bool(given.get("user") or given.get("role"))

    bad = [options(context) for context in _bad_contexts(pod, is_bad)]
    if not bad:
        return
    types = sorted({kind for given in bad if not allows(kind := text(given.get("type")))})
    mistakes = [f"type{'s' if len(types) > 1 else ''} {_joined(types)}"] if types else []
    mistakes += [f"{key} may not be set" for key in ("user", "role") if any(given.get(key) for given in bad)]
    forbidden_text = f"set forbidden securityContext.seLinuxOptions: {'; '.join(mistakes)}"
    yield f"seLinuxOptions ({pod.setters(is_bad)} {forbidden_text})"


def _sets_bad_seccomp(context: Object) -> bool:
    return "seccompProfile" in context and dig(context, "seccompProfile", "type") not in _SECCOMP


def _baseline_seccomp(pod: _Pod) -> Iterator[str]:
    setters = pod.setters(_sets_bad_seccomp)
    if setters:
        contexts = _bad_contexts(pod, _sets_bad_seccomp)
        values = sorted({text(dig(context, "seccompProfile", "type")) for context in contexts})
        must_not = f"must not set securityContext.seccompProfile.type to {_joined(values)}"
        yield f"seccompProfile ({setters} {must_not})"


def _sysctls(pod: _Pod) -> Iterator[str]:
    sysctls = [text(fields(sysctl).get("name")) for sysctl in items(pod.context.get("sysctls"))]
    bad = [name for name in sysctls if pod.minor < _SAFE_SYSCTLS.get(name, _LATEST + 1)]
    if bad:
        yield f"forbidden sysctls ({', '.join(bad)})"


def _windows_host_process(pod: _Pod) -> Iterator[str]:
    setters = pod.setters(lambda context: dig(context, "windowsOptions", "hostProcess") is True)
    if setters:
        yield f"hostProcess ({setters} must not set securityContext.windowsOptions.hostProcess=true)"


def _privilege_escalation(pod: _Pod) -> Iterator[str]:
    bad = pod.names(lambda context: context.get("allowPrivilegeEscalation") is not False)
    if bad and not pod.is_windows:
        setting = "securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({_containers(bad)} must set {setting})"


def _restricted_capabilities(pod: _Pod) -> Iterator[str]:
    if pod.is_windows:
        return
    missing = pod.names(lambda context: "ALL" not in items(dig(context, "capabilities", "drop")))
    adding, added = _adding(pod, frozenset({"NET_BIND_SERVICE"}))
    details: list[str] = []
    if missing:
        details.append(f'{_containers(missing)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        must_not = f"must not include {_joined(added)} in securityContext.capabilities.add"
        details.append(f"{_containers(adding)} {must_not}")
    if details:
        yield f"unrestricted capabilities ({'; '.join(details)})"


def _volumes(pod: _Pod) -> Iterator[str]:
    restricted: list[tuple[str, str]] = []
    for raw in items(pod.spec.get("volumes")):
        volume = fields(raw)
        kinds = [key for key in volume if key != "name" and key not in _SAFE_VOLUMES]
        if kinds:
            restricted.append((text(volume.get("name")), kinds[0]))
    if not restricted:
        return
    names = _joined(name for name, _ in restricted)
    kinds = sorted({kind for _, kind in restricted})
    volumes, use = ("volume", "uses") if len(restricted) == 1 else ("volumes", "use")
    types_text = f"restricted volume type{'s' if len(kinds) > 1 else ''} {_joined(kinds)}"
    yield f"restricted volume types ({volumes} {names} {use} {types_text})"


def _non_root(pod: _Pod) -> Iterator[str]:
    if pod.has_user_namespace:
        return
    setters = pod.setters(lambda context: context.get("runAsNonRoot") is False)
    if setters:
        yield f"runAsNonRoot != true ({setters} must not set securityContext.runAsNonRoot=false)"
        return
    missing = (
        [] if pod.context.get("runAsNonRoot") else pod.names(lambda context: "runAsNonRoot" not in context)
    )
    if missing:
        setting = "securityContext.runAsNonRoot=true"
        yield f"runAsNonRoot != true (pod or {_containers(missing)} must set {setting})"


def _root_user(pod: _Pod) -> Iterator[str]:
    setters = pod.setters(lambda context: context.get("runAsUser") == 0)
    if setters and not pod.has_user_namespace:
        yield f"runAsUser=0 ({setters} must not set runAsUser=0)"


def _restricted_seccomp(pod: _Pod) -> Iterator[str]:
    if pod.is_windows:
        return
    explicit = list(_baseline_seccomp(pod))
    yield from explicit
    if explicit or "seccompProfile" in pod.context:
        return
    missing = pod.names(lambda context: "seccompProfile" not in context)
    if missing:
        setting = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {_containers(missing)} must set {setting})"


def _bad_contexts(pod: _Pod, is_bad: Callable[[Object], bool]) -> list[Object]:
    """The security contexts of the Pod and of its containers that are bad."""
    return [context for context in (pod.context, *(given for _, given in pod.contexts)) if is_bad(context)]


def _containers(names: list[str]) -> str:
    return f"container{'' if len(names) == 1 else 's'} {_joined(names)}"


def _joined(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


_Check = Callable[[_Pod], Iterator[str]]
_CHECKS: Final[dict[str, tuple[_Check, ...]]] = {
    "baseline": (
        _app_armor,
        _added_capabilities,
        _host_namespaces,
        _host_paths,
        _host_ports,
        _host_probes,
        _privileged,
        _baseline_proc_mount,
        _selinux,
        _baseline_seccomp,
        _sysctls,
        _windows_host_process,
    ),
    "restricted": (
        _app_armor,
        _host_namespaces,
        _host_ports,
        _host_probes,
        _privileged,
        _proc_mount_until_34,
        _selinux,
        _sysctls,
        _windows_host_process,
        _privilege_escalation,
        _restricted_capabilities,
        _proc_mount_from_35,
        _volumes,
        _non_root,
        _root_user,
        _restricted_seccomp,
    ),
}
