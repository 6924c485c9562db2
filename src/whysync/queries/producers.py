"""What a missing object is created from: a custom resource, its operator, or a program that copies it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.json_tree import Json, Missing, Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.queries.reasons import is_ready

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

# Custom resources from which a controller creates an object, and the field with its name; `*` is every
# element of a list. Where a single field is absent, the object has the name of the custom resource.
_TARGETS = {
    ("external-secrets.io", "ExternalSecret"): ("Secret", ("spec", "target", "name")),
    ("external-secrets.io", "ClusterExternalSecret"): ("Secret", ("spec", "externalSecretName")),
    ("bitnami.com", "SealedSecret"): ("Secret", ("spec", "template", "metadata", "name")),
    ("cert-manager.io", "Certificate"): ("Secret", ("spec", "secretName")),
    ("secrets.hashicorp.com", "VaultStaticSecret"): ("Secret", ("spec", "destination", "name")),
    ("secrets.hashicorp.com", "VaultDynamicSecret"): ("Secret", ("spec", "destination", "name")),
    ("secrets.hashicorp.com", "VaultPKISecret"): ("Secret", ("spec", "destination", "name")),
    ("secrets.infisical.com", "InfisicalSecret"): (
        "Secret",
        ("spec", "managedSecretReference", "secretName"),
    ),
    ("onepassword.com", "OnePasswordItem"): ("Secret", ("metadata", "name")),
    ("isindir.github.com", "SopsSecret"): ("Secret", ("spec", "secretTemplates", "*", "name")),
    # Secrets that exist only while a Pod mounts the class.
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass"): (
        "Secret",
        ("spec", "secretObjects", "*", "secretName"),
    ),
    ("ricoberger.de", "VaultSecret"): ("Secret", ("metadata", "name")),
    ("trust.cert-manager.io", "Bundle"): ("ConfigMap", ("metadata", "name")),
}
# Fields of custom resources of any kind that name the Secret which their controller writes.
_WRITTEN = re.compile(
    r"^write\w*Secret\w*$|^publishConnectionDetailsTo$|^(?:target|output|destination|generated)Secret(?:Name|Ref)?$"
)
_CLUSTER_WIDE = frozenset({"ClusterExternalSecret", "Bundle"})
# Annotations of programs that copy an object of the same name into other namespaces.
_COPIERS = (
    "reflector.v1.k8s.emberstack.com/reflection-",
    "replicator.v1.mittwald.de/replicate-to",
    "replicator.v1.mittwald.de/replication-allowed",
    "kubed.appscode.com/sync",
    "config-syncer.appscode.com/sync",
)
_DEEPEST_FIELD = 3
_OPERATED = ("Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim", "Service")


class Producer(msgspec.Struct, frozen=True, kw_only=True):
    """`certain` if a field or an annotation refers to the missing object, not only a similar name."""

    manifest: Manifest
    certain: bool = True


def producer_of(case: Case, kind: str, namespace: str, name: str) -> Producer | None:
    """The object from which another program creates the missing one: live, else as Git declares it."""
    for search in (_by_target, _by_field, _copied, _by_name):
        for producer in search(case, kind, namespace, name):
            return producer
    return None


def _custom(case: Case) -> Iterator[Manifest]:
    """Live custom resources, then those that Git declares and that are not live."""
    for manifest in (*case.index.snapshot.live, *case.desired):
        if not is_builtin(manifest.ref):
            yield manifest


def creates_object(manifest: Manifest, kind: str, name: str) -> bool:
    """Does a controller create an object of this kind and name from this custom resource?"""
    created_kind, path = _TARGETS.get((manifest.ref.group, manifest.ref.kind), ("", ()))
    names = _names_at(manifest.body, path)
    if not names and "*" not in path:
        names = {manifest.ref.name}
    return created_kind == kind and name in names


def _names_at(value: Json | Missing, path: tuple[str, ...]) -> set[str]:
    for index, part in enumerate(path):
        if part == "*":
            elements = items(value) if isinstance(value, list) else []
            return {name for element in elements for name in _names_at(element, path[index + 1 :])}
        value = dig(value, part)
    return {text(value)} - {""}


def _by_target(case: Case, kind: str, namespace: str, name: str) -> Iterator[Producer]:
    for manifest in _custom(case):
        if creates_object(manifest, kind, name) and _is_near(case, manifest, namespace):
            yield Producer(manifest=manifest)


def _by_field(case: Case, kind: str, namespace: str, name: str) -> Iterator[Producer]:
    """`writeConnectionSecretToRef` of Crossplane, and fields like it."""
    for manifest in _custom(case) if kind == "Secret" else ():
        if not _is_near(case, manifest, namespace) and manifest.ref.namespace:
            continue
        if any(_writes(entry, namespace, name) for entry in _objects_in(manifest.spec, 0)):
            yield Producer(manifest=manifest)


def _writes(part: Object, namespace: str, name: str) -> bool:
    for field, value in part.items():
        if _WRITTEN.match(field) and (text(value) or text(fields(value).get("name"))) == name:
            return text(fields(value).get("namespace")) in ("", namespace)
    return False


def _objects_in(value: Json, depth: int) -> Iterator[Object]:
    """The spec and the objects inside it, not too deep: a list of users, each with its Secret."""
    if isinstance(value, dict):
        yield value
    if depth < _DEEPEST_FIELD:
        for inner in value.values() if isinstance(value, dict) else items(value):
            if isinstance(inner, dict | list):
                yield from _objects_in(inner, depth + 1)


def _copied(case: Case, kind: str, namespace: str, name: str) -> Iterator[Producer]:
    """An object of that name in another namespace which a program copies."""
    for key in case.index.live_keys_by_name.get(name, ()):
        if key.kind == kind and key.namespace != namespace:
            source = case.index.live_by_key[key][0]
            if any(mark.startswith(_COPIERS) for mark in source.annotations):
                yield Producer(manifest=source)


def _by_name(case: Case, kind: str, namespace: str, name: str) -> Iterator[Producer]:
    """Operators name what they create after the custom resource: `orders-db-app` of Cluster `orders-db`,
    `app.orders-db.credentials.postgresql.acid.zalan.do` of a postgresql of that API group.

    Many objects have such names by chance, so only a custom resource that is not ready counts.
    """
    near = [m for m in _custom(case) if kind in _OPERATED and _is_near(case, m, namespace)]
    alike = [m for m in near if _is_named_after(name, m)]
    for manifest in sorted(alike, key=lambda m: -len(m.ref.name)):
        has_known_target = (manifest.ref.group, manifest.ref.kind) in _TARGETS
        if not has_known_target and manifest.ref.group != "argoproj.io" and not is_ready(case, manifest):
            yield Producer(manifest=manifest, certain=False)


def _is_named_after(name: str, manifest: Manifest) -> bool:
    own = manifest.ref.name
    if name == own or name.startswith((f"{own}-", f"{own}.")):
        return True
    return name.endswith(f".{manifest.ref.group}") and own in name.split(".")


def _is_near(case: Case, manifest: Manifest, namespace: str) -> bool:
    own = manifest.ref.namespace or case.destination_namespace
    return own == namespace or manifest.ref.kind in _CLUSTER_WIDE
