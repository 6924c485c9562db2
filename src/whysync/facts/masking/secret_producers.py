"""Public values of Argo CD's credential Secrets, and values of objects that become Secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from whysync.facts.masking.secret_names import Secrecy
from whysync.json_tree import Json, Object

ByName = Callable[[Json, Secrecy], Json]

# Fields of a repository or cluster Secret that are not credentials and that rules need.
PUBLIC_KEYS: Final = frozenset(
    [
        "type",
        "url",
        "name",
        "project",
        "server",
        "namespaces",
        "clusterResources",
        "shard",
        "insecure",
        "enableLfs",
        "enableOCI",
        "depth",
    ]
)
# Objects from which a controller creates Secrets, and the fields with the values.
SECRET_PRODUCERS: Final = ("Secret", "SecretStore", "SecretTemplate")
_PRODUCED_DATA: Final = frozenset(("data", "stringData", "valueMap", "templates"))


def mask_produced(body: Json, by_name: ByName) -> None:
    """`template.data` of a SealedSecret or ExternalSecret, `provider.fake.data` of a SecretStore."""
    if isinstance(body, list):
        for item in body:
            mask_produced(item, by_name)
    elif isinstance(body, dict):
        for key, value in body.items():
            if key in _PRODUCED_DATA and isinstance(value, dict):
                _values(value, by_name)
            elif key in _PRODUCED_DATA and isinstance(value, list):
                for item in value:
                    if isinstance(item, dict) and isinstance(item.get("value"), str):
                        item["value"] = by_name(item["value"], Secrecy.SURE)
                    mask_produced(item, by_name)
            else:
                mask_produced(value, by_name)


def _values(values: Object, by_name: ByName) -> None:
    for key, value in values.items():
        if isinstance(value, dict):
            _values(value, by_name)
        elif not isinstance(value, list):
            values[key] = by_name(value, Secrecy.SURE)


def names_in(managed: Json) -> Iterator[str]:
    """Managed fields contain only field names, but are half of all text to check."""
    if isinstance(managed, dict):
        yield from managed
        for item in managed.values():
            if item:
                yield from names_in(item)
    elif isinstance(managed, list):
        for item in managed:
            yield from names_in(item)
    elif isinstance(managed, str):
        yield managed
