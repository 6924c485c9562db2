"""Normalization of objects before a diff, per kind.

Mirrors gitops-engine `Normalize`, Argo CD 3.6. Functions return a new object and do not change their
argument.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from whysync.argocd.diff.remarshal import is_decodable
from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.schema import type_named
from whysync.kubernetes.schema.scalars import is_mask

Normalizer: TypeAlias = Callable[[Object], Object]

RBAC: Final = "rbac.authorization.k8s.io"

_log = logging.getLogger(__name__)


def normalize(
    obj: Object, *, ignore_aggregated_roles: bool = False, normalizer: Normalizer | None = None
) -> Object:
    """A normalized object; `normalizer` applies ignore rules and known types, and runs last.

    As upstream, a normalizer that fails is skipped.
    """
    obj = _without_creation_timestamp(obj)
    group, kind = group_of(text(obj.get("apiVersion"))), obj.get("kind")
    if group == "" and kind == "Secret":
        obj = normalize_secret(obj)
    elif group == RBAC and kind in {"ClusterRole", "Role"}:
        obj = _with_plain_rules(obj, ignore_aggregated=ignore_aggregated_roles)
    elif group == "" and kind == "Endpoints":
        obj = _sorted_endpoints(obj)
    if normalizer is None:
        return obj
    try:
        return normalizer(obj)
    except ValueError as problem:
        # Upstream continues with the object as far as it was normalized.
        _log.warning("could not normalize %s: %s", kind, problem)
        return obj


def _without_creation_timestamp(obj: Object) -> Object:
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or "creationTimestamp" not in meta:
        return obj
    return {**obj, "metadata": {key: value for key, value in meta.items() if key != "creationTimestamp"}}


def normalize_secret(obj: Object) -> Object:
    """`stringData` moves, encoded, into `data`; null values become empty ones.

    A mask of a secret value is moved unchanged: equal values have equal masks on both sides.
    """
    string_data = obj.get("stringData")
    if isinstance(string_data, dict):
        moved = dict(fields(obj.get("data")))
        for key, value in string_data.items():
            plain = isinstance(value, str) and not is_mask(value)
            moved[key] = base64.b64encode(text(value).encode()).decode() if plain else value
        obj = {key: value for key, value in obj.items() if key != "stringData"}
        obj["data"] = moved
    data = obj.get("data")
    if not isinstance(data, dict) or all(data.values()):
        return obj
    if not is_decodable(obj, type_named("core/v1.Secret")):
        return obj
    filled: Object = {key: value or "" for key, value in data.items()}
    return {**obj, "data": filled}


def _with_plain_rules(obj: Object, *, ignore_aggregated: bool) -> Object:
    """Missing rules become null; with `ignore_aggregated_roles`, so do rules of aggregated roles."""
    aggregated = ignore_aggregated and isinstance(obj.get("aggregationRule"), dict)
    return {**obj, "rules": None} if aggregated or obj.get("rules") == [] else obj


def _sorted_endpoints(obj: Object) -> Object:
    """Addresses by IP and UID, ports and subsets by content.

    Differs: upstream sorts ports and subsets by a hash of their content; any fixed order gives the same
    result.
    """
    if not is_decodable(obj, type_named("core/v1.Endpoints")):
        return obj
    subsets: list[Json] = []
    for raw in items(obj.get("subsets")):
        subset = dict(fields(raw))
        for name in ("addresses", "notReadyAddresses"):
            if name in subset:
                subset[name] = sorted(items(subset[name]), key=_by_address)
        if "ports" in subset:
            subset["ports"] = sorted(
                (_with_protocol(port) for port in items(subset["ports"])), key=_by_content
            )
        subsets.append(subset)
    return {**obj, "subsets": sorted(subsets, key=_by_content)} if subsets else obj


def _with_protocol(port: Json) -> Json:
    return port if fields(port).get("protocol") else {**fields(port), "protocol": "TCP"}


def _by_address(address: Json) -> tuple[str, bool, str]:
    target = fields(address).get("targetRef")
    return text(fields(address).get("ip")), target is not None, text(fields(target).get("uid"))


def _by_content(value: Json) -> bytes:
    return msgspec.json.encode(value, order="sorted")
