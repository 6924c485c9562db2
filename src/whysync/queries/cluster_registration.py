"""`argocd cluster add --upsert`, which replaces a cluster Secret with everything that it holds."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Final

from whysync.argocd.projects.cluster_secrets import cluster_secret_data, namespaces_in
from whysync.json_tree import Object, dig, fields, text
from whysync.queries.commands import with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

DROPPED: Final = (
    "--upsert drops labels, annotations, namespaces, project and shard that are not given as flags;"
    " an ApplicationSet that selects clusters by label then deletes its Applications"
)
_OWN: Final = frozenset({"argocd.argoproj.io/secret-type"})
_OF_TOOLS: Final = ("managed-by", "kubectl.kubernetes.io/last-applied-configuration")


def register_again(case: Case, server: str, name: str) -> tuple[str, ...]:
    """Commands that register a cluster again, with what its Secret holds now, as far as it is known."""
    named = f"argocd cluster add CONTEXT --name {quote(name) if name else 'NAME'}"
    address = quote(server) if "://" in server else "SERVER"
    flags = _flags(case, server)
    show = f"argocd cluster get {address} -o yaml"
    what = "labels, annotations, namespaces, project, shard: give each as a flag"
    if flags is not None:
        what = "compare with the flags below"
    context = f"the context's server must be {address}"
    return with_comment(show, what), with_comment(" ".join((named, "--upsert", *(flags or ()))), context)


def _flags(case: Case, server: str) -> list[str] | None:
    """The flags that keep what the cluster Secret holds; `None` if the Secret is not in the facts."""
    for setting in case.index.snapshot.settings:
        data = cluster_secret_data(setting.body) if setting.ref.kind == "Secret" else {}
        if server and data.get("server") == server:
            return list(_kept(setting.body, data))
    return None


def _kept(secret: Object, data: dict[str, str]) -> list[str]:
    flags = [f"--label {quote(pair)}" for pair in _pairs(secret, "labels")]
    flags += [f"--annotation {quote(pair)}" for pair in _pairs(secret, "annotations")]
    flags += [f"--namespace {quote(namespace)}" for namespace in namespaces_in(data)]
    if data.get("clusterResources") == "true":
        flags.append("--cluster-resources")
    flags += [f"--{key} {quote(data[key])}" for key in ("project", "shard") if data.get(key)]
    return flags


def _pairs(secret: Object, where: str) -> list[str]:
    return [
        f"{key}={text(value)}"
        for key, value in sorted(fields(dig(secret, "metadata", where)).items())
        if key not in _OWN and not key.endswith(_OF_TOOLS)
    ]
