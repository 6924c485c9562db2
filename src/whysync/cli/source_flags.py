"""Flags for the source of the facts: a bundle, Argo CD's API, a cluster. The names are those of `argocd`."""

from __future__ import annotations

import argparse
import shlex
from typing import Final, cast

from whysync.cli.flag_types import Append, count, seconds, size
from whysync.deadline import Deadline

# What is given on the line and says where to look. Tokens and headers are left out: they would be shown.
_VALUES: Final = (
    "server", "auth-token-file", "argocd-context", "config", "ca-file", "client-crt", "client-crt-key",
    "root-path", "port-forward-namespace", "kubeconfig", "context", "argocd-namespace",
)  # fmt: skip
_SWITCHES: Final = (
    "insecure", "plaintext", "port-forward", "core", "use-cluster-secrets", "all-namespaces",
)  # fmt: skip
_LISTS: Final = ("bundle", "app-namespace")


def add_source_flags(verb: argparse.ArgumentParser, *, takes_local: bool = True) -> None:
    """`takes_local`: whether `--local` is free for a folder of manifests."""
    verb.add_argument(
        "--bundle",
        action=Append,
        metavar="PATH",
        default=[],
        help="a bundle: folder, .tar.gz, .zip, YAML file, or - for standard input (repeatable)",
    )
    verb.add_argument(
        "--max-size", metavar="SIZE", type=size, help="limit for the unpacked bundle (default 2GiB)"
    )
    verb.add_argument("--max-file-size", metavar="SIZE", type=size, help="limit for one file (default 64MiB)")
    verb.add_argument(
        "--max-files", metavar="N", type=count, help="limit for the number of files (default 200000)"
    )
    argocd = verb.add_argument_group(
        "facts from Argo CD's API",
        "also: ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS, argocd's config file",
    )
    argocd.add_argument("--server", metavar="HOST[:PORT]", default="", help="Argo CD's address")
    argocd.add_argument(
        "--auth-token", metavar="TOKEN", default="", help="token of an account with read access"
    )
    argocd.add_argument(
        "--auth-token-file",
        metavar="FILE",
        default="",
        help="file with the token; read again when it expires",
    )
    argocd.add_argument("--argocd-context", metavar="NAME", default="", help="a context of argocd's config")
    argocd.add_argument(
        "--config", metavar="FILE", default="", help="argocd's config (~/.config/argocd/config)"
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
    argocd.add_argument("--insecure", action="store_true", help="do not verify Argo CD's certificate")
    argocd.add_argument("--plaintext", action="store_true", help="connect without TLS")
    argocd.add_argument(
        "--root-path", "--grpc-web-root-path", metavar="PATH", default="", help="path prefix of Argo CD's API"
    )
    argocd.add_argument(
        "-H",
        "--header",
        metavar="NAME: VALUE",
        action=Append,
        default=[],
        help="header sent with each request (repeatable)",
    )
    argocd.add_argument(
        "--port-forward", action="store_true", help="reach Argo CD through kubectl port-forward"
    )
    argocd.add_argument(
        "--port-forward-namespace", metavar="NS", default="", help="namespace of Argo CD (default argocd)"
    )
    kubernetes = verb.add_argument_group("facts from Kubernetes itself", "also: KUBECONFIG")
    kubernetes.add_argument(
        "--core", action="store_true", help="read from the cluster instead of Argo CD's API"
    )
    kubernetes.add_argument("--kubeconfig", metavar="FILE", default="", help="path of the kubeconfig")
    kubernetes.add_argument(
        "--context", "--kube-context", metavar="NAME", default="", help="context of the kubeconfig"
    )
    kubernetes.add_argument(
        "--argocd-namespace", metavar="NS", default="", help="namespace of Argo CD (default: detected)"
    )
    kubernetes.add_argument(
        "--use-cluster-secrets",
        action="store_true",
        help="log in to other clusters with the credentials in Argo CD's cluster Secrets",
    )
    both = verb.add_argument_group("what to ask for")
    both.add_argument(
        "-N",
        "--app-namespace",
        metavar="NS",
        action=Append,
        default=[],
        help="namespace of the Applications (repeatable)",
    )
    both.add_argument("-A", "--all-namespaces", action="store_true", help="Applications in any namespace")
    both.add_argument(
        "--refresh", action="store_true", help="let Argo CD refresh first (writes an annotation)"
    )
    both.add_argument("--hard-refresh", action="store_true", help="the same, ignoring Argo CD's caches")
    both.add_argument("--no-logs", action="store_true", help="do not read the logs of failing containers")
    if takes_local:
        both.add_argument(
            "--local", metavar="DIR", default="", help="folder with the rendered manifests of one app"
        )
    both.add_argument(
        "--timeout",
        metavar="TIME",
        type=seconds,
        default=0.0,
        help="limit for login, all requests and proofs together, such as 2m (default: none)",
    )
    verb.set_defaults(deadline=Deadline())


def same_source_flags(options: argparse.Namespace) -> str | None:
    """` --bundle end`, or nothing where the usual place is meant; `None` where it cannot be read again."""
    told: dict[str, object] = vars(options)
    words: list[str] = []
    for name in (*_LISTS, *_VALUES, *_SWITCHES):
        value = told.get(name.replace("-", "_"))
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, list) and "-" in value:
            return None  # standard input is gone
        elif isinstance(value, list):
            words += [word for one in cast("list[str]", value) for word in (f"--{name}", one)]
        elif value:
            words += [f"--{name}", f"{value}"]
    return f" {shlex.join(words)}" if words else ""
