"""What Argo CD 3.6 grants before anybody has written a policy: two roles, and `admin` has the greater one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from whysync.argocd.rbac.policy_line import Grant, Origin, Permission

READONLY: Final = "role:readonly"
ADMIN: Final = "role:admin"
BUILT_IN: Final = "built-in"

_IN_PROJECTS: Final = ("applications", "applicationsets", "logs", "exec")
"""Their objects are `project/name`; clusters and repositories are granted by any name."""
_READ: Final = (
    "applications", "applicationsets", "certificates", "clusters", "repositories", "write-repositories",
    "projects", "accounts", "gpgkeys", "logs",
)  # fmt: skip
_CHANGE: Final = ("create", "update", "delete")
_ADMIN: Final = {
    "applications": (
        "create", "update", "update/*", "delete", "delete/*", "sync", "rollback", "override", "action/*",
    ),
    "applicationsets": ("get", *_CHANGE),
    "certificates": _CHANGE,
    "clusters": _CHANGE,
    "repositories": _CHANGE,
    "write-repositories": _CHANGE,
    "projects": _CHANGE,
    "accounts": ("update",),
    "gpgkeys": ("create", "delete"),
    "exec": ("create",),
}  # fmt: skip


@cache
def builtin_permissions() -> tuple[Permission, ...]:
    """Extensions are nobody's: `extensions, invoke` has to be granted by hand, to admins too."""
    rows = (*((READONLY, resource, "get") for resource in _READ), *_admin_rows())
    return tuple(
        Permission(
            subject=role,
            resource=resource,
            action=action,
            object="*/*" if resource in _IN_PROJECTS else "*",
            effect="allow",
            origin=Origin(name=BUILT_IN, line=number),
        )
        for number, (role, resource, action) in enumerate(rows, start=1)
    )


def builtin_grants() -> tuple[Grant, ...]:
    number = len(builtin_permissions())
    return (
        Grant(member=ADMIN, role=READONLY, origin=Origin(name=BUILT_IN, line=number + 1)),
        Grant(member="admin", role=ADMIN, origin=Origin(name=BUILT_IN, line=number + 2)),
    )


def _admin_rows() -> Iterator[tuple[str, str, str]]:
    for resource, actions in _ADMIN.items():
        for action in actions:
            yield ADMIN, resource, action
