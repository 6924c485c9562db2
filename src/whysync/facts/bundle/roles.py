"""The role of an object in a bundle: by folder, by kind, or live."""

from __future__ import annotations

import msgspec

from whysync.json_tree import Object, fields, text
from whysync.kubernetes.api.manifest import Role
from whysync.kubernetes.api.ref import group_of

ROLE_ANNOTATION = "whysync.dev/role"
SECRET_TYPE_LABEL = "argocd.argoproj.io/secret-type"
FOLDERS = ("applications", "projects", "settings", "desired", "live", "events", "logs", "git", "facts")
SETTINGS_MAPS = frozenset(
    f"argocd-{name}"
    for name in (
        "cm",
        "rbac-cm",
        "cmd-params-cm",
        "ssh-known-hosts-cm",
        "tls-certs-cm",
        "gpg-keys-cm",
        "notifications-cm",
    )
)
KINDS_WITH_ROLES_BY_NAME = ("ConfigMap", "Secret")
"""The role of other kinds does not depend on the name or the labels."""
_ROLES = {role.value: role for role in Role}
_SETTINGS_SECRETS = frozenset(("argocd-secret", "argocd-notifications-secret"))
_SECRET_TYPES = frozenset(("repository", "repository-write", "repo-creds", "repo-write-creds", "cluster"))


class BundlePath(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a file in a bundle: its known folder, the folders below it, and its name."""

    folder: str = ""
    below: tuple[str, ...] = ()
    file: str = ""


def bundle_path(name: str) -> BundlePath:
    """The first known folder counts, so a bundle may be packed with a parent folder."""
    *folders, file = name.split("/")
    for index, folder in enumerate(folders):
        if folder in FOLDERS:
            return BundlePath(folder=folder, below=tuple(folders[index + 1 :]), file=file)
    return BundlePath(file=file)


def role_by_kind(body: Object) -> Role | None:
    """The role that the kind of an object implies; `None` for ordinary kinds."""
    kind, group = text(body.get("kind")), group_of(text(body.get("apiVersion")))
    if kind == "Application" and group == "argoproj.io":
        return Role.APPLICATION
    if kind == "AppProject" and group == "argoproj.io":
        return Role.PROJECT
    if kind == "Event" and group in ("", "events.k8s.io"):
        return Role.EVENT
    if group or kind not in KINDS_WITH_ROLES_BY_NAME:
        return None
    meta = fields(body.get("metadata"))
    name = text(meta.get("name"))
    if kind == "ConfigMap":
        return Role.SETTINGS if name in SETTINGS_MAPS else None
    typed = text(fields(meta.get("labels")).get(SECRET_TYPE_LABEL)) in _SECRET_TYPES
    return Role.SETTINGS if typed or name in _SETTINGS_SECRETS else None


def roles_of(body: Object, path: BundlePath) -> tuple[Role, ...]:
    """Usually one role. Settings and projects below `live/` have two.

    An Application there is a resource of another one and is not diagnosed itself.
    """
    own = role_by_kind(body)
    annotated = _annotated_role(body)
    if annotated is not None:
        return (annotated,)
    match path.folder:
        case "desired":
            return (Role.DESIRED,)
        case "live":
            if own is Role.EVENT:
                return (own,)
            return (own, Role.LIVE) if own is Role.SETTINGS or own is Role.PROJECT else (Role.LIVE,)
        case "settings" if own is None and text(body.get("kind")) in KINDS_WITH_ROLES_BY_NAME:
            return (Role.SETTINGS,)
        case _:
            return (own or Role.LIVE,)


def _annotated_role(body: Object) -> Role | None:
    """The role in the object's annotation, which is removed."""
    meta = fields(body.get("metadata"))
    annotations = fields(meta.get("annotations"))
    if ROLE_ANNOTATION not in annotations:
        return None
    name = text(annotations.pop(ROLE_ANNOTATION))
    if not annotations:
        del meta["annotations"]
    return _ROLES.get(name)
