"""References to objects that must exist: Secrets and claims of a Pod, the target of an autoscaler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.compare.kind_scopes import is_cluster_scoped_kind
from whysync.json_tree import Json, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_DEEPEST_TEMPLATE = 4


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A reference; `pointer` is the field with the name."""

    kind: str
    name: str
    pointer: str

    @property
    def is_namespaced(self) -> bool:
        return not is_cluster_scoped_kind(self.kind)


def references_of(manifest: Manifest) -> Iterator[Reference]:
    """Objects that its Pods need to start, without those marked `optional`.

    For an autoscaler its target, for an Ingress its class.
    """
    if manifest.ref.kind == "HorizontalPodAutoscaler":
        target = fields(manifest.spec.get("scaleTargetRef"))
        if target.get("name") and target.get("kind"):
            yield Reference(
                kind=text(target.get("kind")),
                name=text(target.get("name")),
                pointer="/spec/scaleTargetRef/name",
            )
        return
    if manifest.ref.kind == "Ingress":
        named = text(manifest.spec.get("ingressClassName"))
        if named:
            yield Reference(kind="IngressClass", name=named, pointer="/spec/ingressClassName")
        return
    template = _template_of(manifest)
    if template is None:
        return
    spec, base = fields(manifest.at(f"{template}/spec")), f"{template}/spec"
    account = text(spec.get("serviceAccountName"))
    if account and account != "default":
        yield Reference(kind="ServiceAccount", name=account, pointer=f"{base}/serviceAccountName")
    for index, volume in enumerate(items(spec.get("volumes"))):
        yield from _volume(fields(volume), f"{base}/volumes/{index}")
    for group in ("initContainers", "containers"):
        for index, container in enumerate(items(spec.get(group))):
            yield from _container(fields(container), f"{base}/{group}/{index}")


def referenced_keys(manifest: Manifest, kind: str, name: str) -> list[str]:
    """The keys of a Secret or ConfigMap that its Pods refer to by name; a volume may use all."""
    keys: set[str] = set()
    for reference in references_of(manifest):
        if (reference.kind, reference.name) == (kind, name):
            selector = fields(manifest.at(reference.pointer.rpartition("/")[0]))
            keys.add(text(selector.get("key")))
            keys.update(text(dig(item, "key")) for item in items(selector.get("items")))
    return sorted(keys - {""})


def is_absent(case: Case, reference: Reference, namespace: str) -> bool:
    """Is it missing? Only if other objects of its kind in that namespace are live: then they were listed."""
    scope = namespace if reference.is_namespaced else ""
    live_names = case.index.live_names.get((reference.kind, scope))
    return bool(live_names) and reference.name not in live_names


def _template_of(manifest: Manifest) -> str | None:
    """The pointer to what its Pods are created from, in workloads of any kind; a Pod itself has all."""
    if manifest.ref.kind == "Pod":
        return ""
    found = _template_in(manifest.spec, ("spec",))
    return join(found) if found is not None else None


def _template_in(value: Json, path: tuple[str, ...]) -> tuple[str, ...] | None:
    if not isinstance(value, dict) or len(path) > _DEEPEST_TEMPLATE:
        return None
    if isinstance(dig(value, "spec", "containers"), list):
        return path
    for key, inner in value.items():
        found = _template_in(inner, (*path, key))
        if found is not None:
            return found
    return None


def _volume(volume: dict[str, Json], base: str) -> Iterator[Reference]:
    for kind, source, name in (
        ("Secret", "secret", "secretName"),
        ("ConfigMap", "configMap", "name"),
        ("PersistentVolumeClaim", "persistentVolumeClaim", "claimName"),
    ):
        named = text(dig(volume, source, name))
        if named and dig(volume, source, "optional") is not True:
            yield Reference(kind=kind, name=named, pointer=f"{base}/{source}/{name}")
    for index, part in enumerate(items(dig(volume, "projected", "sources"))):
        yield from _named(part, ("secret", "configMap"), f"{base}/projected/sources/{index}")


def _container(container: dict[str, Json], base: str) -> Iterator[Reference]:
    for index, entry in enumerate(items(container.get("envFrom"))):
        yield from _named(entry, ("secretRef", "configMapRef"), f"{base}/envFrom/{index}")
    for index, entry in enumerate(items(container.get("env"))):
        value = dig(entry, "valueFrom")
        if isinstance(value, dict):
            yield from _named(value, ("secretKeyRef", "configMapKeyRef"), f"{base}/env/{index}/valueFrom")


def _named(entry: Json, sources: tuple[str, str], base: str) -> Iterator[Reference]:
    for kind, source in zip(("Secret", "ConfigMap"), sources, strict=True):
        named = text(dig(entry, source, "name"))
        if named and dig(entry, source, "optional") is not True:
            yield Reference(kind=kind, name=named, pointer=f"{base}/{source}/name")
