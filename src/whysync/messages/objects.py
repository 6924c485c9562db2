"""How an API server names the object that an error is about."""

from __future__ import annotations

import re

from whysync.messages.failure import NOTHING, Named
from whysync.messages.pattern import compiled, said

RESOURCE = (
    r"(?<![\w.-])(?P<resource>[a-z][a-z0-9]{1,62})(?:\.(?P<group>[a-z0-9][a-z0-9.-]{0,200}))?"
    r' "(?P<name>[^"]{0,253})"'
)
_KIND = r'\b(?P<kind>[A-Za-z]\w{1,62})(?:\.(?P<group>[a-z0-9][a-z0-9.-]{0,200}))? "(?P<name>[^"]{0,253})"'


def resource_in(match: re.Match[str]) -> Named:
    """The object of a regex that holds `RESOURCE`: `deployments.apps "x"`, by its plural."""
    return Named(resource=said(match, "resource"), group=said(match, "group"), name=said(match, "name"))


def forbidden_object(text: str) -> Named:
    """`pods "x" is forbidden: …`."""
    match = compiled(RESOURCE + " is forbidden").search(text[:4000])
    return resource_in(match) if match else NOTHING


def invalid_object(text: str) -> Named:
    """`Deployment.apps "x" is invalid: …`; older API servers write the plural there."""
    match = compiled(_KIND + " is invalid").search(text[:4000])
    if match is None:
        return NOTHING
    kind, group, name = said(match, "kind"), said(match, "group"), said(match, "name")
    if kind[:1].islower():
        return Named(resource=kind, group=group, name=name)
    return Named(kind=kind, group=group, name=name)
