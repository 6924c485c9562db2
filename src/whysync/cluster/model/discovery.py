"""What is served where: the built-in kinds, and those that definitions in the cluster add."""

from __future__ import annotations

from whysync.cluster.model.customs import Custom, customs_of
from whysync.cluster.model.failures import NoSuchPath, no_such_resource
from whysync.cluster.model.kinds import Resource, built_in
from whysync.cluster.model.paths import Address
from whysync.cluster.model.served import BuiltIn, Served
from whysync.cluster.model.store import Store
from whysync.contracts.ref import group_of
from whysync.contracts.tree import Object, fields, text

_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")


class Discovery:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._built_in: dict[tuple[str, str], BuiltIn] = {}
        self._customs: dict[str, tuple[str, list[Custom]]] = {}

    def served(self, address: Address) -> Served:
        """Raises when nothing is served there: without a Status for an unknown group, with one otherwise."""
        found = built_in().get((address.api_version, address.plural))
        if found is None:
            custom = self._custom(address)
            if custom is None:
                group = group_of(address.api_version)
                if any(group == resource.group for resource in self.kinds()):
                    raise no_such_resource()
                raise NoSuchPath
            return custom
        key = (address.api_version, address.plural)
        if key not in self._built_in:
            self._built_in[key] = BuiltIn(found)
        return self._built_in[key]

    def _custom(self, address: Address) -> Custom | None:
        for custom in self.customs():
            resource = custom.resource
            if (resource.api_version, resource.plural) == (address.api_version, address.plural):
                return custom
        return None

    def customs(self) -> list[Custom]:
        """Read from the definitions in the store; a definition is read again when it has changed."""
        found: list[Custom] = []
        for place, definition in self._store.within(_DEFINITIONS):
            revision = text(fields(definition.get("metadata")).get("resourceVersion"))
            known = self._customs.get(place[2])
            if known is None or known[0] != revision:
                known = self._customs[place[2]] = (revision, customs_of(definition))
            found.extend(known[1])
        return found

    def kinds(self) -> list[Resource]:
        return [*built_in().values(), *(custom.resource for custom in self.customs())]

    def of_object(self, obj: Object) -> Resource | None:
        for resource in self.kinds():
            if resource.api_version == obj.get("apiVersion") and resource.kind == obj.get("kind"):
                return resource
        return None
