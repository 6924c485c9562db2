"""Volume mounts and volume devices of a container. Mirrors `core/validation`, Kubernetes 1.36."""

from __future__ import annotations

from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.validation.field_error import (
    Problems,
    forbidden,
    invalid,
    not_found,
    required,
    unsupported,
)

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_volume_mounts(container: Object, path: str, volumes: Object) -> Problems:
    volume_mounts = [fields(item) for item in items(container.get("volumeMounts"))]
    if not volume_mounts:
        return
    device_paths = {
        text(item.get("name")): text(item.get("devicePath")) for item in _volume_devices(container)
    }
    seen: set[str] = set()
    for index, mount in enumerate(volume_mounts):
        item_path = f"{path}[{index}]"
        name, target = text(mount.get("name")), text(mount.get("mountPath"))
        if not name:
            yield required(f"{item_path}.name")
        if name not in volumes:
            yield not_found(f"{item_path}.name", name)
        if not target:
            yield required(f"{item_path}.mountPath")
        if target in seen:
            yield invalid(f"{item_path}.mountPath", target, "must be unique")
        seen.add(target)
        if name in device_paths:
            yield invalid(f"{item_path}.name", name, "must not already exist in volumeDevices")
        if target in device_paths.values():
            detail = "must not already exist as a path in volumeDevices"
            yield invalid(f"{item_path}.mountPath", target, detail)
        yield from _validate_sub_paths(mount, path, item_path)
        yield from _validate_mount_propagation(container, mount, path)


def validate_volume_devices(container: Object, path: str, volumes: Object) -> Problems:
    volume_devices = _volume_devices(container)
    if not volume_devices:
        return
    mount_paths = {
        text(fields(item).get("name")): text(fields(item).get("mountPath"))
        for item in items(container.get("volumeMounts"))
    }
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(volume_devices):
        item_path = f"{path}[{index}]"
        name, target = text(device.get("name")), text(device.get("devicePath"))
        if not name:
            yield required(f"{item_path}.name")
        if name in names:
            yield invalid(f"{item_path}.name", name, "must be unique")
        if name not in volumes:
            yield not_found(f"{item_path}.name", name)
        elif not {"persistentVolumeClaim", "ephemeral"} & fields(volumes[name]).keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{item_path}.name", name, detail)
        if not target:
            yield required(f"{item_path}.devicePath")
        if target in paths:
            yield invalid(f"{item_path}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield invalid(f"{item_path}.devicePath", target, "can not contain backsteps ('..')")
        else:
            paths.add(target)
        if name in mount_paths:
            yield invalid(f"{item_path}.name", name, "must not already exist in volumeMounts")
        if target in mount_paths.values():
            yield invalid(
                f"{item_path}.devicePath", target, "must not already exist as a path in volumeMounts"
            )
        if name:
            names.add(name)


def validate_local_descending_path(value: str, path: str) -> Problems:
    """A relative path without `..`. Mirrors `validateLocalDescendingPath`."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def _volume_devices(container: Object) -> list[Object]:
    return [fields(item) for item in items(container.get("volumeDevices"))]


def _validate_sub_paths(mount: Object, path: str, item_path: str) -> Problems:
    """As upstream, some of these problems have the path of the list instead of the entry."""
    plain, expression = text(mount.get("subPath")), text(mount.get("subPathExpr"))
    if plain:
        yield from validate_local_descending_path(plain, f"{path}.subPath")
    if expression:
        if plain:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{item_path}.subPathExpr", expression, detail)
        yield from validate_local_descending_path(expression, f"{path}.subPathExpr")


def _validate_mount_propagation(container: Object, mount: Object, path: str) -> Problems:
    mode, recursive = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if mode is not None:
        if mode not in _PROPAGATIONS:
            yield unsupported(f"{path}.mountPropagation", mode, _PROPAGATIONS)
        privileged = fields(container.get("securityContext")).get("privileged") is True
        if mode == "Bidirectional" and not privileged:
            detail = "Bidirectional mount propagation is available only to privileged containers"
            yield forbidden(f"{path}.mountPropagation", detail)
    if recursive is None or recursive == "Disabled":
        return
    if recursive not in _RECURSIVE:
        yield unsupported(f"{path}.recursiveReadOnly", recursive, _RECURSIVE)
        return
    if mount.get("readOnly") is not True:
        yield forbidden(f"{path}.recursiveReadOnly", "may only be specified when readOnly is true")
    if mode not in (None, "None"):
        detail = "may only be specified when mountPropagation is None or not specified"
        yield forbidden(f"{path}.recursiveReadOnly", detail)
