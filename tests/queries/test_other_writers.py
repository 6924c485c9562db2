"""How to stop a program that writes a field."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer
from whysync.kubernetes.field_writers.known_managers import kind_of
from whysync.queries.other_writers import stop_writer

WEB = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")


@pytest.mark.parametrize(
    ("manager", "stoppable"),
    [
        ("tag-pusher", True),
        ("keel", True),
        ("kube-controller-manager", False),
        ("kubelet", False),
        ("aws-cloud-controller-manager", False),
    ],
)
def test_nobody_stops_a_part_of_kubernetes(manager: str, *, stoppable: bool) -> None:
    writer = Writer(manager=manager, kind=kind_of(manager))
    assert bool(stop_writer(case_of(application()), WEB, writer, "/spec/replicas")) is stoppable
