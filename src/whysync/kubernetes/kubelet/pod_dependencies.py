"""Secrets and ConfigMaps that a pod needs for environment variables, volumes and image pulls.

Mirrors the kubelet's `makeEnvironmentVariables` and the set-up of volumes from Secrets and ConfigMaps,
Kubernetes 1.36: the kubelet reports the first missing object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.apiserver.storage import ObjectKey

SECRETS: Final = ("", "secrets")
CONFIG_MAPS: Final = ("", "configmaps")
_KINDS: Final[dict[tuple[str, str], str]] = {SECRETS: "Secret", CONFIG_MAPS: "ConfigMap"}

Find = Callable[[ObjectKey], Object | None]


def missing_env_source(container: Object, namespace: str, find: Find) -> str:
    """The first missing object or key in `envFrom` and `env`: CreateContainerConfigError; empty if none."""
    for raw in items(container.get("envFrom")):
        for key, kind in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
            reference = fields(fields(raw).get(key))
            if reference:
                missing = _missing_object(kind, reference, namespace, find)
                if missing:
                    return missing
    for raw in items(container.get("env")):
        source = fields(fields(raw).get("valueFrom"))
        for key, kind in (("configMapKeyRef", CONFIG_MAPS), ("secretKeyRef", SECRETS)):
            reference = fields(source.get(key))
            if reference:
                missing = _missing_object(kind, reference, namespace, find) or _missing_key(
                    kind, reference, namespace, find
                )
                if missing:
                    return missing
    return ""


def _missing_object(kind: tuple[str, str], reference: Object, namespace: str, find: Find) -> str:
    name = text(reference.get("name"))
    if reference.get("optional") is True or find((kind, namespace, name)) is not None:
        return ""
    return f'{_KINDS[kind].lower()} "{name}" not found'


def _missing_key(kind: tuple[str, str], reference: Object, namespace: str, find: Find) -> str:
    name, key = text(reference.get("name")), text(reference.get("key"))
    obj = find((kind, namespace, name))
    if obj is None or reference.get("optional") is True or key in _keys(obj):
        return ""
    return f"couldn't find key {key} in {_KINDS[kind]} {namespace}/{name}"


def _keys(obj: Object) -> set[str]:
    return {*fields(obj.get("data")), *fields(obj.get("binaryData")), *fields(obj.get("stringData"))}


def missing_volume_sources(pod: Object, find: Find) -> list[str]:
    """The messages of FailedMount events: volumes whose Secret, ConfigMap or key is missing."""
    namespace = text(dig(pod, "metadata", "namespace"))
    failures: list[str] = []
    for raw in items(dig(pod, "spec", "volumes")):
        volume = fields(raw)
        name = text(volume.get("name"))
        for kind, reference in _sources(volume):
            missing = _missing_object(kind, reference, namespace, find) or _missing_item(
                kind, reference, namespace, find
            )
            if missing:
                message = f'MountVolume.SetUp failed for volume "{name}" : {missing}'
                failures.append(message)
                break
    return failures


def _sources(volume: Object) -> Iterator[tuple[tuple[str, str], Object]]:
    secret, config_map = fields(volume.get("secret")), fields(volume.get("configMap"))
    if secret:
        yield SECRETS, {**secret, "name": secret.get("secretName")}
    if config_map:
        yield CONFIG_MAPS, config_map
    for raw in items(dig(volume, "projected", "sources")):
        source = fields(raw)
        if fields(source.get("secret")):
            yield SECRETS, fields(source.get("secret"))
        if fields(source.get("configMap")):
            yield CONFIG_MAPS, fields(source.get("configMap"))


def _missing_item(kind: tuple[str, str], reference: Object, namespace: str, find: Find) -> str:
    obj = find((kind, namespace, text(reference.get("name"))))
    if obj is None or reference.get("optional") is True:
        return ""
    keys = _keys(obj)
    for raw in items(reference.get("items")):
        key = text(fields(raw).get("key"))
        if key not in keys:
            if kind == SECRETS:
                return f"references non-existent secret key: {key}"
            return f"configmap references non-existent config key: {key}"
    return ""


def missing_pull_secrets(pod: Object, find: Find) -> list[str]:
    """Names of imagePullSecrets that do not exist; the kubelet pulls without them."""
    namespace = text(dig(pod, "metadata", "namespace"))
    names = [text(fields(raw).get("name")) for raw in items(dig(pod, "spec", "imagePullSecrets"))]
    return [name for name in names if name and find((SECRETS, namespace, name)) is None]
