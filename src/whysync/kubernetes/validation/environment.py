"""Environment variables of a container and their sources. Mirrors `core/validation`, Kubernetes 1.36."""

from __future__ import annotations

import re

from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import Problems, each, invalid, required, unsupported
from whysync.kubernetes.validation.scalars import validate_required

_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
# Field paths of the downward API; not all of them can be the source of an environment variable.
_CONVERTIBLE = frozenset({*_FIELDS, "metadata.annotations", "metadata.labels", "spec.host"})
_RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = frozenset({"1m", "1"})
_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SUBSCRIPT = re.compile(r"(.*?)\['(.*)'\]", re.DOTALL)
_SOURCES = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)


def validate_env(container: Object, path: str) -> Problems:
    for index, item in enumerate(items(container.get("env"))):
        variable, item_path = fields(item), f"{path}.env[{index}]"
        name = text(variable.get("name"))
        yield from validate_required(name, f"{item_path}.name", names.environment_name)
        if isinstance(variable.get("valueFrom"), dict):
            yield from _validate_env_var_value_from(variable, f"{item_path}.valueFrom")
    for index, item in enumerate(items(container.get("envFrom"))):
        yield from _validate_env_from(fields(item), f"{path}.envFrom", index)


def _validate_env_var_value_from(variable: Object, path: str) -> Problems:
    source = fields(variable.get("valueFrom"))
    sources = 0
    for field, check in (
        ("fieldRef", validate_object_field_selector),
        ("resourceFieldRef", validate_container_resource_field_selector),
        ("configMapKeyRef", _validate_key_selector),
        ("secretKeyRef", _validate_key_selector),
        ("fileKeyRef", _validate_file_key_selector),
    ):
        if isinstance(source.get(field), dict):
            sources += 1
            yield from check(fields(source.get(field)), f"{path}.{field}")
    if sources == 0:
        yield invalid(path, "", _SOURCES)
    elif text(variable.get("value")):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif sources > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def validate_object_field_selector(
    reference: Object, path: str, supported: tuple[str, ...] = _FIELDS
) -> Problems:
    """A reference to a field of the pod. Mirrors `validateObjectFieldSelector`."""
    field = text(reference.get("fieldPath"))
    for name in ("apiVersion", "fieldPath"):
        if not text(reference.get(name)):
            yield required(f"{path}.{name}")
            return
    subscripted = _SUBSCRIPT.fullmatch(field)
    base = subscripted[1] if subscripted else field
    if base not in _CONVERTIBLE:
        detail = f"error converting fieldPath: field label not supported: {field}"
        yield invalid(f"{path}.fieldPath", field, detail)
    elif subscripted and base in ("metadata.annotations", "metadata.labels"):
        key = subscripted[2].lower() if base == "metadata.annotations" else subscripted[2]
        yield from each(path, key, names.qualified_name(key))
    elif subscripted:
        yield invalid(path, base, "does not support subscript")
    elif field not in supported:
        yield unsupported(f"{path}.fieldPath", field, supported)


def validate_container_resource_field_selector(reference: Object, path: str) -> Problems:
    """A reference to a request or limit of a container. Mirrors `validateContainerResourceFieldSelector`."""
    resource = text(reference.get("resource"))
    if not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_PAGES):
        yield unsupported(f"{path}.resource", resource, _RESOURCES)
    divisor = reference.get("divisor")
    if not quantity_value(divisor):
        return
    if resource.endswith(".cpu"):
        if quantity_text(divisor) not in _CPU_DIVISORS:
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            yield invalid(f"{path}.divisor", resource, detail)
        return
    resource_kinds = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    kind = "hugepages" if resource.startswith(_PAGES) else resource_kinds.get(resource.partition(".")[2])
    if kind is not None and quantity_text(divisor) not in _DIVISORS:
        detail = f"only divisor's values {', '.join(_DIVISORS)} are supported with the {kind} resource"
        yield invalid(f"{path}.divisor", resource, detail)


def _validate_key_selector(reference: Object, path: str) -> Problems:
    name, key = text(reference.get("name")), text(reference.get("key"))
    yield from each(f"{path}.name", name, names.dns_subdomain(name))
    yield from validate_required(key, f"{path}.key", names.config_key)


def _validate_file_key_selector(reference: Object, path: str) -> Problems:
    key, volume, file = (text(reference.get(field)) for field in ("key", "volumeName", "path"))
    yield from validate_required(key, f"{path}.key", names.environment_name)
    yield from validate_required(volume, f"{path}.volumeName", names.dns_label)
    if not file:
        yield required(f"{path}.path")
    elif ".." in file.split("/"):
        yield invalid(f"{path}.path", file, "must not contain '..'")


def _validate_env_from(source: Object, path: str, index: int) -> Problems:
    item_path, prefix = f"{path}[{index}]", text(source.get("prefix"))
    if prefix:
        yield from each(f"{item_path}.prefix", prefix, names.environment_name(prefix))
    sources = 0
    for field in ("configMapRef", "secretRef"):
        if not isinstance(source.get(field), dict):
            continue
        sources += 1
        name = text(fields(source.get(field)).get("name"))
        if name:
            yield from each(
                f"{item_path}.{field}.name", name, names.dns_subdomain(names.mask_trailing_dash(name))
            )
        else:
            yield required(f"{item_path}.{field}.name")
    # Upstream reports the path of the list here, not of the entry.
    if sources == 0:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif sources > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")
