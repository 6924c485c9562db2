"""Sidecars that keep a finished Job running: its own containers succeeded, another one still runs.

A Job is complete when all containers of its Pod have ended. Native sidecars (init containers with
`restartPolicy: Always`) are stopped by the kubelet; ordinary containers are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from whysync.diagnosis import Case, Fix, Set
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.finding import AlreadyFixed
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import comment, kubectl, on_object, sync, terminate, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case


class InjectionSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """The label or annotation of a Pod template that disables injection, or ends the sidecar with the Job."""

    part: str
    name: str
    value: str

    @property
    def text(self) -> str:
        """`label sidecar.istio.io/inject: 'false'`, quoted where YAML would read another type."""
        value = f"'{self.value}'" if self.value in ("true", "false") else self.value
        return f"{self.part[:-1]} {self.name}: {value}"


# By the container name that the injector uses.
_SWITCHES = {
    "istio-proxy": InjectionSwitch(part="labels", name="sidecar.istio.io/inject", value="false"),
    "linkerd-proxy": InjectionSwitch(part="annotations", name="linkerd.io/inject", value="disabled"),
    "vault-agent": InjectionSwitch(
        part="annotations", name="vault.hashicorp.com/agent-pre-populate-only", value="true"
    ),
    "daprd": InjectionSwitch(part="annotations", name="dapr.io/enabled", value="false"),
    "kuma-sidecar": InjectionSwitch(part="labels", name="kuma.io/sidecar-injection", value="disabled"),
    "consul-dataplane": InjectionSwitch(
        part="annotations", name="consul.hashicorp.com/connect-inject", value="false"
    ),
}
# The request that stops the sidecar when the work is done.
_QUIT = {
    "istio-proxy": "curl -fsX POST http://localhost:15020/quitquitquit",
    "linkerd-proxy": "curl -fsX POST http://localhost:4191/shutdown",
    "cloud-sql-proxy": "curl -fsX POST http://localhost:9091/quitquitquit",
    "daprd": "curl -fsX POST http://localhost:3500/v1.0/shutdown",
    "vault-agent": "curl -fsX POST http://localhost:8200/agent/v1/quit",
}


# What these requests need: by default, the program does not serve them.
_QUIT_NEEDS = {
    "linkerd-proxy": "Linkerd 2.16+: only with annotation config.linkerd.io/proxy-admin-shutdown: enabled",
    "cloud-sql-proxy": "only with its flag --quitquitquit",
    "vault-agent": "only with agent_api and enable_quit in a listener of its configuration",
}
# How to make it a native sidecar, where its injector decides that.
_NATIVE = {
    "istio-proxy": "ENABLE_NATIVE_SIDECARS=true in the environment of istiod (Istio 1.19+, Kubernetes 1.29+)",
    "linkerd-proxy": "proxy.nativeSidecar=true in the values of Linkerd (2.15+, Kubernetes 1.29+)",
}


class RunningSidecar(msgspec.Struct, frozen=True, kw_only=True):
    """A sidecar that still runs; `injected` if the workload's own template does not contain it."""

    name: str
    finished: str
    injected: bool
    evidence: tuple[Evidence, ...]
    pod: Ref

    @property
    def switch(self) -> InjectionSwitch | None:
        return _SWITCHES.get(self.name)

    @property
    def quit_command(self) -> str:
        return _QUIT.get(self.name, "")

    @property
    def quit_needs(self) -> str:
        """What the Pod must have so that `quit_command` works; empty if nothing."""
        return _QUIT_NEEDS.get(self.name, "")


def sidecar_of_finished_job(case: Case, ref: Ref) -> RunningSidecar | None:
    """The container that still runs in a Pod of the Job whose other containers have all succeeded."""
    own = _declared(case.live_of(ref.key) or case.desired_of(ref.key))
    for history in case.pods_of(ref):
        ended = [(i, c) for i, c in _statuses(history.pod) if _succeeded(c)]
        running = [(i, c) for i, c in _statuses(history.pod) if _runs(c)]
        if not ended or not running or len(ended) + len(running) < len(tuple(_statuses(history.pod))):
            continue
        injected = [(i, c) for i, c in running if own and text(c.get("name")) not in own]
        if own and not injected and len(own) > len(ended):
            known = [(i, c) for i, c in running if text(c.get("name")) in _SWITCHES | _QUIT]
            if not known:
                continue  # one of its own containers still works
        index, sidecar = (injected or running)[0]
        first, done = ended[0]
        return RunningSidecar(
            name=text(sidecar.get("name")),
            finished=text(done.get("name")),
            injected=bool(injected),
            pod=history.pod.ref,
            evidence=(
                cite(
                    history.pod, f"/status/containerStatuses/{first}/state", says="this container succeeded"
                ),
                cite(history.pod, f"/status/containerStatuses/{index}/state", says="this one still runs"),
            ),
        )
    return None


def _statuses(pod: Manifest) -> Iterator[tuple[int, Object]]:
    for index, raw in enumerate(items(pod.status.get("containerStatuses"))):
        yield index, fields(raw)


def _succeeded(status: Object) -> bool:
    ended = dig(status, "state", "terminated")
    return isinstance(ended, dict) and integer(ended.get("exitCode"), -1) == 0


def _runs(status: Object) -> bool:
    return isinstance(dig(status, "state", "running"), dict)


def _declared(workload: Manifest | None) -> frozenset[str]:
    """The containers that the template of the workload itself has; a bare Pod has no template."""
    containers = dig(workload.spec, "template", "spec", "containers") if workload is not None else None
    return frozenset(text(dig(entry, "name")) for entry in items(containers))


def rerun_commands(case: Case, hook: Ref) -> tuple[str, ...]:
    return terminate(case), on_object("delete", hook, "--ignore-not-found"), sync(case)


def _switch_pointer(switch: InjectionSwitch) -> str:
    return join(("spec", "template", "metadata", switch.part, switch.name))


def sidecar_removed_in_git(case: Case, hook: Ref, sidecar: RunningSidecar | None) -> AlreadyFixed | None:
    """Git already runs the hook without the sidecar; the hanging run is an older one."""
    declared = case.desired_of(hook.key)
    if sidecar is None or sidecar.switch is None or declared is None:
        return None
    if declared.at(_switch_pointer(sidecar.switch)) != sidecar.switch.value:
        return None
    title = f"Terminate the operation and sync again: Git runs the hook without {sidecar.name}"
    words = f"Git already runs it without {sidecar.name}"
    return already_fixed(words, Fix.run(*rerun_commands(case, hook), title=title))


def fixes_without_sidecar(case: Case, hook: Ref, sidecar: RunningSidecar) -> Iterator[Fix]:
    """The hanging run has done its work; the template is changed for the next one."""
    yield from _stop_now(sidecar)
    again = rerun_commands(case, hook)
    declared, switch = case.desired_of(hook.key), sidecar.switch
    if switch is not None and declared is not None and isinstance(declared.at("/spec/template"), dict):
        change = Fix.change(
            hook,
            Set(pointer=_switch_pointer(switch), value=switch.value),
            title=f"Run the hook without {sidecar.name}: {switch.text}",
            risk="the hook then lacks what the sidecar provides, and it runs a second time",
        )
        yield replace(change, afterwards=again)
    elif switch is not None:
        yield Fix.run(
            comment(
                f"spec.template.metadata.{switch.part} of {hook}: {switch.name}: '{switch.value}'; commit"
            ),
            *again,
            title=f"Run the hook without {sidecar.name}: {switch.text}",
            risk="the hook then lacks what the sidecar provides, and it runs a second time",
        )
    needs = f" ({sidecar.quit_needs})" if sidecar.quit_needs else ""
    native = _NATIVE.get(sidecar.name, "") if sidecar.injected or sidecar.name in _SWITCHES else ""
    yield Fix.run(
        comment(
            native
            or "move it to initContainers with restartPolicy: Always (Kubernetes 1.29+), commit;"
            " the kubelet stops it with the Job"
        ),
        *(
            (comment(f"or stop it at the end of the hook: {sidecar.quit_command}{needs}"),)
            if sidecar.quit_command
            else ()
        ),
        *again,
        title=f"Or make {sidecar.name} a native sidecar, or stop it at the end of the hook",
        risk="the hook, which has succeeded, runs a second time",
    )


def _stop_now(sidecar: RunningSidecar) -> Iterator[Fix]:
    """Stop the sidecar of the hanging run: then its Job is complete, and the sync continues."""
    pod = sidecar.pod
    if sidecar.name == "istio-proxy":
        stop = kubectl(
            *("exec", pod.name, "-c", sidecar.name, "--", "pilot-agent", "request", "POST", "quitquitquit"),
            namespace=pod.namespace,
        )
        commands: tuple[str, ...] = (stop,)
    elif sidecar.quit_command:
        needs = sidecar.quit_needs
        quit_now = with_comment(sidecar.quit_command, needs) if needs else sidecar.quit_command
        port = sidecar.quit_command.rpartition("localhost:")[2].partition("/")[0]
        forward = kubectl("port-forward", f"pod/{pod.name}", port, namespace=pod.namespace)
        commands = (with_comment(forward, "in another terminal"), quit_now)
    else:
        return
    yield Fix.run(
        *commands,
        title=f"Stop {sidecar.name} of this run: the Job completes, and the sync continues",
    )
