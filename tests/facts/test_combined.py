"""Facts of Argo CD's API and of the cluster that it runs in, combined."""

from __future__ import annotations

from whysync.facts.combined import combine
from whysync.facts.snapshot import Snapshot
from whysync.kubernetes.api.manifest import Manifest, Role


def applications(**uids: str) -> Snapshot:
    return Snapshot(
        applications=tuple(
            Manifest(
                {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "Application",
                    "metadata": {"name": name, "namespace": "argocd", "uid": uid},
                },
                role=Role.APPLICATION,
            )
            for name, uid in uids.items()
        )
    )


def names(snapshot: Snapshot) -> list[str]:
    return [application.ref.name for application in snapshot.applications]


def test_applications_that_argo_cd_does_not_show_come_from_the_cluster() -> None:
    assert names(combine(applications(shop="1"), applications(shop="1", hidden="2"))) == ["hidden", "shop"]
    assert names(combine(Snapshot(), applications(hidden="2"))) == ["hidden"]


def test_applications_of_another_argo_cd_are_left_out() -> None:
    assert names(combine(applications(shop="1"), applications(shop="9", other="2"))) == ["shop"]
    assert names(combine(applications(shop="1"), applications(other="2"))) == ["shop"]
