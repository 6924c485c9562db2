"""Applications that share objects with those that were read."""

from __future__ import annotations

from typing import Final

from whysync.argocd.api.application import Application
from whysync.argocd.settings import Settings
from whysync.argocd.tracking import owner_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import text
from whysync.kubernetes.api.decode import decode

_MOST: Final = 5


def other_owners(snapshot: Snapshot) -> tuple[str, ...]:
    """As `namespace/name`: Applications that live objects are tracked by although another one, which was
    read, has them among its resources.
    """
    config = next((setting.body for setting in snapshot.settings if setting.ref.name == "argocd-cm"), None)
    settings = Settings.from_config_maps(config, None)
    live = {manifest.key: manifest.body for manifest in snapshot.live}
    read = {application.ref.place for application in snapshot.applications}
    others: dict[str, None] = {}
    for manifest in snapshot.applications:
        app, _ = decode(manifest.body, Application)
        home = text(manifest.status.get("controllerNamespace")) or manifest.ref.namespace
        for resource in app.status.resources if app is not None else ():
            owner = owner_of(
                live.get(resource.key, {}),
                method=settings.tracking_method,
                label_key=settings.instance_label_key,
                installation_id=settings.installation_id,
            )
            namespace, _, name = owner.rpartition("_")
            if name and f"{namespace or home}/{name}" not in read:
                others[f"{namespace or home}/{name}"] = None
    return tuple(others)[:_MOST]
