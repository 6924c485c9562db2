"""The types of custom resources, from their CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterable

from whysync.json_tree import Object, dig, fields, text
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.merge.structured import DEDUCED, Atom, Schemas


class CustomTypes(Schemas):
    """Reads a definition when one of its objects is compared for the first time.

    Differs: Argo CD knows all types of its cluster. One whose definition the facts lack is deduced.
    """

    def __init__(self, definitions: Iterable[Object]) -> None:
        super().__init__()
        self._unread: dict[tuple[str, str], Object] = {}
        for body in definitions:
            names = fields(dig(body, "spec", "names"))
            self._unread[text(dig(body, "spec", "group")), text(names.get("kind"))] = body

    def atom(self, api_version: str, kind: str) -> Atom:
        unread = self._unread.pop((group_of(api_version), kind), None)
        if unread is not None:
            self.add_definitions([unread])
        return super().atom(api_version, kind) or DEDUCED
