"""Volumes of a pod: one source each, names once.

Mirrors `ValidateVolumes` of `core/validation`, Kubernetes 1.36. Differs: of the sources that name a vendor's
storage only their number is checked, not what is in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whysync.golang.quantity import quantity_value
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.validation.environment import field_reference, resource_reference
from whysync.kubernetes.validation.field_error import (
    FieldProblem,
    Problems,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.mounts import descending_path
from whysync.kubernetes.validation.scalars import dns_label, optional_one_of

# In the order in which upstream looks at them: all but the first count as too many.
_SOURCES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI",
    "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_HOST_PATHS: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_DOWNWARD: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_MANAGED_DISK: Final = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_DISK: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def volumes(spec: Object, path: str) -> tuple[Object, list[FieldProblem]]:
    """The volumes by name that mounts may refer to, and what is wrong; a bad one cannot be mounted."""
    usable: Object = {}
    problems: list[FieldProblem] = []
    for index, item in enumerate(items(spec.get("volumes"))):
        volume, where = fields(item), f"{path}[{index}]"
        name = text(volume.get("name"))
        volume_problems = list(_source(volume, where))
        volume_problems.extend(dns_label(name, f"{where}.name") if name else [required(f"{where}.name")])
        if name in usable:
            volume_problems.append(duplicate(f"{where}.name", name))
        if volume_problems:
            problems.extend(volume_problems)
        else:
            usable[name] = volume
    return usable, problems


def _source(volume: Object, path: str) -> Problems:
    taken = False
    for kind in _SOURCES:
        source = volume.get(kind)
        if not isinstance(source, dict):
            continue
        if taken:
            yield forbidden(f"{path}.{kind}", "may not specify more than 1 volume type")
            continue
        taken = True
        check = _CHECKS.get(kind)
        if check is not None:
            yield from check(source, f"{path}.{kind}")
    if not taken:
        yield required(path, "must specify a volume type")


def host_path(source: Object, path: str) -> Problems:
    target, kind = text(source.get("path")), source.get("type")
    if not target:
        yield required(f"{path}.path")
        return
    if ".." in target.split("/"):
        yield invalid(f"{path}.path", target, "must not contain '..'")
    if kind is not None and kind not in _HOST_PATHS:
        yield unsupported(f"{path}.type", kind, _HOST_PATHS)


def nfs(source: Object, path: str) -> Problems:
    yield from _all_set(source, path, "server", "path")
    target = text(source.get("path"))
    if not target.startswith("/"):
        yield invalid(f"{path}.path", target, "must be an absolute path")


def azure_disk(source: Object, path: str) -> Problems:
    yield from _all_set(source, path, "diskName", "diskURI")
    caching, kinds = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
    yield from optional_one_of(source.get("cachingMode"), f"{path}.cachingMode", caching)
    kind, disk = source.get("kind"), text(source.get("diskURI"))
    yield from optional_one_of(kind, f"{path}.kind", kinds)
    if kind == "Managed" and not disk.startswith("/subscriptions/"):
        yield unsupported(f"{path}.diskURI", disk, (_MANAGED_DISK,))
    elif kind not in (None, "Managed") and not disk.startswith("https://"):
        yield unsupported(f"{path}.diskURI", disk, (_BLOB_DISK,))


def _empty_dir(source: Object, path: str) -> Problems:
    worth = quantity_value(source.get("sizeLimit"))
    if worth is not None and worth < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _git_repo(source: Object, path: str) -> Problems:
    yield from _all_set(source, path, "repository")
    yield from descending_path(text(source.get("directory")), f"{path}.directory")


def _secret(source: Object, path: str) -> Problems:
    yield from _all_set(source, path, "secretName")
    yield from _files(source, path)


def _config_map(source: Object, path: str) -> Problems:
    yield from _all_set(source, path, "name")
    yield from _files(source, path)


def _claim(source: Object, path: str) -> Problems:
    yield from _all_set(source, path, "claimName")


def _downward(source: Object, path: str) -> Problems:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in items(source.get("items")):
        yield from _downward_file(fields(item), path)


def _projected(source: Object, path: str) -> Problems:
    """An empty source is valid; two files with the same path are not."""
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    seen: set[str] = set()
    for index, item in enumerate(items(source.get("sources"))):
        projection, where = fields(item), f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if isinstance(projection.get(kind), dict):
                named = fields(projection.get(kind))
                yield from _all_set(named, f"{where}.{kind}", "name")
                yield from _paths(named, f"{where}.{kind}")
                yield from _once(named, path, text(named.get("name")), seen)
        downward = fields(projection.get("downwardAPI"))
        for file in items(downward.get("items")):
            yield from _downward_file(fields(file), f"{where}.downwardAPI")
        yield from _once(downward, path, "", seen)
        if isinstance(projection.get("serviceAccountToken"), dict):
            yield from _token(fields(projection.get("serviceAccountToken")), where, path)
        if sum(isinstance(value, dict) for value in projection.values()) > 1:
            yield forbidden(where, "may not specify more than 1 volume type per source")


def _once(source: Object, path: str, called: str, seen: set[str]) -> Problems:
    for item in items(source.get("items")):
        file = text(fields(item).get("path"))
        if file and file in seen:
            yield invalid(path, called or file, "conflicting duplicate paths")
        seen.add(file)


def _token(token: Object, where: str, path: str) -> Problems:
    seconds = token.get("expirationSeconds")
    if seconds is not None and integer(seconds) < 600:
        detail = "may not specify a duration less than 10 minutes"
        yield invalid(f"{where}.serviceAccountToken.expirationSeconds", seconds, detail)
    if seconds is not None and integer(seconds) > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield invalid(f"{where}.serviceAccountToken.expirationSeconds", seconds, detail)
    file = text(token.get("path"))
    if file:
        yield from _local_path(file, f"{path}.path")
    else:
        yield required(f"{path}.path")


def _downward_file(file: Object, path: str) -> Problems:
    target = text(file.get("path"))
    if not target:
        yield required(f"{path}.path")
    yield from _local_path(target, f"{path}.path")
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if isinstance(field, dict):
        yield from field_reference(field, f"{path}.fieldRef", _DOWNWARD)
        if isinstance(resource, dict):
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", detail)
    elif isinstance(resource, dict):
        if not text(resource.get("containerName")):
            yield required(f"{path}.resourceFieldRef.containerName")
        else:
            yield from resource_reference(resource, f"{path}.resourceFieldRef")
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file.get("mode"), f"{path}.mode")


def _files(source: Object, path: str) -> Problems:
    yield from _mode(source.get("defaultMode"), f"{path}.defaultMode")
    yield from _paths(source, path)


def _paths(source: Object, path: str) -> Problems:
    for index, item in enumerate(items(source.get("items"))):
        entry, where = fields(item), f"{path}.items[{index}]"
        yield from _all_set(entry, where, "key", "path")
        yield from _local_path(text(entry.get("path")), f"{where}.path")
        yield from _mode(entry.get("mode"), f"{where}.mode")


def _local_path(value: str, path: str) -> Problems:
    yield from descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def _mode(value: Json, path: str) -> Problems:
    if value is not None and not 0 <= integer(value) <= 0o777:
        yield invalid(path, integer(value), _MODE)


def _all_set(source: Object, path: str, *names: str) -> Problems:
    for name in names:
        if not text(source.get(name)):
            yield required(f"{path}.{name}")


_CHECKS: Final[dict[str, Callable[[Object, str], Problems]]] = {
    "emptyDir": _empty_dir,
    "hostPath": host_path,
    "azureDisk": azure_disk,
    "gitRepo": _git_repo,
    "secret": _secret,
    "nfs": nfs,
    "persistentVolumeClaim": _claim,
    "configMap": _config_map,
    "downwardAPI": _downward,
    "projected": _projected,
}
