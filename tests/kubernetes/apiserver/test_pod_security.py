"""Pod Security levels: each check, several violations at once, and versions of a level."""

from __future__ import annotations

import pytest

from whysync.json_tree import Json, Object, dig, fields
from whysync.kubernetes.admission.pod_security import violations

HARDENED: Object = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SAFE_POD: Object = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def pod(context: Object | None = None, container: Object | None = None, **spec: Json) -> Object:
    """A Pod with one container `c`, which has this security context and these other fields."""
    first: Object = {"name": "c", "image": "a", "securityContext": context or {}, **(container or {})}
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [first], **spec}}


def violated(obj: Object, level: str = "baseline", version: str = "latest") -> list[str]:
    annotations = fields(dig(obj, "metadata", "annotations"))
    return list(violations(fields(obj["spec"]), level, annotations=annotations, version=version))


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), []),
        (
            pod({"appArmorProfile": {"type": "Unconfined"}}),
            ['forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")'],
        ),
        (
            pod({"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}),
            [
                'non-default capabilities (container "c" must not include "SYS_ADMIN" '
                "in securityContext.capabilities.add)"
            ],
        ),
        (
            pod(container={"readinessProbe": {"tcpSocket": {"host": "h", "port": 1}}}),
            ['probe or lifecycle host (container "c" uses probe or lifecycle host "h")'],
        ),
        (
            pod({"procMount": "Unmasked"}),
            ['procMount (container "c" must not set securityContext.procMount to "Unmasked")'],
        ),
        (pod({"procMount": "Unmasked"}, hostUsers=False), []),
        (
            pod(securityContext={"seLinuxOptions": {"type": "x", "user": "u", "role": "r"}}),
            [
                'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x"; '
                "user may not be set; role may not be set)"
            ],
        ),
        (pod(securityContext={"seLinuxOptions": {"type": "container_engine_t"}}), []),
        (
            pod(
                {"seccompProfile": {"type": "Unconfined"}},
                securityContext={"seccompProfile": {"type": "Unconfined"}},
            ),
            [
                'seccompProfile (pod and container "c" must not set '
                'securityContext.seccompProfile.type to "Unconfined")'
            ],
        ),
        (
            pod(securityContext={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}),
            ["forbidden sysctls (kernel.msgmax)"],
        ),
        (
            pod(securityContext={"windowsOptions": {"hostProcess": True}}),
            ["hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"],
        ),
        (
            pod(
                {"privileged": True, "capabilities": {"add": ["BPF"]}},
                {"ports": [{"containerPort": 80, "hostPort": 80}]},
                hostPID=True,
                volumes=[{"name": "v", "hostPath": {"path": "/"}}],
            ),
            [
                'non-default capabilities (container "c" must not include "BPF" '
                "in securityContext.capabilities.add)",
                "host namespaces (hostPID=true)",
                'hostPath volumes (volume "v")',
                'hostPort (container "c" uses hostPort 80)',
                'privileged (container "c" must not set securityContext.privileged=true)',
            ],
        ),
    ],
)
def test_baseline(obj: Object, expected: list[str]) -> None:
    assert violated(obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(HARDENED, securityContext=SAFE_POD), []),
        (
            pod({**HARDENED, "capabilities": {"add": ["NET_ADMIN"]}}, securityContext=SAFE_POD),
            [
                'unrestricted capabilities (container "c" must set '
                'securityContext.capabilities.drop=["ALL"]; container "c" must not include "NET_ADMIN" '
                "in securityContext.capabilities.add)"
            ],
        ),
        (
            pod(
                {**HARDENED, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}},
                securityContext=SAFE_POD,
            ),
            [],
        ),
        (
            pod(
                {**HARDENED, "runAsNonRoot": False, "runAsUser": 0},
                securityContext={**SAFE_POD, "runAsUser": 0},
            ),
            [
                'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
                'runAsUser=0 (pod and container "c" must not set runAsUser=0)',
            ],
        ),
        (pod({**HARDENED, "runAsUser": 0}, securityContext=SAFE_POD, hostUsers=False), []),
        (
            pod(
                {**HARDENED, "seccompProfile": {"type": "Unconfined"}},
                securityContext={"runAsNonRoot": True},
            ),
            [
                'seccompProfile (container "c" must not set '
                'securityContext.seccompProfile.type to "Unconfined")'
            ],
        ),
        (pod(securityContext={"runAsNonRoot": True}, os={"name": "windows"}), []),
        (
            pod(
                {**HARDENED, "procMount": "Unmasked"},
                securityContext=SAFE_POD,
                hostUsers=False,
                volumes=[{"name": "a", "nfs": {}}, {"name": "b", "hostPath": {}}],
            ),
            [
                'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
                'restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")',
            ],
        ),
    ],
)
def test_restricted(obj: Object, expected: list[str]) -> None:
    assert violated(obj, "restricted") == expected


def test_older_versions_of_a_level_have_other_checks() -> None:
    probe = pod(container={"livenessProbe": {"httpGet": {"host": "h", "port": 1}}})
    assert violated(probe, version="v1.33") == []
    engine = pod(securityContext={"seLinuxOptions": {"type": "container_engine_t"}})
    assert violated(engine, version="v1.30") == [
        'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "container_engine_t")'
    ]
    tcp = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})
    assert violated(tcp, version="v1.31") == ["forbidden sysctls (net.ipv4.tcp_rmem)"]
    assert violated(pod({"privileged": True}), "privileged") == []


def test_annotations_set_profiles_too() -> None:
    obj = pod()
    obj["metadata"] = {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}}
    (found,) = violated(obj)
    assert found.startswith("forbidden AppArmor profile (annotation must not set AppArmor profile type to")
