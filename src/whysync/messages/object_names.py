"""How an API server names the object that an error is about."""

from __future__ import annotations

import re

from whysync.messages.failure import NO_OBJECT_NAME, ObjectName
from whysync.messages.pattern import compiled, group_text

RESOURCE = (
    r"(?<![\w.-])(?P<resource>[a-z][a-z0-9]{1,62})(?:\.(?P<group>[a-z0-9][a-z0-9.-]{0,200}))?"
    r' "(?P<name>[^"]{0,253})"'
)
_KIND = r'\b(?P<kind>[A-Za-z]\w{1,62})(?:\.(?P<group>[a-z0-9][a-z0-9.-]{0,200}))? "(?P<name>[^"]{0,253})"'


def resource_in(match: re.Match[str]) -> ObjectName:
    """The object of a regex that holds `RESOURCE`: `deployments.apps "x"`, by its plural."""
    return ObjectName(
        resource=group_text(match, "resource"),
        group=group_text(match, "group"),
        name=group_text(match, "name"),
    )


def forbidden_object(text: str) -> ObjectName:
    """`pods "x" is forbidden: …`."""
    match = compiled(RESOURCE + " is forbidden").search(text[:4000])
    return resource_in(match) if match else NO_OBJECT_NAME


def invalid_object(text: str) -> ObjectName:
    """`Deployment.apps "x" is invalid: …`; older API servers write the plural there."""
    match = compiled(_KIND + " is invalid").search(text[:4000])
    if match is None:
        return NO_OBJECT_NAME
    kind, group, name = group_text(match, "kind"), group_text(match, "group"), group_text(match, "name")
    if kind[:1].islower():
        return ObjectName(resource=kind, group=group, name=name)
    return ObjectName(kind=kind, group=group, name=name)
