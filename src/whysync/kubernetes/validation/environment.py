"""Environment variables of a container, and where their values come from."""

from __future__ import annotations

import re

from whysync.golang.quantity import quantity_text, quantity_value
from whysync.json_tree import Object, fields, items, text
from whysync.kubernetes.validation import names
from whysync.kubernetes.validation.field_error import Problems, each, invalid, required, unsupported
from whysync.kubernetes.validation.scalars import dns_label

_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
# What the downward API can name at all; not everything of it can become a variable.
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


def environment(container: Object, path: str) -> Problems:
    for index, item in enumerate(items(container.get("env"))):
        variable, where = fields(item), f"{path}.env[{index}]"
        name = text(variable.get("name"))
        if name:
            yield from each(f"{where}.name", name, names.environment_name(name))
        else:
            yield required(f"{where}.name")
        if isinstance(variable.get("valueFrom"), dict):
            yield from _value_from(variable, f"{where}.valueFrom")
    for index, item in enumerate(items(container.get("envFrom"))):
        yield from _env_from(fields(item), f"{path}.envFrom", index)


def _value_from(variable: Object, path: str) -> Problems:
    source = fields(variable.get("valueFrom"))
    sources = 0
    for field, check in (
        ("fieldRef", field_reference),
        ("resourceFieldRef", resource_reference),
        ("configMapKeyRef", _key_reference),
        ("secretKeyRef", _key_reference),
        ("fileKeyRef", _file_reference),
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


def field_reference(reference: Object, path: str, known: tuple[str, ...] = _FIELDS) -> Problems:
    """A field of the pod itself. Mirrors `validateObjectFieldSelector`."""
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
        yield from each(path, key, names.label_key(key))
    elif subscripted:
        yield invalid(path, base, "does not support subscript")
    elif field not in known:
        yield unsupported(f"{path}.fieldPath", field, known)


def resource_reference(reference: Object, path: str) -> Problems:
    """An amount of the container. Mirrors `validateContainerResourceFieldSelector`."""
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
    called = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    kind = "hugepages" if resource.startswith(_PAGES) else called.get(resource.partition(".")[2])
    if kind is not None and quantity_text(divisor) not in _DIVISORS:
        detail = f"only divisor's values {', '.join(_DIVISORS)} are supported with the {kind} resource"
        yield invalid(f"{path}.divisor", resource, detail)


def _key_reference(reference: Object, path: str) -> Problems:
    name, key = text(reference.get("name")), text(reference.get("key"))
    yield from each(f"{path}.name", name, names.dns_subdomain(name))
    if key:
        yield from each(f"{path}.key", key, names.config_key(key))
    else:
        yield required(f"{path}.key")


def _file_reference(reference: Object, path: str) -> Problems:
    key, volume, file = (text(reference.get(field)) for field in ("key", "volumeName", "path"))
    if key:
        yield from each(f"{path}.key", key, names.environment_name(key))
    else:
        yield required(f"{path}.key")
    if volume:
        yield from dns_label(volume, f"{path}.volumeName")
    else:
        yield required(f"{path}.volumeName")
    if not file:
        yield required(f"{path}.path")
    elif ".." in file.split("/"):
        yield invalid(f"{path}.path", file, "must not contain '..'")


def _env_from(source: Object, path: str, index: int) -> Problems:
    where, prefix = f"{path}[{index}]", text(source.get("prefix"))
    if prefix:
        yield from each(f"{where}.prefix", prefix, names.environment_name(prefix))
    sources = 0
    for field in ("configMapRef", "secretRef"):
        if not isinstance(source.get(field), dict):
            continue
        sources += 1
        name = text(fields(source.get(field)).get("name"))
        if name:
            yield from each(f"{where}.{field}.name", name, names.dns_subdomain(names.for_generating(name)))
        else:
            yield required(f"{where}.{field}.name")
    # Upstream names the list here, not the entry.
    if sources == 0:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif sources > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")
