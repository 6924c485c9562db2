"""Commands that show where to look if no rule explains the state."""

from __future__ import annotations

from tests.situations import application, case_of
from whysync.kubernetes.api.ref import Ref
from whysync.queries.check_commands import unhealthy_checks, writer_checks

SHOP = Ref(group="apps", kind="Deployment", namespace="shop", name="shop")
BROKER = Ref(group="rabbitmq.com", kind="RabbitmqCluster", namespace="shop", name="broker")


def test_unhealthy_objects_are_described_and_their_pods_listed() -> None:
    assert list(unhealthy_checks(case_of(application()), [SHOP, BROKER, SHOP])) == [
        "kubectl -n shop describe deployment.apps shop",
        "kubectl -n shop describe rabbitmqcluster.rabbitmq.com broker",
        "kubectl -n shop get pods",
        "kubectl -n shop logs deployment/shop --all-containers --tail=50",
    ]


def test_an_unhealthy_app_without_an_unhealthy_object() -> None:
    case = case_of(application())
    assert list(unhealthy_checks(case, [case.application.ref])) == ["argocd app get shop"]


def test_the_writers_of_objects_that_differ() -> None:
    case = case_of(application())
    assert list(writer_checks(case, [case.application.ref, SHOP])) == [
        "kubectl -n shop get deployment.apps shop -o yaml --show-managed-fields"
        "   # who writes its fields, and when"
    ]
