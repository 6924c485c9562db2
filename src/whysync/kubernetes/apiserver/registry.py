"""What strategies of kinds share: access to the store and to the allocators."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import Object
from whysync.kubernetes.apiserver.address_allocator import AddressAllocator
from whysync.kubernetes.apiserver.storage import Store


class RegistryContext(NamedTuple):
    store: Store
    addresses: AddressAllocator
    now: str

    def find(self, group: str, plural: str, name: str) -> Object | None:
        """A cluster-scoped object."""
        return self.store.get(((group, plural), "", name))

    def all_of(self, group: str, plural: str) -> list[Object]:
        return [obj for _, obj in self.store.within((group, plural))]


def spec_of(obj: Object) -> Object:
    """The spec of the object, created if it is missing; may be changed."""
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        spec = obj["spec"] = {}
    return spec
