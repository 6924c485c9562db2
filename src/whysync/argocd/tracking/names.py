"""Names of Applications where they live in several namespaces.

People write `namespace/name`; labels and tracking ids hold `namespace_name`, as a label allows no slash.
Mirrors `util/argo` `ParseFromQualifiedName` and its neighbours, Argo CD 3.6.
"""

from __future__ import annotations


def parse_qualified_name(name: str, default_namespace: str) -> tuple[str, str]:
    """`namespace/name` → `(name, namespace)`."""
    namespace, found, rest = name.partition("/")
    return (rest, namespace) if found else (name, default_namespace)


def instance_name(name: str, namespace: str, default_namespace: str) -> str:
    """What tracking calls the Application; in Argo CD's own namespace that is the bare name."""
    return name if namespace in ("", default_namespace) else f"{namespace}_{name}"
