"""Error responses of the API server: Status objects with code, reason, message and details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from whysync.json_tree import Json, Object

_REASONS: Final = {
    "Invalid value": "FieldValueInvalid",
    "Required value": "FieldValueRequired",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Not found": "FieldValueNotFound",
    "Internal error": "InternalError",
}


class Cause(NamedTuple):
    field: str
    message: str
    given: str = ""
    """The reason, if it does not follow from the message."""

    @property
    def reason(self) -> str:
        if self.given:
            return self.given
        if " in body must be of type " in self.message:
            return "FieldValueTypeInvalid"
        return _REASONS.get(self.message.partition(":")[0], "FieldValueInvalid")


class Refused(Exception):
    """A request that fails; carries the Status that the client gets."""

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    @property
    def status(self) -> Object:
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


class NoSuchPath(Exception):
    """The server serves nothing at this path: `404 page not found`, no Status."""


def _details(name: str, group: str, kind: str) -> Object:
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details


def qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def no_such_resource() -> Refused:
    return Refused(404, "NotFound", "the server could not find the requested resource", {})


def bad_request(message: str) -> Refused:
    return Refused(400, "BadRequest", message)


def not_found(plural: str, group: str, name: str) -> Refused:
    text = f'{qualified(plural, group)} "{name}" not found'
    return Refused(404, "NotFound", text, _details(name, group, plural))


def already_exists(plural: str, group: str, name: str) -> Refused:
    text = f'{qualified(plural, group)} "{name}" already exists'
    return Refused(409, "AlreadyExists", text, _details(name, group, plural))


def conflict(plural: str, group: str, name: str, why: str) -> Refused:
    text = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return Refused(409, "Conflict", text, _details(name, group, plural))


def forbidden(plural: str, group: str, name: str, why: str) -> Refused:
    text = f'{qualified(plural, group)} "{name}" is forbidden: {why}'
    return Refused(403, "Forbidden", text, _details(name, group, plural))


def internal(message: str) -> Refused:
    return Refused(500, "", message)


def method_not_allowed(message: str) -> Refused:
    return Refused(405, "MethodNotAllowed", message, {})


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refused:
    """The `Invalid` status error; several problems are in brackets, duplicates are removed."""
    problems = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    details = _details(name, group, kind)
    details["causes"] = [_cause(cause) for cause in causes]
    return Refused(422, "Invalid", f'{qualified(kind, group)} "{name}" is invalid: {text}', details)


def _cause(cause: Cause) -> Json:
    return {"reason": cause.reason, "message": cause.message, "field": cause.field}
