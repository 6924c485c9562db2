"""Values of Secrets that no server takes: masked they would look as good as any other."""

from __future__ import annotations

import base64
import binascii

from whysync.json_tree import Json, Object, fields, text


def with_shape(masked: Object, plain: Object) -> Object:
    """A masked Secret, with the shape of values that are no base64: letters and digits are all one letter."""
    if plain.get("kind") != "Secret":
        return masked
    wrong = {key: _shape(value) for key, value in fields(plain.get("data")).items() if _is_wrong(value)}
    return {**masked, "data": {**fields(masked.get("data")), **wrong}} if wrong else masked


def _is_wrong(value: Json) -> bool:
    if not isinstance(value, str):
        return False  # as it stands: that is no secret
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return True
    return False


def _shape(value: Json) -> Json:
    return "".join("A" if letter.isalnum() and letter.isascii() else letter for letter in text(value))
