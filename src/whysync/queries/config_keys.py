"""Keys of ConfigMaps and Secrets: which there are, where a Pod template asks for one, which one is meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest

_SOURCES = {"ConfigMap": "configMapKeyRef", "Secret": "secretKeyRef"}
_TEMPLATES = ("/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec")


def keys_of(holder: Manifest) -> tuple[str, ...]:
    body: Object = holder.body
    return tuple(sorted({*fields(body.get("data")), *fields(body.get("binaryData"))}))


def asked_at(user: Manifest, kind: str, name: str, key: str) -> str:
    """The pointer to the key in the environment of one of its containers; empty where it is not there."""
    source = _SOURCES.get(kind, "")
    for template in _TEMPLATES:
        for group in ("initContainers", "containers"):
            for number, container in enumerate(items(user.at(f"{template}/{group}"))):
                for index, raw in enumerate(items(fields(container).get("env"))):
                    asked = fields(dig(raw, "valueFrom", source))
                    if (text(asked.get("name")), text(asked.get("key"))) == (name, key):
                        return f"{template}/{group}/{number}/env/{index}/valueFrom/{source}/key"
    return ""


def key_alike(wanted: str, known: Iterable[str]) -> str:
    """The key that is most likely meant: the same letters, else nearly the same."""
    names = tuple(known)
    same = [name for name in names if _letters(name) == _letters(wanted)]
    close = get_close_matches(wanted, names, n=1, cutoff=0.8)
    return (same or close or [""])[0]


def _letters(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum())
