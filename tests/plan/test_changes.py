"""What a changed pod template means for running pods, by the update strategy of the head."""

from __future__ import annotations

import pytest

from whysync.json_tree import Object
from whysync.plan.changes import changes_of


def workload(kind: str, image: str, **spec: Object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "replicas": 2,
            **spec,
            "template": {"spec": {"containers": [{"name": "a", "image": image}]}},
        },
    }


@pytest.mark.parametrize(
    ("kind", "spec", "risk"),
    [
        ("Deployment", {}, "restart"),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "OnDelete"}},
            "its pods are not restarted until they are deleted (update strategy OnDelete)",
        ),
        ("StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": 1}}}, "restart"),
        (
            "StatefulSet",
            {"updateStrategy": {"rollingUpdate": {"partition": 2}}},
            "its pods are not restarted (partition 2)",
        ),
    ],
)
def test_restart_follows_the_update_strategy(kind: str, spec: dict[str, Object], risk: str) -> None:
    (change,) = changes_of(
        [workload(kind, "a:1", **spec)], [workload(kind, "a:2", **spec)], "shop", prunes=True
    )
    assert change.risk == risk
