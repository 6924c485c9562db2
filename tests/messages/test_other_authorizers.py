"""A request can be denied by an authorizer other than RBAC; a Role does not permit it then."""

import pytest

from whysync.messages.parse import understand
from whysync.messages.patterns.rbac import Forbidden

REFUSED = (
    'secrets is forbidden: User "system:serviceaccount:argocd:argocd-application-controller" cannot list'
    ' resource "secrets" in API group "" at the cluster scope'
)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("", ""),
        (': RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found', ""),
        (': requires one of ["container.secrets.list"] permission(s).', ""),
        (": Azure does not have opinion for this user.", ""),
        (
            ': GKEAutopilot authz: cluster scoped resource "x/" is managed and access is denied',
            "GKEAutopilot authz",
        ),
        (
            ': GKE Warden authz [denied by managed-namespaces-limitation]: the namespace "x"',
            "GKE Warden authz",
        ),
        (": access denied by the policy of the platform team", "another authorizer"),
    ],
)
def test_only_a_denial_of_another_authorizer_is_one(reason: str, expected: str) -> None:
    failures = [f for f in understand(f"{REFUSED}{reason}").failures if isinstance(f, Forbidden)]
    assert [failure.other_authorizer for failure in failures] == [expected]
