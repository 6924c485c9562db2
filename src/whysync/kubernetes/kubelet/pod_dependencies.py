"""What a pod needs of other objects before its containers can be made: values for its environment, volumes.

Mirrors the kubelet's `makeEnvironmentVariables` and the set-up of volumes from Secrets and ConfigMaps,
Kubernetes 1.36: the first thing that is missing is what the kubelet tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.storage import Place

SECRETS: Final = ("", "secrets")
CONFIG_MAPS: Final = ("", "configmaps")
_TITLES: Final[dict[tuple[str, str], str]] = {SECRETS: "Secret", CONFIG_MAPS: "ConfigMap"}
_WORDS: Final[dict[tuple[str, str], str]] = {SECRETS: "secret", CONFIG_MAPS: "configmap"}

Find = Callable[[Place], Object | None]


class MissingDependency(NamedTuple):
    """Something that is missing, in the kubelet's words, and the object that would have it."""

    message: str
    place: Place


def lack_of_config(container: Object, namespace: str, find: Find) -> MissingDependency | None:
    """Why the container cannot be made."""
    for raw in items(container.get("envFrom")):
        for key, kind in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
            reference = fields(fields(raw).get(key))
            if reference:
                lack = _missing(kind, reference, namespace, find)
                if lack is not None:
                    return lack
    for raw in items(container.get("env")):
        source = fields(fields(raw).get("valueFrom"))
        for key, kind in (("configMapKeyRef", CONFIG_MAPS), ("secretKeyRef", SECRETS)):
            reference = fields(source.get(key))
            if reference:
                lack = _missing(kind, reference, namespace, find) or _no_key(kind, reference, namespace, find)
                if lack is not None:
                    return lack
    return None


def _missing(
    kind: tuple[str, str], reference: Object, namespace: str, find: Find
) -> MissingDependency | None:
    name = text(reference.get("name"))
    place = (kind, namespace, name)
    if reference.get("optional") is True or find(place) is not None:
        return None
    return MissingDependency(f'{_WORDS[kind]} "{name}" not found', place)


def _no_key(kind: tuple[str, str], reference: Object, namespace: str, find: Find) -> MissingDependency | None:
    name, key = text(reference.get("name")), text(reference.get("key"))
    place = (kind, namespace, name)
    obj = find(place)
    if obj is None or reference.get("optional") is True or key in _keys(obj):
        return None
    return MissingDependency(f"couldn't find key {key} in {_TITLES[kind]} {namespace}/{name}", place)


def _keys(obj: Object) -> set[str]:
    return {*fields(obj.get("data")), *fields(obj.get("binaryData")), *fields(obj.get("stringData"))}


def lacks_of_volumes(pod: Object, find: Find) -> list[MissingDependency]:
    """Every volume that cannot be set up yet, in the words of the kubelet's events."""
    namespace = text(dig(pod, "metadata", "namespace"))
    lacks: list[MissingDependency] = []
    for raw in items(dig(pod, "spec", "volumes")):
        volume = fields(raw)
        name = text(volume.get("name"))
        for kind, reference in _sources(volume):
            lack = _missing(kind, reference, namespace, find) or _no_item(kind, reference, namespace, find)
            if lack is not None:
                message = f'MountVolume.SetUp failed for volume "{name}" : {lack.message}'
                lacks.append(MissingDependency(message, lack.place))
                break
    return lacks


def _sources(volume: Object) -> Iterator[tuple[tuple[str, str], Object]]:
    secret, settings = fields(volume.get("secret")), fields(volume.get("configMap"))
    if secret:
        yield SECRETS, {**secret, "name": secret.get("secretName")}
    if settings:
        yield CONFIG_MAPS, settings
    for raw in items(dig(volume, "projected", "sources")):
        source = fields(raw)
        if fields(source.get("secret")):
            yield SECRETS, fields(source.get("secret"))
        if fields(source.get("configMap")):
            yield CONFIG_MAPS, fields(source.get("configMap"))


def _no_item(
    kind: tuple[str, str], reference: Object, namespace: str, find: Find
) -> MissingDependency | None:
    place = (kind, namespace, text(reference.get("name")))
    obj = find(place)
    if obj is None or reference.get("optional") is True:
        return None
    keys = _keys(obj)
    for raw in items(reference.get("items")):
        key = text(fields(raw).get("key"))
        if key not in keys:
            problem = "references non-existent secret key" if kind == SECRETS else None
            problem = problem or "configmap references non-existent config key"
            return MissingDependency(f"{problem}: {key}", place)
    return None


def lost_pull_secrets(pod: Object, find: Find) -> list[str]:
    """Names of imagePullSecrets that do not exist; the kubelet pulls without them."""
    namespace = text(dig(pod, "metadata", "namespace"))
    names = [text(fields(raw).get("name")) for raw in items(dig(pod, "spec", "imagePullSecrets"))]
    return [name for name in names if name and find((SECRETS, namespace, name)) is None]
