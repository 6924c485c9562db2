"""Split a file of JSON into its objects without decoding them: of each only the head is decoded.

Most objects of a large bundle have nothing to mask and are packed as they are. Whatever is unusual about a
file makes it one that is decoded in full; see `encoded_objects`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, cast

import msgspec

from whysync.facts.bundle.roles import ROLE_ANNOTATION
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.encoded_json import (
    has_plain_numbers,
    is_flat,
    split_texts,
    with_digits_alike,
)

# Go's encoder escapes only `<`, `>` and `&`.
_ESCAPED_LETTER = re.compile(rb"\\u00(?!3[cCeE]|26)[2-7]")
_ROLE: Final = ROLE_ANNOTATION.encode()
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_HEADER: Final = "Bundle"


class _Owner(msgspec.Struct):
    kind: str | None = None
    name: str | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    labels: dict[str, object] | None = None
    owner_references: list[_Owner] | None = None
    deletion_timestamp: object = None


class Head(msgspec.Struct, rename="camel"):
    """What is known of an object without its body."""

    api_version: str
    kind: str
    metadata: _Metadata | None = None
    items: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def name(self) -> str:
        return (self.metadata and self.metadata.name) or ""

    @property
    def namespace(self) -> str:
        return (self.metadata and self.metadata.namespace) or ""

    @property
    def owners(self) -> tuple[tuple[str, str], ...]:
        owners = (self.metadata and self.metadata.owner_references) or ()
        return tuple((owner.kind or "", owner.name or "") for owner in owners)

    @property
    def is_being_deleted(self) -> bool:
        return self.metadata is not None and bool(self.metadata.deletion_timestamp)

    @property
    def as_body(self) -> Object:
        """The fields that the role of an object depends on, apart from its annotation."""
        labels = cast("Json", self.metadata.labels) if self.metadata else None
        metadata: Object = {"name": self.name, "labels": labels}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}


class _File(msgspec.Struct):
    kind: str | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET


class EncodedObjects(NamedTuple):
    """The objects of a file, each with its head, and all keys and texts of the file, with digits alike."""

    objects: list[tuple[Head, bytes]]
    texts: list[bytes]


_decode_file = msgspec.json.Decoder(_File).decode
_decode_head = msgspec.json.Decoder(Head).decode


def encoded_objects(data: bytes, *, depth: int) -> EncodedObjects | None:
    """The objects of one JSON object or `List`; `None` if the file has to be decoded.

    That is: any other document, a number that YAML reads in its own way, deep nesting, escaped letters, and a
    role in an annotation. Of keys that occur twice the last one counts, as when the file is decoded.
    """
    if data.startswith(_BYTE_ORDER_MARK) or _may_have_role_annotation(data):
        return None
    try:
        data.decode()
        file = _decode_file(data)
        if file.items is msgspec.UNSET:
            encoded = [data]
        elif file.kind == "List":
            encoded = [bytes(item) for item in file.items]
        else:
            return None
        heads = [_decode_head(one) for one in encoded]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not all(head.api_version and head.kind and head.items is msgspec.UNSET for head in heads):
        return None
    if any(head.kind == _HEADER for head in heads):
        return None
    parts = split_texts(with_digits_alike(data))
    structure = parts[::2]
    if not has_plain_numbers(structure) or not is_flat(b"".join(structure), depth):
        return None
    if b"\n" in data:
        encoded = [msgspec.json.format(one, indent=-1) for one in encoded]
    return EncodedObjects(list(zip(heads, encoded, strict=True)), parts[1::2])


def _may_have_role_annotation(data: bytes) -> bool:
    has_escapes = rb"\/" in data or (rb"\u00" in data and _ESCAPED_LETTER.search(data) is not None)
    return has_escapes or _ROLE in data
