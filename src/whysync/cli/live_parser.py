"""The flags that say which Argo CD or which cluster to ask. They have the names that `argocd` gives them."""

from __future__ import annotations

import argparse

from whysync.deadline import Deadline

# They change something in the cluster, if only an annotation: asked for on the line, each time.
WRITING = ("--refresh", "--hard-refresh")
# The variable speaks of findings, a form, a check or a filter; the flag of that verb does not.
ANOTHER_MEANING = {
    "--fail-on": " health",
    "--output": " collect",
    "--skip": " alerts",
    "--sync": " wait",
    "--health": " wait",
}


def live(verb: argparse.ArgumentParser, *, append: type[argparse.Action], takes_local: bool = True) -> None:
    """`takes_local`: where `--local` does not mean something else already."""
    argocd = verb.add_argument_group(
        "facts from Argo CD's API",
        "also: ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS, argocd's config file",
    )
    argocd.add_argument("--server", metavar="HOST[:PORT]", default="", help="Argo CD's address")
    argocd.add_argument("--auth-token", metavar="TOKEN", default="", help="of an account that may read")
    argocd.add_argument(
        "--auth-token-file",
        metavar="FILE",
        default="",
        help="the token in a file; read again when it expires",
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
        help="the CA that Argo CD's certificate is of",
    )
    argocd.add_argument("--client-crt", metavar="FILE", default="", help="a client certificate")
    argocd.add_argument("--client-crt-key", metavar="FILE", default="", help="its key")
    argocd.add_argument("--insecure", action="store_true", help="do not check Argo CD's certificate")
    argocd.add_argument("--plaintext", action="store_true", help="without TLS")
    argocd.add_argument(
        "--root-path", "--grpc-web-root-path", metavar="PATH", default="", help="below which /api is found"
    )
    argocd.add_argument(
        "-H", "--header", metavar="NAME: VALUE", action=append, default=[], help="sent along (repeatable)"
    )
    argocd.add_argument(
        "--port-forward", action="store_true", help="reach Argo CD through kubectl port-forward"
    )
    argocd.add_argument(
        "--port-forward-namespace", metavar="NS", default="", help="where Argo CD runs (argocd)"
    )
    kubernetes = verb.add_argument_group("facts from Kubernetes itself", "also: KUBECONFIG")
    kubernetes.add_argument("--core", action="store_true", help="ask the cluster, not Argo CD's API")
    kubernetes.add_argument("--kubeconfig", metavar="FILE", default="", help="which kubeconfig")
    kubernetes.add_argument(
        "--context", "--kube-context", metavar="NAME", default="", help="which context of it"
    )
    kubernetes.add_argument(
        "--argocd-namespace", metavar="NS", default="", help="where Argo CD runs (else it is looked for)"
    )
    kubernetes.add_argument(
        "--use-cluster-secrets",
        action="store_true",
        help="log in to other clusters with the credentials that Argo CD keeps of them",
    )
    both = verb.add_argument_group("what to ask for")
    both.add_argument(
        "-N",
        "--app-namespace",
        metavar="NS",
        action=append,
        default=[],
        help="where the Applications are (repeatable)",
    )
    both.add_argument("-A", "--all-namespaces", action="store_true", help="Applications in any namespace")
    both.add_argument(
        "--refresh", action="store_true", help="let Argo CD compare anew first (it writes that)"
    )
    both.add_argument("--hard-refresh", action="store_true", help="the same, without its caches")
    both.add_argument("--no-logs", action="store_true", help="leave out the logs of failing containers")
    if takes_local:
        both.add_argument(
            "--local", metavar="DIR", default="", help="plain YAML that says what Git wants, of one app"
        )
    both.add_argument(
        "--timeout",
        metavar="TIME",
        type=seconds,
        default=0.0,
        help="limit for login, all requests and proofs together, such as 2m (default: none)",
    )
    verb.set_defaults(deadline=Deadline())


def watching(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-w",
        "--watch",
        metavar="TIME",
        nargs="?",
        type=seconds,
        const=10.0,
        default=0.0,
        help="show it again every 10s, or as often as told, until Ctrl-C",
    )


def seconds(written: str) -> float:
    """For argparse: `90`, `90s`, `2m`."""
    from whysync.golang.duration import BadDuration, parse_duration

    try:
        found = parse_duration(f"{written}s" if written.replace(".", "", 1).isdecimal() else written)
    except BadDuration as problem:
        raise argparse.ArgumentTypeError(f"{written!r} is no time such as 90s or 2m") from problem
    if found.total_seconds() <= 0:
        raise argparse.ArgumentTypeError(f"{written!r} is no time to speak of")
    return found.total_seconds()
