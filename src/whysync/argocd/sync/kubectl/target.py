"""A manifest as kubectl reads it from the temporary file that Argo CD writes."""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec

from whysync.argocd.sync.cluster_ops import Refused
from whysync.argocd.sync.kubectl.client import Client
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Ref, ref_of
from whysync.kubernetes.apiserver.protocol import ServedKind

_FOLDER: Final = "/dev/shm"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Mirrors cli-runtime `resource.Info`, Kubernetes 1.36."""

    obj: Object
    """Without the namespace if its kind is cluster-scoped."""
    ref: Ref
    kind: ServedKind
    file: str

    @property
    def collection(self) -> str:
        return self.kind.collection(self.ref.namespace)

    @property
    def path(self) -> str:
        return self.kind.path(self.ref.namespace, self.ref.name)

    @property
    def path_problem(self) -> str:
        """Why client-go sends no request: the name or the namespace is missing."""
        if not self.ref.name:
            return "resource name may not be empty"
        if self.kind.namespaced and not self.ref.namespace:
            return "an empty namespace may not be set when a resource name is provided"
        return ""

    @property
    def described(self) -> str:
        """Two lines that kubectl's errors contain."""
        group_version = f"{self.kind.group}/{self.kind.version}"
        return (
            f'Resource: "{group_version}, Resource={self.kind.plural}", '
            f'GroupVersionKind: "{group_version}, Kind={self.kind.kind}"\n'
            f'Name: "{self.ref.name}", Namespace: "{self.ref.namespace}"'
        )

    def printed(self, operation: str, *, dry_run: bool = False) -> str:
        """Mirrors `NamePrinter`: `deployment.apps/api configured`."""
        suffix = " (dry run)" if dry_run else ""
        return f"{_lower(self.ref)}/{self.ref.name or '<unknown>'} {operation}{suffix}"

    def deleted(self) -> str:
        """Mirrors `DeleteOptions.PrintObj`."""
        suffix = f" from {self.ref.namespace} namespace" if self.kind.namespaced else ""
        return f'{_lower(self.ref)} "{self.ref.name}" deleted{suffix}'


def target_of(client: Client, obj: Object, *, namespace: str = "") -> Target:
    """Raises `Refused` if the kind is not served; `namespace` is the default namespace."""
    ref = ref_of(obj)
    file = file_of(ref)
    kind = client.kind(ref.api_version, ref.kind)
    if kind is None:
        raise Refused(
            f'resource mapping not found for name: "{ref.name}" namespace: "{ref.namespace}" '
            f'from "{file}": no matches for kind "{ref.kind}" in version "{ref.api_version}"\n'
            "ensure CRDs are installed first"
        )
    object_namespace = (ref.namespace or namespace) if kind.namespaced else ""
    if object_namespace != ref.namespace:
        meta: Object = {
            key: value for key, value in fields(obj.get("metadata")).items() if key != "namespace"
        }
        if object_namespace:
            meta["namespace"] = object_namespace
        obj = {**obj, "metadata": meta}
        ref = ref_of(obj)
    return Target(obj=obj, ref=ref, kind=kind, file=file)


def file_of(ref: Ref) -> str:
    """The file name, which appears in errors. Differs: deterministic, while upstream's is random."""
    return f"{_FOLDER}/{crc32('/'.join((ref.api_version, *ref.key)).encode('utf-8', 'replace'))}"


def _lower(ref: Ref) -> str:
    kind = ref.kind.lower()
    return f"{kind}.{ref.group}" if ref.group else kind
