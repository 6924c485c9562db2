"""The tracking annotation: `<app>:<group>/<kind>:<namespace>/<name>`."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import Object
from whysync.kubernetes.api.ref import ref_of


class TrackingId(NamedTuple):
    app: str
    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def parse(cls, value: str) -> TrackingId | None:
        """`None` for what is not a tracking id. Names may hold colons (RBAC objects do), not slashes."""
        parts = value.split(":", 2)
        if len(parts) != 3:
            return None
        app, what, where = parts
        kind, place = what.split("/"), where.split("/")
        if len(kind) != 2 or len(place) != 2:
            return None
        return cls(app, kind[0], kind[1], place[0], place[1])

    @classmethod
    def of(cls, obj: Object, *, app: str, namespace: str = "") -> TrackingId:
        """The tracking id that Argo CD writes to `obj`; `namespace` is used if the object has none."""
        ref = ref_of(obj)
        return cls(app, ref.group, ref.kind, ref.namespace or namespace, ref.name)

    def describes(self, obj: Object) -> bool:
        """Is it about this very object? A cluster-scoped one carries the app's namespace in its id."""
        ref = ref_of(obj)
        return (
            ref.namespace in ("", self.namespace)
            and ref.name == self.name
            and ref.group == self.group
            and ref.kind == self.kind
        )

    def __str__(self) -> str:
        return f"{self.app}:{self.group}/{self.kind}:{self.namespace}/{self.name}"


def instance_name(name: str, namespace: str, default_namespace: str) -> str:
    """What tracking calls the Application; in Argo CD's own namespace that is the bare name."""
    return name if namespace in ("", default_namespace) else f"{namespace}_{name}"
