"""What an operator's error asks for."""

import pytest

from whysync.messages.operator_errors import Demand, OperatorError, operator_error

AWS = (
    "error processing spec.dataFrom[0].extract, err: AccessDeniedException: User:"
    " arn:aws:sts::123456789012:assumed-role/eso-prod/1709 is not authorized to perform:"
    " secretsmanager:GetSecretValue on resource: prod/payments/db because no identity-based policy allows it"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            AWS,
            OperatorError(
                demand=Demand.PERMISSION,
                who="role eso-prod",
                action="secretsmanager:GetSecretValue",
                subject="prod/payments/db",
                code="AccessDeniedException",
            ),
        ),
        (
            "rpc error: code = PermissionDenied desc = Permission 'secretmanager.versions.access' denied for"
            " resource 'projects/1/secrets/db/versions/latest' (or it may not exist).",
            OperatorError(
                demand=Demand.PERMISSION,
                action="secretmanager.versions.access",
                subject="projects/1/secrets/db/versions/latest",
                code="PermissionDenied",
            ),
        ),
        (
            'secrets is forbidden: User "system:serviceaccount:ops:backup" cannot list resource "secrets"',
            OperatorError(
                demand=Demand.PERMISSION,
                who="ServiceAccount ops/backup",
                action="list",
                subject="secrets",
            ),
        ),
        (
            "ResourceNotFoundException: Secrets Manager can't find the specified secret.",
            OperatorError(demand=Demand.MISSING),
        ),
        (
            "cloud quota DBInstances exceeded (40 of 40)",
            OperatorError(demand=Demand.QUOTA, subject="DBInstances"),
        ),
        ("ExpiredToken: The security token is expired", OperatorError(demand=Demand.LOGIN)),
        ("member main-2 lost its disk", None),
    ],
)
def test_what_it_asks_for(text: str, expected: OperatorError | None) -> None:
    assert operator_error(text) == expected
