"""The hash of a pod template, which is part of the names of ReplicaSets.

Mirrors `controller.ComputeHash`, Kubernetes 1.36: FNV-1a over the text of the template as Go's `spew` prints
it, including empty fields, so that names are those of a real cluster of that version.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from whysync.golang.quantity import debug_quantity
from whysync.json_tree import Json, Object, fields, items

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_PRIME, _OFFSET, _WORD = 16777619, 2166136261, 0xFFFFFFFF
_TEMPLATE: Final = "core/v1.PodTemplateSpec"
_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"
_MAX_CACHED: Final = 10_000
_hashes: dict[bytes, str] = {}


def template_hash(template: Object, collisions: int | None = None) -> str:
    key = msgspec.json.encode([template, collisions])
    hashed = _hashes.get(key)
    if hashed is None:
        if len(_hashes) >= _MAX_CACHED:
            _hashes.clear()
        number = _fnv_1a_32(spew_text(template).encode())
        if collisions is not None:
            number = _fnv_1a_32((collisions & _WORD).to_bytes(4, "little") + bytes(4), number)
        hashed = _hashes[key] = safe_encode_string(str(number))
    return hashed


def safe_encode_string(text: str) -> str:
    """Mirrors apimachinery `rand.SafeEncodeString`."""
    return "".join(_LETTERS[ord(letter) % len(_LETTERS)] for letter in text)


def fnv_1_32(data: bytes) -> int:
    """FNV-1, which ControllerRevisions use: multiply first, then XOR."""
    number = _OFFSET
    for byte in data:
        number = ((number * _PRIME) & _WORD) ^ byte
    return number


def _fnv_1a_32(data: bytes, start: int = _OFFSET) -> int:
    number, prime, mask = start, _PRIME, _WORD
    remainder = len(data) % 4
    for byte in data[:remainder]:
        number = ((number ^ byte) * prime) & mask
    groups = iter(data[remainder:])
    for first, two, three, last in zip(groups, groups, groups, groups, strict=True):
        # An XOR with a byte does not depend on what a mask would remove, so one mask is enough.
        number = (((((((number ^ first) * prime) ^ two) * prime) ^ three) * prime ^ last) * prime) & mask
    return number


def spew_text(template: Object) -> str:
    """The template as Go prints it for the hash."""
    return f"({_go_type_name(_TEMPLATE)}){_value(template, _TEMPLATE)}"


class _Types(msgspec.Struct):
    structs: dict[str, list[str]]
    aliases: dict[str, str]


class _Member:
    __slots__ = ("json", "kind", "lead", "zero")

    def __init__(self, line: str) -> None:
        name, self.json, self.kind = line.split("|")
        self.lead = f"{name}:({_go_type_name(self.kind)})"
        self.zero = "" if not self.json else self.lead + _zero(self.kind)


@cache
def _types() -> _Types:
    data = Path(__file__).with_name("data") / "template.json"
    return msgspec.json.decode(data.read_bytes(), type=_Types)


@cache
def _members(name: str) -> tuple[_Member, ...]:
    return tuple(_Member(line) for line in _types().structs[name])


@cache
def _go_type_name(kind: str) -> str:
    """The type as Go names it: by the last part of its package."""
    return kind.replace("core/v1.", "v1.").replace("meta/v1.", "v1.")


@cache
def _zero(kind: str) -> str:
    if kind.startswith(("*", "[]", "map[")):
        return "<nil>"
    if kind in _types().structs:
        return _struct({}, kind)
    if kind in _types().aliases:
        return _zero(_types().aliases[kind])
    if kind == "meta/v1.Time":
        return _TIME
    if kind == "resource.Quantity":
        return debug_quantity("0")
    if kind == "intstr.IntOrString":
        return _int_or_string(0)
    return {"bool": "false", "int32": "0", "int64": "0", "float64": "0"}.get(kind, "")


def _struct(value: Object, name: str) -> str:
    parts: list[str] = []
    for member in _members(name):
        if not member.json:  # embedded: its fields stand beside the others in JSON
            parts.append(member.lead + _struct(value, member.kind))
        elif value.get(member.json) is None:
            parts.append(member.zero)
        else:
            parts.append(member.lead + _value(value[member.json], member.kind))
    return "{" + " ".join(parts) + "}"


def _value(value: Json, kind: str) -> str:
    kind = kind.removeprefix("*")
    aliases = _types().aliases
    kind = aliases.get(kind, kind)
    if kind.startswith("[]"):
        element_kind = kind[2:]
        elements = items(value)
        return (
            "[" + " ".join(_value(element, element_kind) for element in elements) + "]"
            if elements
            else "<nil>"
        )
    if kind.startswith("map["):
        element_kind = kind[kind.index("]") + 1 :]
        entries = fields(value)
        if not entries:
            return "<nil>"
        return (
            "map[" + " ".join(f"{key}:{_value(entries[key], element_kind)}" for key in sorted(entries)) + "]"
        )
    if kind in _types().structs:
        return _struct(fields(value), kind)
    if kind == "resource.Quantity":
        return debug_quantity(str(value))
    if kind == "intstr.IntOrString":
        return _int_or_string(value)
    if kind == "meta/v1.Time":
        return _TIME  # a template has no times; what somebody wrote there is dropped by the server
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _int_or_string(value: Json) -> str:
    if isinstance(value, str):
        return f"{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){value}}}"
    return f"{{Type:(intstr.Type)0 IntVal:(int32){value} StrVal:(string)}}"
