"""Names of generated Roles: one grant must not replace another, because rules are replaced as a whole."""

from whysync.queries.rbac import role_name

CONTROLLER = "system:serviceaccount:argocd:argocd-application-controller"


def test_name_contains_the_account_and_what_is_granted():
    name = role_name("system:serviceaccount:batch:deployer", "manage-priorityclasses.scheduling.k8s.io")
    assert name == "batch-deployer-manage-priorityclasses.scheduling.k8s.io"


def test_other_kind_verbs_or_account_give_another_name():
    grants = ("manage-services", "manage-deployments.apps", "read-services", "get-services")
    users = (CONTROLLER, "system:serviceaccount:batch:deployer", "jane@example.com", "")
    assert len({role_name(user, grant) for user in users for grant in grants}) == len(users) * len(grants)


def test_long_names_stay_different():
    kinds = [f"manage-kind{number:02}.example.com" for number in range(20)]
    one, other = role_name(CONTROLLER, *kinds), role_name(CONTROLLER, *kinds[:-1])
    assert one != other
    assert max(len(one), len(other)) <= 130


def test_user_of_an_identity_provider_gives_a_valid_name():
    assert role_name("arn:aws:iam::1/Role_X", "get-pods") == "arn-aws-iam-1-role-x-get-pods"
