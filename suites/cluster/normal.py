"""Answers without what two clusters cannot have in common: ids, versions, times, addresses, random names.

Each is replaced by a mark. Ids and versions are numbered for each object in the order of appearance, so that
what is the same twice on one side must be the same twice on the other: a write that changes nothing keeps
its `<version 0>`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from whysync.json_tree import Json, Object, fields, items, text
from whysync.kubernetes.apiserver.protocol import Answer

_UUID = re.compile(r"(?!0{8}-)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
_VERSION = re.compile(r"(resourceVersion\\*\":\\*\"|in record \()\d+")
_SCHEME = re.compile(
    r'in scheme (\\*")[\w/.:-]+'
)  # where a table is made in the source: another path in every build
_NODE_PORTS = {"nodePort", "healthCheckNodePort"}


class Eyes:
    """One side of a conversation: remembers what it has seen."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        """What this side calls a thing → what it is called in the conversation."""
        self._ids: dict[str, str] = {}
        self._lives: dict[str, int] = {}
        self._versions: dict[str, list[str]] = {}

    def see(self, answer: Answer) -> Object:
        result: Object = {"code": answer.code}
        body = answer.body
        if body is None:
            return {**result, "text": self._text(answer.text)}
        if body.get("kind") == "Status" and body.get("apiVersion") == "v1":
            status = {key: body.get(key) for key in ("status", "reason", "message", "details") if key in body}
            return {**result, "status": self._walked(status)}
        return {**result, "object": self._object(body)}

    def _object(self, body: Object) -> Json:
        if isinstance(body.get("items"), list) and "metadata" in body:
            listed = [self._object(fields(item)) for item in items(body["items"])]
            meta: Object = {
                key: value
                for key, value in fields(body["metadata"]).items()
                if key not in {"resourceVersion", "continue"}
            }
            rest = {key: value for key, value in body.items() if key not in {"items", "metadata"}}
            return {**fields(self._walked(rest)), "metadata": meta, "items": listed}
        meta = dict(fields(body.get("metadata")))
        prefix, name = text(meta.get("generateName")), text(meta.get("name"))
        if prefix and name.startswith(prefix) and name not in self._names:
            self._names[name] = f"{prefix}<random {len(self._names)}>"
        self._meet(text(meta.get("uid")), name)
        uid, version = text(meta.get("uid")), text(meta.get("resourceVersion"))
        if version:
            versions = self._versions.setdefault(uid, [])
            if version not in versions:
                versions.append(version)
            meta["resourceVersion"] = f"<version {versions.index(version)}>"
        if isinstance(meta.get("managedFields"), list):
            meta["managedFields"] = sorted(items(meta["managedFields"]), key=_rank)
        return self._walked({**body, "metadata": meta} if "metadata" in body else body)

    def _meet(self, uid: str, name: str) -> None:
        if _UUID.fullmatch(uid) and uid not in self._ids:
            known_as = self._text(name)
            self._lives[known_as] = self._lives.get(known_as, 0) + 1
            self._ids[uid] = f"<id {self._lives[known_as]} of {known_as}>"

    def _walked(self, value: Json, key: str = "") -> Json:
        if isinstance(value, dict):
            return {self._text(k): self._walked(item, k) for k, item in value.items()}
        if isinstance(value, list):
            return [self._walked(item) for item in value]
        if isinstance(value, str):
            return self._text(value)
        if key in _NODE_PORTS and isinstance(value, int) and 30000 <= value < 33000:
            return "<node port>"
        return value

    def _text(self, message: str) -> str:
        if len(message) < 3:
            return message
        for own, common in self._names.items():
            if own in message:
                message = message.replace(own, common)
        message = _UUID.sub(lambda match: self._ids.get(match[0], "<id>"), message)
        message = _ADDRESS.sub("<address>", message)
        message = _SCHEME.sub("in scheme \\1<scheme>", message)
        message = _VERSION.sub(r"\1<version>", message)
        return _TIME.sub(_recent, message)


def _recent(match: re.Match[str]) -> str:
    """A time around now is the server's; any other came from a request."""
    try:
        result = datetime.fromisoformat(match[0])
    except ValueError:
        return match[0]
    return "<now>" if abs(result - datetime.now(UTC)) < timedelta(days=1) else match[0]


def _rank(entry: Json) -> tuple[str, ...]:
    """Managers in an order of their own: two writes within a second may swap places."""
    return tuple(
        text(fields(entry).get(key)) for key in ("operation", "manager", "apiVersion", "subresource")
    )
