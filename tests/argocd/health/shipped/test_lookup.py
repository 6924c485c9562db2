"""Which check is asked: the exact kind, else a wildcard, and nothing is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.argocd.health.shipped.tables import tables
from whysync.argocd.health.shipped import GROUPS, judge, shipped_check
from whysync.argocd.health.verdict import HealthVerdict

ALL = list(tables())


def test_the_index_names_the_groups_of_each_module() -> None:
    indexed = {(module, group) for module, groups in GROUPS.items() for group in groups.split()}
    assert {(module, group) for module, group, _ in ALL if not group.startswith("*")} == indexed


@pytest.mark.parametrize(("group", "checks"), [(group, checks) for _, group, checks in ALL])
def test_every_check_is_found_by_group_and_kind(group: str, checks: dict[str, object]) -> None:
    assert checks
    for kind, check in checks.items():
        assert shipped_check(group.replace("*", "any"), "Anything" if kind == "*" else kind) is check


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("", "Pod"),
        ("cert-manager.io", "CertificateRequest"),
        ("cert.manager.io", "Certificate"),
        ("networking", "Check"),
        ("lua", "at"),
        ("crossplane.io", "Anything"),
        ("crossplane.io.example.com", "Anything"),
        ("ünknown.example", "Anything"),
        ("../secrets", "Anything"),
    ],
)
def test_others_have_none(group: str, kind: str) -> None:
    assert shipped_check(group, kind) is None


def test_an_exact_kind_goes_before_the_wildcard_of_its_family() -> None:
    exact = shipped_check("cloudfront.aws.crossplane.io", "Distribution")
    family = shipped_check("cloudfront.aws.crossplane.io", "CachePolicy")
    assert exact is not None
    assert family is not None
    assert family is shipped_check("apiextensions.crossplane.io", "Composition")
    assert exact is not family
    assert judge(exact, {}).message == "Waiting for distribution to be created"
    assert judge(family, {}).message == "Resource is up-to-date."


def test_no_decision_is_an_empty_health() -> None:
    assert judge(lambda _obj: None, {}) == HealthVerdict(None)


def test_tables_are_loaded_when_they_are_asked_for() -> None:
    script = (
        "import sys\n"
        "from whysync.argocd.health.shipped import shipped_check\n"
        "loaded = lambda: sum('.shipped.' in name for name in sys.modules)\n"
        "before = loaded()\n"
        "assert shipped_check('batch', 'CronJob')\n"
        "print(before, loaded() - before)\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["2", "1"]
