"""Secret values that the API server refuses, which masking would hide."""

from __future__ import annotations

import base64
import binascii

from whysync.json_tree import Json, Object, fields, text


def with_shape(masked: Object, plain: Object) -> Object:
    """A masked Secret that keeps the shape of values that are not base64: letters and digits become one
    letter.
    """
    if plain.get("kind") != "Secret":
        return masked
    invalid = {key: _shape(value) for key, value in fields(plain.get("data")).items() if _is_wrong(value)}
    return {**masked, "data": {**fields(masked.get("data")), **invalid}} if invalid else masked


def _is_wrong(value: Json) -> bool:
    if not isinstance(value, str):
        return False  # keep it: this is not secret
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return True
    return False


def _shape(value: Json) -> Json:
    return "".join("A" if letter.isalnum() and letter.isascii() else letter for letter in text(value))
