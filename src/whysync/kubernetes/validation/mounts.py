"""Where a container sees its volumes: file systems and block devices."""

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


def mounts(container: Object, path: str, volumes: Object) -> Problems:
    volume_mounts = [fields(item) for item in items(container.get("volumeMounts"))]
    if not volume_mounts:
        return
    blocks = {text(item.get("name")): text(item.get("devicePath")) for item in _devices(container)}
    seen: set[str] = set()
    for index, mount in enumerate(volume_mounts):
        where = f"{path}[{index}]"
        name, target = text(mount.get("name")), text(mount.get("mountPath"))
        if not name:
            yield required(f"{where}.name")
        if name not in volumes:
            yield not_found(f"{where}.name", name)
        if not target:
            yield required(f"{where}.mountPath")
        if target in seen:
            yield invalid(f"{where}.mountPath", target, "must be unique")
        seen.add(target)
        if name in blocks:
            yield invalid(f"{where}.name", name, "must not already exist in volumeDevices")
        if target in blocks.values():
            detail = "must not already exist as a path in volumeDevices"
            yield invalid(f"{where}.mountPath", target, detail)
        yield from _sub_paths(mount, path, where)
        yield from _propagation(container, mount, path)


def devices(container: Object, path: str, volumes: Object) -> Problems:
    volume_devices = _devices(container)
    if not volume_devices:
        return
    mounted = {
        text(fields(item).get("name")): text(fields(item).get("mountPath"))
        for item in items(container.get("volumeMounts"))
    }
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(volume_devices):
        where = f"{path}[{index}]"
        name, target = text(device.get("name")), text(device.get("devicePath"))
        if not name:
            yield required(f"{where}.name")
        if name in names:
            yield invalid(f"{where}.name", name, "must be unique")
        if name not in volumes:
            yield not_found(f"{where}.name", name)
        elif not {"persistentVolumeClaim", "ephemeral"} & fields(volumes[name]).keys():
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield invalid(f"{where}.name", name, detail)
        if not target:
            yield required(f"{where}.devicePath")
        if target in paths:
            yield invalid(f"{where}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield invalid(f"{where}.devicePath", target, "can not contain backsteps ('..')")
        else:
            paths.add(target)
        if name in mounted:
            yield invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        if target in mounted.values():
            yield invalid(f"{where}.devicePath", target, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def descending_path(value: str, path: str) -> Problems:
    """A path that stays below where it starts. Mirrors `validateLocalDescendingPath`."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def _devices(container: Object) -> list[Object]:
    return [fields(item) for item in items(container.get("volumeDevices"))]


def _sub_paths(mount: Object, path: str, where: str) -> Problems:
    """The paths of these problems name the list, not the entry; upstream mixes the two up."""
    plain, expression = text(mount.get("subPath")), text(mount.get("subPathExpr"))
    if plain:
        yield from descending_path(plain, f"{path}.subPath")
    if expression:
        if plain:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{where}.subPathExpr", expression, detail)
        yield from descending_path(expression, f"{path}.subPathExpr")


def _propagation(container: Object, mount: Object, path: str) -> Problems:
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
