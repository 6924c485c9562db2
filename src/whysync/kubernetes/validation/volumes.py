"""Volumes of a pod: unique names, exactly one source.

Mirrors `ValidateVolumes` of `core/validation`, Kubernetes 1.36. Differs: the fields of
vendor-specific sources are not validated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whysync.golang.quantity import quantity_value
from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.validation.environment import (
    validate_container_resource_field_selector,
    validate_object_field_selector,
)
from whysync.kubernetes.validation.field_error import (
    FieldProblem,
    Problems,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from whysync.kubernetes.validation.mounts import validate_local_descending_path
from whysync.kubernetes.validation.scalars import (
    validate_dns_label,
    validate_optional_enum,
    validate_single_source,
)

# In upstream's order: all but the first that is set are reported.
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


def validate_volumes(spec: Object, path: str) -> tuple[Object, list[FieldProblem]]:
    """The valid volumes by name, to which mounts may refer, and the problems of the others."""
    usable: Object = {}
    problems: list[FieldProblem] = []
    for index, item in enumerate(items(spec.get("volumes"))):
        volume, item_path = fields(item), f"{path}[{index}]"
        name = text(volume.get("name"))
        volume_problems = list(_validate_volume_source(volume, item_path))
        volume_problems.extend(
            validate_dns_label(name, f"{item_path}.name") if name else [required(f"{item_path}.name")]
        )
        if name in usable:
            volume_problems.append(duplicate(f"{item_path}.name", name))
        if volume_problems:
            problems.extend(volume_problems)
        else:
            usable[name] = volume
    return usable, problems


def _validate_volume_source(volume: Object, path: str) -> Problems:
    def validate(kind: str, source: Object) -> Problems:
        check = _CHECKS.get(kind)
        return check(source, f"{path}.{kind}") if check else iter(())

    yield from validate_single_source(volume, path, _SOURCES, "volume", validate)


def validate_host_path_volume_source(source: Object, path: str) -> Problems:
    target, kind = text(source.get("path")), source.get("type")
    if not target:
        yield required(f"{path}.path")
        return
    if ".." in target.split("/"):
        yield invalid(f"{path}.path", target, "must not contain '..'")
    if kind is not None and kind not in _HOST_PATHS:
        yield unsupported(f"{path}.type", kind, _HOST_PATHS)


def validate_nfs_volume_source(source: Object, path: str) -> Problems:
    yield from _validate_required_fields(source, path, "server", "path")
    target = text(source.get("path"))
    if not target.startswith("/"):
        yield invalid(f"{path}.path", target, "must be an absolute path")


def validate_azure_disk(source: Object, path: str) -> Problems:
    yield from _validate_required_fields(source, path, "diskName", "diskURI")
    caching, kinds = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
    yield from validate_optional_enum(source.get("cachingMode"), f"{path}.cachingMode", caching)
    kind, disk = source.get("kind"), text(source.get("diskURI"))
    yield from validate_optional_enum(kind, f"{path}.kind", kinds)
    if kind == "Managed" and not disk.startswith("/subscriptions/"):
        yield unsupported(f"{path}.diskURI", disk, (_MANAGED_DISK,))
    elif kind not in (None, "Managed") and not disk.startswith("https://"):
        yield unsupported(f"{path}.diskURI", disk, (_BLOB_DISK,))


def _validate_empty_dir_volume_source(source: Object, path: str) -> Problems:
    amount = quantity_value(source.get("sizeLimit"))
    if amount is not None and amount < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _validate_git_repo_volume_source(source: Object, path: str) -> Problems:
    yield from _validate_required_fields(source, path, "repository")
    yield from validate_local_descending_path(text(source.get("directory")), f"{path}.directory")


def _validate_secret_volume_source(source: Object, path: str) -> Problems:
    yield from _validate_required_fields(source, path, "secretName")
    yield from _validate_mode_and_paths(source, path)


def _validate_config_map_volume_source(source: Object, path: str) -> Problems:
    yield from _validate_required_fields(source, path, "name")
    yield from _validate_mode_and_paths(source, path)


def _validate_persistent_claim_volume_source(source: Object, path: str) -> Problems:
    yield from _validate_required_fields(source, path, "claimName")


def _validate_downward_api_volume_source(source: Object, path: str) -> Problems:
    yield from _validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in items(source.get("items")):
        yield from _validate_downward_api_volume_file(fields(item), path)


def _validate_projected_volume_source(source: Object, path: str) -> Problems:
    """A source without items is valid; two files with the same path are not."""
    yield from _validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    seen: set[str] = set()
    for index, item in enumerate(items(source.get("sources"))):
        projection, item_path = fields(item), f"{path}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if isinstance(projection.get(kind), dict):
                named = fields(projection.get(kind))
                yield from _validate_required_fields(named, f"{item_path}.{kind}", "name")
                yield from _validate_key_to_paths(named, f"{item_path}.{kind}")
                yield from _validate_unique_paths(named, path, text(named.get("name")), seen)
        downward = fields(projection.get("downwardAPI"))
        for file in items(downward.get("items")):
            yield from _validate_downward_api_volume_file(fields(file), f"{item_path}.downwardAPI")
        yield from _validate_unique_paths(downward, path, "", seen)
        if isinstance(projection.get("serviceAccountToken"), dict):
            yield from _validate_service_account_token_projection(
                fields(projection.get("serviceAccountToken")), item_path, path
            )
        if sum(isinstance(value, dict) for value in projection.values()) > 1:
            yield forbidden(item_path, "may not specify more than 1 volume type per source")


def _validate_unique_paths(source: Object, path: str, source_name: str, seen: set[str]) -> Problems:
    for item in items(source.get("items")):
        file = text(fields(item).get("path"))
        if file and file in seen:
            yield invalid(path, source_name or file, "conflicting duplicate paths")
        seen.add(file)


def _validate_service_account_token_projection(token: Object, item_path: str, path: str) -> Problems:
    seconds = token.get("expirationSeconds")
    if seconds is not None and integer(seconds) < 600:
        detail = "may not specify a duration less than 10 minutes"
        yield invalid(f"{item_path}.serviceAccountToken.expirationSeconds", seconds, detail)
    if seconds is not None and integer(seconds) > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield invalid(f"{item_path}.serviceAccountToken.expirationSeconds", seconds, detail)
    file = text(token.get("path"))
    if file:
        yield from _validate_local_non_reserved_path(file, f"{path}.path")
    else:
        yield required(f"{path}.path")


def _validate_downward_api_volume_file(file: Object, path: str) -> Problems:
    target = text(file.get("path"))
    if not target:
        yield required(f"{path}.path")
    yield from _validate_local_non_reserved_path(target, f"{path}.path")
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if isinstance(field, dict):
        yield from validate_object_field_selector(field, f"{path}.fieldRef", _DOWNWARD)
        if isinstance(resource, dict):
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", detail)
    elif isinstance(resource, dict):
        if not text(resource.get("containerName")):
            yield required(f"{path}.resourceFieldRef.containerName")
        else:
            yield from validate_container_resource_field_selector(resource, f"{path}.resourceFieldRef")
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _validate_file_mode(file.get("mode"), f"{path}.mode")


def _validate_mode_and_paths(source: Object, path: str) -> Problems:
    yield from _validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    yield from _validate_key_to_paths(source, path)


def _validate_key_to_paths(source: Object, path: str) -> Problems:
    for index, item in enumerate(items(source.get("items"))):
        entry, item_path = fields(item), f"{path}.items[{index}]"
        yield from _validate_required_fields(entry, item_path, "key", "path")
        yield from _validate_local_non_reserved_path(text(entry.get("path")), f"{item_path}.path")
        yield from _validate_file_mode(entry.get("mode"), f"{item_path}.mode")


def _validate_local_non_reserved_path(value: str, path: str) -> Problems:
    yield from validate_local_descending_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def _validate_file_mode(value: Json, path: str) -> Problems:
    if value is not None and not 0 <= integer(value) <= 0o777:
        yield invalid(path, integer(value), _MODE)


def _validate_required_fields(source: Object, path: str, *names: str) -> Problems:
    for name in names:
        if not text(source.get(name)):
            yield required(f"{path}.{name}")


_CHECKS: Final[dict[str, Callable[[Object, str], Problems]]] = {
    "emptyDir": _validate_empty_dir_volume_source,
    "hostPath": validate_host_path_volume_source,
    "azureDisk": validate_azure_disk,
    "gitRepo": _validate_git_repo_volume_source,
    "secret": _validate_secret_volume_source,
    "nfs": validate_nfs_volume_source,
    "persistentVolumeClaim": _validate_persistent_claim_volume_source,
    "configMap": _validate_config_map_volume_source,
    "downwardAPI": _validate_downward_api_volume_source,
    "projected": _validate_projected_volume_source,
}
