"""Shell commands for fixes and checks. Text from a cluster is quoted."""

from __future__ import annotations

from shlex import quote, split
from typing import TYPE_CHECKING, Final

from whysync.kubernetes.api.ref import Ref

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

CONTROLLER = "statefulset/argocd-application-controller"
CLUSTERS = "argocd.argoproj.io/secret-type=cluster"
REPO_SERVER = "deployment/argocd-repo-server"
API_SERVER = "deployment/argocd-server"
_CONTROL_PLANES = ("", "argocd", "openshift-gitops")
_READ_ONLY: Final = frozenset({
    ("kubectl", "get"), ("kubectl", "describe"), ("kubectl", "logs"), ("kubectl", "explain"),
    ("kubectl", "top"), ("kubectl", "api-resources"), ("kubectl", "auth"), ("kubectl", "exec"),
    ("kubectl", "events"), ("kubectl", "version"), ("git", "log"), ("git", "diff"), ("git", "show"),
})  # fmt: skip
_ARGOCD_READ_ONLY: Final = frozenset({
    ("app", "diff"), ("app", "manifests"), ("app", "resources"), ("app", "list"), ("app", "logs"),
    ("app", "history"), ("proj", "list"), ("proj", "get"), ("cluster", "list"), ("cluster", "get"),
    ("repo", "list"), ("repo", "get"), ("cert", "list"), ("admin", "settings"), ("app", "get"),
})  # fmt: skip


def argocd_namespace(case: Case) -> str:
    """The namespace of Argo CD, as far as the Application shows it; `argocd` by default."""
    namespace = case.app.status.controller_namespace
    namespace = namespace or (case.app.namespace if case.app.namespace in _CONTROL_PLANES else "")
    return namespace if namespace and all(char.isalnum() or char == "-" for char in namespace) else "argocd"


def app_argument(case: Case) -> str:
    """The app as an argument of `argocd`: with its namespace if that is not Argo CD's own."""
    if case.app.namespace in (*_CONTROL_PLANES, argocd_namespace(case)):
        return quote(case.app.name)
    return quote(case.app.qualified_name)


def comment(text: str) -> str:
    """A shell comment on one line, also if the text contains line breaks."""
    return f"# {' '.join(text.split())}"


def with_comment(command: str, text: str) -> str:
    """A command followed by a comment."""
    return f"{command}   {comment(text)}"


def named(name: str) -> str:
    """A regular expression for the line of a manifest with exactly this name, not one that begins with it."""
    return f"name: {name.replace('.', '[.]')} *$"


def sync(case: Case, *flags: str) -> str:
    return " ".join(("argocd app sync", app_argument(case), *flags))


def hard_refresh(case: Case) -> str:
    return f"argocd app get {app_argument(case)} --hard-refresh"


def refresh(case: Case) -> str:
    return f"argocd app get {app_argument(case)} --refresh"


def terminate(case: Case) -> str:
    return f"argocd app terminate-op {app_argument(case)}"


def restart(case: Case, *workloads: str) -> str:
    """Restart components of Argo CD."""
    return kubectl("rollout", "restart", *workloads, namespace=argocd_namespace(case))


def kubectl(*arguments: str, namespace: str = "") -> str:
    """`kubectl -n NAMESPACE WORDS…`, each word quoted."""
    scope = ("-n", namespace) if namespace else ()
    return " ".join(quote(argument) for argument in ("kubectl", *scope, *arguments))


def on_object(verb: str, ref: Ref, *flags: str) -> str:
    """`kubectl -n production delete job.batch migrate …`."""
    kind = f"{ref.kind}.{ref.group}" if ref.group else ref.kind
    return kubectl(verb, kind.lower(), ref.name, *flags, namespace=ref.namespace)


def words_of(command: str) -> list[str]:
    """The words of a command as a shell reads them, without comments; none if a quote is not closed."""
    try:
        return split(command, comments=True)
    except ValueError:
        return []


def is_sync(command: str) -> bool:
    """Does this command sync an app?"""
    return words_of(command)[:3] == ["argocd", "app", "sync"]


def is_refresh(command: str) -> bool:
    """Does this command only refresh an app?"""
    words = words_of(command)
    return words[:3] == ["argocd", "app", "get"] and ("--refresh" in words or "--hard-refresh" in words)


def is_read_only(words: list[str]) -> bool:
    """Does this command only read? A refresh does not: it changes what Argo CD reports."""
    if is_dry_run(words):
        return True
    plain = without_flags(words)
    if tuple(plain[:2]) in _READ_ONLY:
        return True
    if plain[:1] != ["argocd"]:
        return False
    if plain[1:4] == ["proj", "windows", "list"]:
        return True
    refreshes = "--refresh" in words or "--hard-refresh" in words
    return tuple(plain[1:3]) in _ARGOCD_READ_ONLY and not (refreshes and plain[1:3] == ["app", "get"])


def is_dry_run(words: list[str]) -> bool:
    return any(word.partition("=")[0] == "--dry-run" for word in words)


def without_flags(words: list[str]) -> list[str]:
    return [
        word
        for number, word in enumerate(words)
        if not word.startswith("-") and not (number > 0 and words[number - 1] in ("-n", "--namespace"))
    ]
