"""Flags for the source of the facts: a bundle, Argo CD's API, a cluster. The names are as in `argocd`."""

from __future__ import annotations

import argparse
import shlex
from typing import Final, cast

from whysync.cli.flag_types import Append, collapsed_group, count, seconds, size
from whysync.deadline import Deadline

# Flags that `same_source_flags` repeats. Tokens and headers are left out, because they would be shown.
_VALUES: Final = (
    "server", "auth-token-file", "argocd-context", "config", "ca-file", "client-crt", "client-crt-key",
    "root-path", "port-forward-namespace", "kubeconfig", "context", "argocd-namespace",
)  # fmt: skip
_SWITCHES: Final = (
    "insecure", "plaintext", "port-forward", "core", "use-cluster-secrets", "all-namespaces", "git",
)  # fmt: skip
_LISTS: Final = ("bundle", "app-namespace")


def add_source_flags(
    verb: argparse.ArgumentParser,
    *,
    takes_local: bool = True,
    takes_git: bool = True,
    argocd_config: str = "--config",
) -> None:
    """`takes_local`, `takes_git`: the verb accepts `--local`, `--git`.

    `argocd_config`: the flag for the config file of argocd.
    """
    verb.add_argument(
        "--bundle",
        action=Append,
        metavar="PATH",
        default=[],
        help="bundle: folder, .tar.gz, .zip, YAML, or - (repeatable)",
    )
    argocd = collapsed_group(
        verb,
        "connection to the Argo CD API",
        "also: ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS, and the config file of argocd",
    )
    argocd.add_argument("--server", metavar="HOST[:PORT]", default="", help="address of the Argo CD server")
    argocd.add_argument(
        "--auth-token", metavar="TOKEN", default="", help="token of an account with read access"
    )
    argocd.add_argument(
        "--auth-token-file",
        metavar="FILE",
        default="",
        help="file with the token; read again when it expires",
    )
    argocd.add_argument(
        "--argocd-context", metavar="NAME", default="", help="context in the config file of argocd"
    )
    argocd.add_argument(
        argocd_config,
        dest="config",
        metavar="FILE",
        default="",
        help="config file of argocd (default ~/.config/argocd/config)",
    )
    argocd.add_argument(
        "--ca-file",
        "--server-crt",
        metavar="FILE",
        default="",
        help="CA certificate of the Argo CD server",
    )
    argocd.add_argument("--client-crt", metavar="FILE", default="", help="client certificate")
    argocd.add_argument("--client-crt-key", metavar="FILE", default="", help="key of the client certificate")
    argocd.add_argument("--insecure", action="store_true", help="do not verify the server certificate")
    argocd.add_argument("--plaintext", action="store_true", help="connect without TLS")
    argocd.add_argument(
        "--root-path", "--grpc-web-root-path", metavar="PATH", default="", help="root path of the Argo CD API"
    )
    argocd.add_argument(
        "-H",
        "--header",
        metavar="NAME: VALUE",
        action=Append,
        default=[],
        help="additional header for all requests to Argo CD (repeatable)",
    )
    argocd.add_argument(
        "--port-forward", action="store_true", help="connect to Argo CD through kubectl port-forward"
    )
    argocd.add_argument(
        "--port-forward-namespace", metavar="NS", default="", help="namespace of Argo CD (default argocd)"
    )
    kubernetes = collapsed_group(verb, "connection to Kubernetes", "also: KUBECONFIG")
    kubernetes.add_argument(
        "--core", action="store_true", help="read from the cluster instead of Argo CD's API"
    )
    kubernetes.add_argument("--kubeconfig", metavar="FILE", default="", help="path to the kubeconfig file")
    kubernetes.add_argument(
        "--context", "--kube-context", metavar="NAME", default="", help="context in the kubeconfig"
    )
    kubernetes.add_argument(
        "--argocd-namespace", metavar="NS", default="", help="namespace of Argo CD (default: detected)"
    )
    kubernetes.add_argument(
        "--use-cluster-secrets",
        action="store_true",
        help="connect to other clusters with the credentials in Argo CD's cluster Secrets",
    )
    requests = collapsed_group(verb, "requests and limits")
    requests.add_argument(
        "-N",
        "--app-namespace",
        metavar="NS",
        action=Append,
        default=[],
        help="namespace of the Applications (repeatable)",
    )
    requests.add_argument("-A", "--all-namespaces", action="store_true", help="Applications in any namespace")
    requests.add_argument(
        "--refresh", action="store_true", help="refresh the apps first (writes an annotation)"
    )
    requests.add_argument(
        "--hard-refresh", action="store_true", help="refresh the apps first, without Argo CD's caches"
    )
    requests.add_argument("--no-logs", action="store_true", help="do not read the logs of failing containers")
    if takes_local:
        requests.add_argument(
            "--local",
            metavar="DIR",
            default="",
            help="checkout of the app's source (default: the current directory, if it is one), or folder with"
            " the rendered manifests of one app",
        )
    if takes_git:
        requests.add_argument(
            "--git",
            action="store_true",
            help="fetch sources, and the current commits of their branches, with your Git credentials",
        )
    requests.add_argument(
        "--timeout",
        metavar="TIME",
        type=seconds,
        default=0.0,
        help="time limit for login, requests and simulations together, such as 2m (default: none)",
    )
    requests.add_argument(
        "--max-size", metavar="SIZE", type=size, help="maximum size of an unpacked bundle (default 2GiB)"
    )
    requests.add_argument(
        "--max-file-size",
        metavar="SIZE",
        type=size,
        help="maximum size of a file in a bundle (default 64MiB)",
    )
    requests.add_argument(
        "--max-files", metavar="N", type=count, help="maximum number of files in a bundle (default 200000)"
    )
    verb.set_defaults(deadline=Deadline())


def same_source_flags(options: argparse.Namespace) -> str | None:
    """Flags with which another command reads the same facts; `None` if they came from standard input."""
    values: dict[str, object] = vars(options)
    arguments: list[str] = []
    for name in (*_LISTS, *_VALUES, *_SWITCHES):
        value = values.get(name.replace("-", "_"))
        if value is True:
            arguments.append(f"--{name}")
        elif isinstance(value, list) and "-" in value:
            return None  # standard input cannot be read again
        elif isinstance(value, list):
            arguments += [argument for item in cast("list[str]", value) for argument in (f"--{name}", item)]
        elif value:
            arguments += [f"--{name}", f"{value}"]
    return f" {shlex.join(arguments)}" if arguments else ""
