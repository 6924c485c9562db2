"""A real Argo CD with a cluster of its own, for the duration of a `with` block.

All of it listens on loopback, and has a network of its own where the user may create one.

etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok as the kubelet of all nodes, Redis, a Git
host, and Argo CD's repo-server, application controller and API server. Each is a child process that the
kernel kills when this process ends in any way.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tools.real_argocd.git_host import GitHost
from tools.real_argocd.network import private_network
from tools.real_argocd.programs import ARGOCD_VERSION, Programs
from tools.real_argocd.standing import create_namespace_and_settings, install_definitions, install_nodes
from tools.real_cluster.binaries import NotAvailable
from tools.real_cluster.processes import Child, free_ports
from tools.real_cluster.running import ApiServer, api_server
from whysync.json_tree import dig, text
from whysync.kubernetes.apiserver.protocol import Request

_PREFIX: Final = "whysync-argocd-"
_START_SECONDS: Final = 180
CONTROLLER_VARIABLES: Final = {
    "controller.sync.timeout.seconds": "ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT"
}
"""Variables that the application controller reads settings of argocd-cmd-params-cm from, when it starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long Argo CD waits by itself, in seconds; short, so that a test does not."""

    resync: int = 20
    self_heal: int = 3
    repo_error_grace: int = 10
    """How long an error of the repo-server is not reported after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How Argo CD is installed."""

    namespace: str = "argocd"
    root_path: str = ""
    """Where a proxy in front of the API server would serve it, such as `/argo`."""
    app_namespaces: tuple[str, ...] = ()
    """Patterns of other namespaces with Applications."""
    application_sets: bool = False
    """Does the ApplicationSet controller run?"""


class RealArgoCD:
    """A running Argo CD."""

    def __init__(
        self,
        programs: Programs,
        home: Path,
        kubernetes: ApiServer,
        git: GitHost,
        kubeconfig: Path,
        installation: Installation,
    ) -> None:
        self.programs, self.home, self.kubernetes = programs, home, kubernetes
        self.installation = installation
        self.git, self.kubeconfig = git, kubeconfig
        self.address = ""
        """Host and port of Argo CD's API server, which speaks plain HTTP."""
        self.token = ""
        self.is_isolated = False
        """Is it in a network namespace that has only loopback?"""
        self._controller: Child | None = None
        self._controller_settings: Mapping[str, str] = {}
        self._start_controller: Callable[[Mapping[str, str]], Child] | None = None

    @cached_property
    def version(self) -> str:
        """The version of the binary, such as `v3.5.2`; a build without one is what the module is."""
        done = self.run([str(self.programs.argocd), "version", "--client", "--short"])
        matched = re.search(r"v\d+\.\d+\.\d+", done.stdout)
        return matched[0] if matched and matched[0] != "v99.99.99" else ARGOCD_VERSION

    def administrator_password(self) -> str:
        """Empty as long as Argo CD has not generated it."""
        path = f"/api/v1/namespaces/{self.installation.namespace}/secrets/argocd-initial-admin-secret"
        secret = self.kubernetes.client.send(Request(verb="get", path=path))
        return base64.b64decode(text(dig(secret.body, "data", "password"))).decode() if secret.ok else ""

    def stop_controller(self) -> None:
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def start_controller(self, settings: Mapping[str, str] | None = None) -> None:
        """Start it if it does not run, with settings of argocd-cmd-params-cm; restart it if they changed."""
        settings = settings or {}
        if settings != self._controller_settings:
            self.stop_controller()
        if self._controller is None and self._start_controller is not None:
            variables = {CONTROLLER_VARIABLES[key]: value for key, value in settings.items()}
            self._controller = self._start_controller(variables)
            self._controller_settings = settings

    def starts_controller_with(self, start: Callable[[Mapping[str, str]], Child]) -> None:
        self._start_controller = start

    def environment(self) -> dict[str, str]:
        """For `argocd`, `kubectl` and `whysync` as a user of this Argo CD would run them."""
        home = self.home / "user"
        home.mkdir(exist_ok=True)
        root = self.installation.root_path
        return {
            "HOME": str(home),
            "PATH": f"{self.home / 'bin'}:{os.environ.get('PATH', '')}",
            "KUBECONFIG": str(self.kubeconfig),
            "ARGOCD_SERVER": self.address,
            "ARGOCD_AUTH_TOKEN": self.token,
            "ARGOCD_OPTS": f"--plaintext --grpc-web-root-path {root}" if root else "--plaintext",
        }

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: str = "",
        cwd: Path | None = None,
        seconds: float = 120,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a user of this Argo CD would."""
        return subprocess.run(
            command,
            env={**os.environ, **self.environment(), **(variables or {})},
            input=stdin,
            cwd=cwd or self.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )


@contextlib.contextmanager
def real_argocd(
    programs: Programs, timing: Timing | None = None, installation: Installation | None = None
) -> Generator[RealArgoCD]:
    """Start everything, yield when Argo CD answers, and stop everything."""
    timing, installation = timing or Timing(), installation or Installation()
    remove_leftovers()
    with (
        tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder,
        contextlib.ExitStack() as stack,
    ):
        is_isolated = stack.enter_context(private_network())
        home = Path(folder)
        # The API server finds the Pods behind a Service by itself, as in clusters whose control plane has no
        # kube-proxy: a webhook without Pods is reported as such.
        routing = ["--enable-aggregator-routing=true"]
        kubernetes = stack.enter_context(api_server(programs.cluster, home, routing))
        kubeconfig = _kubeconfig(home, kubernetes)
        git = stack.enter_context(GitHost(home / "git", programs.openssl).running())
        argocd = RealArgoCD(programs, home, kubernetes, git, kubeconfig, installation)
        argocd.is_isolated = is_isolated
        _programs_on_path(programs, home)
        install_definitions(kubernetes.client, programs.definitions)
        create_namespace_and_settings(kubernetes.client, installation.namespace)
        _start_kubernetes(argocd, stack)
        install_nodes(kubernetes.client)
        _start_argocd(argocd, stack, timing)
        yield argocd


def _start_kubernetes(argocd: RealArgoCD, stack: contextlib.ExitStack) -> None:
    home, certificates = argocd.home, argocd.kubernetes.certificates
    manager, scheduler, kwok = free_ports(3)
    common = [
        f"--kubeconfig={argocd.kubeconfig}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    children = (
        Child(
            argocd.programs.controller_manager,
            [
                *common,
                f"--secure-port={manager}",
                f"--cert-dir={home / 'controller-manager'}",
                f"--service-account-private-key-file={certificates / 'apiserver.key'}",
                f"--root-ca-file={certificates / 'apiserver.crt'}",
                "--node-monitor-grace-period=1h",  # kwok's heartbeats are late on a busy machine
                "--horizontal-pod-autoscaler-sync-period=5s",
            ],
            home / "controller-manager.log",
        ),
        Child(
            argocd.programs.scheduler,
            [*common, f"--secure-port={scheduler}", f"--cert-dir={home / 'scheduler'}"],
            home / "scheduler.log",
        ),
        Child(
            argocd.programs.kwok,
            [
                f"--kubeconfig={argocd.kubeconfig}",
                "--manage-all-nodes=true",
                "--node-ip=127.0.0.1",
                f"--server-address=127.0.0.1:{kwok}",
                "--node-lease-duration-seconds=200",
                "--enable-crds=Stage",
            ],
            home / "kwok.log",
        ),
    )
    for child in children:
        stack.callback(child.stop)


def _start_argocd(argocd: RealArgoCD, stack: contextlib.ExitStack, timing: Timing) -> None:
    home = argocd.home
    redis, repo, repo_metrics, metrics, server, server_metrics = free_ports(6)
    store = Child(
        argocd.programs.redis,
        ["--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(home)],
        home / "redis.log",
    )
    stack.callback(store.stop)
    empty, temporary = home / "empty", home / "temporary"
    empty.mkdir()
    temporary.mkdir()
    environment = {
        **argocd.environment(),
        "ARGOCD_AUTH_TOKEN": "",
        "ARGOCD_SERVER": "",
        "ARGOCD_OPTS": "",
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_SSH_DATA_PATH": str(empty),
        "ARGOCD_TLS_DATA_PATH": str(argocd.git.certificates),
        "HTTPS_PROXY": argocd.git.proxy,
        "NO_PROXY": "127.0.0.1,localhost",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "TMPDIR": str(temporary),
        "REDIS_PASSWORD": "",
    }

    def component(name: str, *arguments: str, extra: Mapping[str, str] | None = None) -> Child:
        return Child(
            argocd.programs.argocd,
            list(arguments),
            home / f"{name}.log",
            {**environment, **(extra or {}), "ARGOCD_BINARY_NAME": f"argocd-{name}"},
        )

    installation = argocd.installation
    environment["ARGOCD_APPLICATION_NAMESPACES"] = ",".join(installation.app_namespaces)
    of_kubernetes = ("--kubeconfig", str(argocd.kubeconfig), "--namespace", installation.namespace)
    of_peers = (
        "--redis", f"127.0.0.1:{redis}", "--repo-server", f"127.0.0.1:{repo}", "--repo-server-plaintext",
    )  # fmt: skip
    repo_server = component(
        "repo-server", "--address", "127.0.0.1", "--port", str(repo), "--metrics-address", "127.0.0.1",
        "--metrics-port", str(repo_metrics), "--redis", f"127.0.0.1:{redis}", "--disable-tls",
        "--revision-cache-expiration", "2s", *_without_client_certificates(argocd.version),
    )  # fmt: skip
    stack.callback(repo_server.stop)

    def controller(variables: Mapping[str, str]) -> Child:
        return component(
            "application-controller", *of_kubernetes, *of_peers, "--metrics-port", str(metrics),
            "--app-resync", str(timing.resync), "--app-resync-jitter", "0",
            "--self-heal-timeout-seconds", str(timing.self_heal),
            "--repo-error-grace-period-seconds", str(timing.repo_error_grace),
            # With a backoff, the first self-heal follows a sync at once. If the controller has not seen the
            # result of the sync yet, it syncs a second time.
            "--self-heal-backoff-timeout-seconds", "0", extra=variables,
        )  # fmt: skip

    argocd.starts_controller_with(controller)
    argocd.start_controller()
    stack.callback(argocd.stop_controller)
    api = component(
        "server", *of_kubernetes, *of_peers, "--insecure", "--address", "127.0.0.1", "--port", str(server),
        "--metrics-address", "127.0.0.1", "--metrics-port", str(server_metrics),
        "--rootpath", installation.root_path,
    )  # fmt: skip
    stack.callback(api.stop)
    if installation.application_sets:
        sets = component(
            "applicationset-controller", *of_kubernetes, "--argocd-repo-server", f"127.0.0.1:{repo}",
            "--repo-server-plaintext", "--metrics-addr", "127.0.0.1:0", "--probe-addr", "127.0.0.1:0",
            "--webhook-addr", "127.0.0.1:0",
        )  # fmt: skip
        stack.callback(sets.stop)
    argocd.address = f"127.0.0.1:{server}"
    argocd.token = _administrator(argocd, (store, repo_server, api))


def _without_client_certificates(version: str) -> list[str]:
    """From 3.5 on, the repo-server refuses to start without TLS unless this flag is empty."""
    major, minor = version.removeprefix("v").split(".")[:2]
    return ["--client-ca-path", ""] if (int(major), int(minor)) >= (3, 5) else []


def _administrator(argocd: RealArgoCD, children: tuple[Child, ...]) -> str:
    """A token of Argo CD's administrator, as soon as the API server gives one."""
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        for child in children:
            if not child.running:
                raise NotAvailable(f"{child.log.stem} ended while it was starting:\n{child.log_tail()}")
        if password := argocd.administrator_password():
            with contextlib.suppress(OSError, http.client.HTTPException):
                token = _session(argocd, password)
                if token:
                    return token
        time.sleep(0.2)
    raise NotAvailable(
        f"Argo CD's API server gave no token in {_START_SECONDS} s:\n{children[-1].log_tail()}"
    )


def _session(argocd: RealArgoCD, password: str) -> str:
    connection = http.client.HTTPConnection(argocd.address, timeout=10)
    try:
        body = json.dumps({"username": "admin", "password": password})
        path = f"{argocd.installation.root_path}/api/v1/session"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        return str(json.loads(content)["token"]) if answer.status == 200 else ""
    finally:
        connection.close()


def _kubeconfig(home: Path, kubernetes: ApiServer) -> Path:
    certificate = base64.b64encode((kubernetes.certificates / "apiserver.crt").read_bytes()).decode()
    cluster = {"server": kubernetes.url, "certificate-authority-data": certificate}
    path = home / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "real",
                "clusters": [{"name": "real", "cluster": cluster}],
                "users": [{"name": "administrator", "user": {"token": kubernetes.token}}],
                "contexts": [{"name": "real", "context": {"cluster": "real", "user": "administrator"}}],
            }
        ),
        encoding="utf-8",
    )
    return path


_KUSTOMIZE: Final = """\
#!/bin/sh
# kubectl contains the same Kustomize; Argo CD calls `kustomize build` and `kustomize version`.
command=$1
shift
case $command in
build) exec "{kubectl}" kustomize "$@" ;;
*) exec "{kubectl}" version --client ;;
esac
"""


def _programs_on_path(programs: Programs, home: Path) -> None:
    folder = home / "bin"
    folder.mkdir()
    for name, path in (
        ("argocd", programs.argocd),
        ("kubectl", programs.kubectl),
        ("helm", programs.helm),
        ("git-verify-wrapper.sh", programs.verify_wrapper),
    ):
        (folder / name).symlink_to(path)
    kustomize = folder / "kustomize"
    kustomize.write_text(_KUSTOMIZE.format(kubectl=programs.kubectl), encoding="utf-8")
    kustomize.chmod(0o755)


def remove_leftovers() -> None:
    """Folders of earlier runs whose process was killed; their children were killed with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        process = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if process.isdigit() and not Path("/proc", process).exists():
            shutil.rmtree(folder, ignore_errors=True)
