"""What most checks read: name, generation, status and conditions."""

from __future__ import annotations

from collections.abc import Iterator

from whysync.json_tree import Object, dig, fields, integer, items, text


def name_of(obj: Object) -> str:
    return text(dig(obj, "metadata", "name"))


def spec_of(obj: Object) -> Object:
    return fields(obj.get("spec"))


def status_of(obj: Object) -> Object:
    return fields(obj.get("status"))


def count(part: Object, field: str) -> int:
    """A counter; an absent one is 0."""
    return integer(part.get(field))


def wanted_replicas(obj: Object) -> int | None:
    """`spec.replicas`; absent is not 0 here, a check then does not ask for it."""
    replicas = spec_of(obj).get("replicas")
    return None if replicas is None else integer(replicas)


def is_unobserved(obj: Object) -> bool:
    """The controller has not yet seen the newest spec."""
    return integer(dig(obj, "metadata", "generation")) > count(status_of(obj), "observedGeneration")


def conditions(obj: Object) -> Iterator[Object]:
    for condition in items(status_of(obj).get("conditions")):
        yield fields(condition)


def condition(obj: Object, kind: str) -> Object | None:
    """The first condition of that type."""
    return next((found for found in conditions(obj) if found.get("type") == kind), None)
