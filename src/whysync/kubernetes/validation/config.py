"""ConfigMaps and Secrets: keys, sizes, types and immutability."""

from __future__ import annotations

import base64
import binascii

from whysync.golang.decode_errors import json_object_error
from whysync.json_tree import Json, Missing, Object, fields, text
from whysync.kubernetes.schema.scalars import is_mask
from whysync.kubernetes.validation import metadata, names
from whysync.kubernetes.validation.field_error import (
    IMMUTABLE,
    Problems,
    each,
    forbidden,
    invalid,
    required,
    too_long,
)
from whysync.kubernetes.validation.internal_types import same_plain

MAX_SECRET_SIZE = 1024 * 1024
_IMMUTABLE_WHEN_SET = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}


def validate_config_map(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    plain, binary = fields(obj.get("data")), fields(obj.get("binaryData"))
    for key in plain:
        yield from each(f"data[{key}]", key, names.config_key(key))
        if key in binary:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from each(f"binaryData[{key}]", key, names.config_key(key))
    size = sum(len(text(value).encode("utf-8", "replace")) for value in plain.values())
    if size + sum(len(_decoded(value)) for value in binary.values()) > MAX_SECRET_SIZE:
        yield too_long("[]", MAX_SECRET_SIZE)


def validate_config_map_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    yield from _validate_immutable(old, new, ("data", "binaryData"))
    yield from validate_config_map(new)


def validate_secret(obj: Object) -> Problems:
    yield from metadata.validate_object_meta(obj, names.dns_subdomain)
    data = fields(obj.get("data"))
    for key in data:
        yield from each(f"data[{key}]", key, names.config_key(key))
    if sum(len(_decoded(value)) for value in data.values()) > MAX_SECRET_SIZE:
        yield too_long("data", MAX_SECRET_SIZE)
    yield from _validate_secret_type(obj, data)


def validate_secret_update(old: Object, new: Object) -> Problems:
    yield from metadata.validate_object_meta_update(old, new)
    kind = text(new.get("type"))
    if kind != text(old.get("type")):
        yield invalid("type", kind, IMMUTABLE)
    yield from _validate_immutable(old, new, ("data",))
    yield from validate_secret(new)


def with_string_data(obj: Object) -> Object:
    """The Secret with its `stringData` encoded in `data`, as the server stores it before validation."""
    added = fields(obj.get("stringData"))
    if not added and "stringData" not in obj:
        return obj
    stored = {key: value for key, value in obj.items() if key != "stringData"}
    encoded: Object = {
        key: base64.b64encode(text(value).encode("utf-8", "replace")).decode("ascii")
        for key, value in added.items()
    }
    if encoded or "data" in obj:
        stored["data"] = {**fields(obj.get("data")), **encoded}
    return stored


def _validate_immutable(old: Object, new: Object, data_fields: tuple[str, ...]) -> Problems:
    if old.get("immutable") is not True:
        return
    if new.get("immutable") is not True:
        yield forbidden("immutable", _IMMUTABLE_WHEN_SET)
    for field in data_fields:
        if not same_plain(old.get(field), new.get(field)):
            yield forbidden(field, _IMMUTABLE_WHEN_SET)


def _validate_secret_type(obj: Object, data: Object) -> Problems:
    kind = text(obj.get("type"))
    if kind == "kubernetes.io/service-account-token":
        if not text(fields(metadata.meta(obj).get("annotations")).get(_ACCOUNT)):
            yield required(f"metadata.annotations[{_ACCOUNT}]")
    elif kind in _DOCKER_KEYS:
        path = f"data[{_DOCKER_KEYS[kind]}]"
        if _DOCKER_KEYS[kind] not in data:
            yield required(path)
            return
        decoded = _decoded(data[_DOCKER_KEYS[kind]])
        error = "" if is_mask(decoded.decode("utf-8", "replace")) else json_object_error(decoded)
        if error:
            yield invalid(path, "<secret contents redacted>", error)
    elif kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            yield required("data[username]")
            yield required("data[password]")
    elif kind == "kubernetes.io/ssh-auth":
        if not text(data.get("ssh-privatekey")):
            yield required("data[ssh-privatekey]")
    elif kind == "kubernetes.io/tls":
        for key in ("tls.crt", "tls.key"):
            if key not in data:
                yield required(f"data[{key}]")


def _decoded(value: Json | Missing) -> bytes:
    try:
        return base64.b64decode(text(value), validate=True)
    except (binascii.Error, ValueError):
        return b""
