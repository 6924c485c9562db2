"""Texts that report no failure."""

from __future__ import annotations

import pytest

from whysync.messages.benign import is_benign, is_in_progress, lacks_status
from whysync.messages.parse import understand


@pytest.mark.parametrize(
    "text",
    [
        "Caused by apps/Deployment:web/blog",
        "Caused by apps/Deployment:web/blog, networking.k8s.io/Ingress:web/blog",
        "Caused by /Namespace:web, apps/Deployment:web/a, apps/Deployment:web/b and 7 more",
    ],
)
def test_list_of_resources_that_decide_the_health_is_no_failure(text: str) -> None:
    assert understand(text).failures == ()


def test_a_field_that_an_ignore_rule_does_not_find_is_no_failure() -> None:
    text = 'Failed to normalize apps/v1, Kind=Deployment//web: remove does not apply: missing path: "/spec/x"'
    assert understand(text).failures == ()


@pytest.mark.parametrize(
    "text",
    [
        "Cluster IP [IPv4]: 10.96.0.12 is not allocated; repairing",
        "Cluster IP [IPv4]:10.96.0.12 is not allocated; repairing",
        "the ClusterIP [IPv4]: 10.96.0.12 for Service shop/web has a wrong reference; repairing",
        "Port 30080 is not allocated; repairing",
    ],
)
def test_what_the_api_server_repairs_itself_is_no_failure(text: str) -> None:
    assert understand(text).failures == ()


@pytest.mark.parametrize("rules", [1, 200])
def test_the_output_of_auth_reconcile_is_no_failure(rules: int) -> None:
    """kubectl lists every rule that it adds, in a first sync all of them."""
    added = "".join(f"\n\t\t{{Verbs:[get] Resources:[kind{number}]}}" for number in range(rules))
    applied = (
        "clusterrole.rbac.authorization.k8s.io/system:node:reader configured. Warning: resource is missing"
    )
    text = (
        "clusterrole.rbac.authorization.k8s.io/system:node:reader reconciled. reconciliation required create"
    )
    assert understand(f"{text}\n\tmissing rules added:{added}{applied}").failures == ()


def test_a_role_that_is_reconciled_and_applied_is_no_failure() -> None:
    role = "clusterrole.rbac.authorization.k8s.io/monitoring"
    assert is_benign(f"{role} reconciled{role} configured")
    assert not is_benign(f"{role} reconciled{role} failed")


def test_an_address_that_two_services_have_is_a_failure() -> None:
    assert understand(
        "Cluster IP [IPv4]:10.96.0.12 was assigned to multiple services; please recreate service"
    ).failures


@pytest.mark.parametrize(
    ("text", "in_progress"),
    [
        ("Issuing certificate as Secret does not exist", True),
        ("Provisioning", True),
        ("the upgrade is in progress", True),
        ("The database is being created", True),
        ("failed while creating the volume", False),
        ("createdAt is not set", False),
        ("", False),
    ],
)
def test_a_condition_that_reports_work_in_progress(text: str, *, in_progress: bool) -> None:
    assert is_in_progress(text) is in_progress


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("Waiting for status", True),
        ("Waiting for the controller to report a status", True),
        ("the object has no status yet", True),
        ("Status not found", True),
        ("HTTP status 503", False),
        ("status is Ready", False),
    ],
)
def test_a_health_check_that_found_no_status(text: str, *, lacks: bool) -> None:
    assert lacks_status(text) is lacks
