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
        """`None` if it is not a tracking id. Names may contain colons (as in RBAC), but no slashes."""
        segments = value.split(":", 2)
        if len(segments) != 3:
            return None
        app, group_kind, qualified_name = segments
        kind, namespace_name = group_kind.split("/"), qualified_name.split("/")
        if len(kind) != 2 or len(namespace_name) != 2:
            return None
        return cls(app, kind[0], kind[1], namespace_name[0], namespace_name[1])

    @classmethod
    def of(cls, obj: Object, *, app: str, namespace: str = "") -> TrackingId:
        """The tracking id that Argo CD writes to `obj`; `namespace` is used if the object has none."""
        ref = ref_of(obj)
        return cls(app, ref.group, ref.kind, ref.namespace or namespace, ref.name)

    def describes(self, obj: Object) -> bool:
        """Does it refer to this object? The id of a cluster-scoped object has the app's namespace."""
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
    """The instance name of an Application: its name in Argo CD's namespace, otherwise `namespace_name`."""
    return name if namespace in ("", default_namespace) else f"{namespace}_{name}"
