"""How an API server names the object that an error is about."""

from __future__ import annotations

import re

from whysync.messages.failure import NO_OBJECT_NAME, ObjectName
from whysync.messages.pattern import Context, compiled, group_text

RESOURCE = (
    r"(?<![\w.-])(?P<resource>[a-z][a-z0-9]{1,62})(?:\.(?P<group>[a-z0-9][a-z0-9.-]{0,200}))?"
    r' "(?P<name>[^"]{0,253})"'
)
_KIND = r'\b(?P<kind>[A-Za-z]\w{1,62})(?:\.(?P<group>[a-z0-9][a-z0-9.-]{0,200}))? "(?P<name>[^"]{0,253})"'


def named_object(match: re.Match[str], _context: Context | None = None) -> ObjectName:
    """The object in the groups `kind`, `resource`, `group`, `namespace` and `name` of a match."""
    return ObjectName(
        kind=group_text(match, "kind"),
        resource=group_text(match, "resource"),
        group=group_text(match, "group"),
        namespace=group_text(match, "namespace"),
        name=group_text(match, "name"),
    )


def forbidden_object(_match: re.Match[str], context: Context) -> ObjectName:
    """The object of `pods "x" is forbidden: …`."""
    match = compiled(RESOURCE + " is forbidden").search(context.text[:4000])
    return named_object(match) if match else NO_OBJECT_NAME


def invalid_object(_match: re.Match[str], context: Context) -> ObjectName:
    """The object of `Deployment.apps "x" is invalid: …`; older API servers write the plural there."""
    match = compiled(_KIND + " is invalid").search(context.text[:4000])
    if match is None:
        nameless = compiled(r"\bThe (?P<kind>[A-Z]\w{1,62}) is invalid").search(context.text[:4000])
        return ObjectName(kind=nameless["kind"]) if nameless else NO_OBJECT_NAME
    kind, group, name = group_text(match, "kind"), group_text(match, "group"), group_text(match, "name")
    if kind[:1].islower():
        return ObjectName(resource=kind, group=group, name=name)
    return ObjectName(kind=kind, group=group, name=name)
