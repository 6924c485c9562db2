"""What keeps a write out that is well formed: limits, quotas, webhooks, policies, rights."""

from __future__ import annotations

import pytest

from tests.kubernetes.apiserver.talk import Talk, config_map, message_of
from whysync.json_tree import Json, Object, copy_object, dig, fields, items
from whysync.kubernetes.admission.webhooks import Denied, Unreachable

ARGO = "system:serviceaccount:argocd:argocd-application-controller"


def pod(name: str = "p", /, **resources: Json) -> Object:
    container: Object = {"name": "c", "image": "nginx", "resources": dict(resources)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


def limit_range(**limit: Json) -> Object:
    item: Object = {"type": "Container", **limit}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits"},
        "spec": {"limits": [item]},
    }


def quota(hard: Object, **spec: Json) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": dict.fromkeys(hard, "0")},
    }


def hook(kind: str, *, operations: list[Json], policy: str = "Fail", **more: Json) -> Object:
    rule: Object = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": operations,
        "resources": ["configmaps"],
    }
    webhook: Object = {
        "name": "guard.shop.example",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": policy,
        "clientConfig": {"service": {"namespace": "shop", "name": "guard", "path": "/check"}},
        "rules": [rule],
        **more,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "guard"},
        "webhooks": [webhook],
    }


# -- limits and quotas ----------------------------------------------------------------------------------


def test_a_limit_range_fills_in_and_says_so(talk: Talk) -> None:
    talk.create(limit_range(default={"cpu": "1", "memory": "1Gi"}, defaultRequest={"cpu": "100m"}))
    body = talk.create(pod(limits={"memory": "2Gi"}, requests={"memory": "1Gi"})).body or {}
    assert dig(body, "spec", "containers", 0, "resources") == {
        "limits": {"cpu": "1", "memory": "2Gi"},
        "requests": {"cpu": "100m", "memory": "1Gi"},
    }
    assert dig(body, "metadata", "annotations", "kubernetes.io/limit-ranger") == (
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    )


@pytest.mark.parametrize(
    ("limit", "resources", "expected"),
    [
        (
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "2"}},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            {"min": {"memory": "64Mi"}, "defaultRequest": {"cpu": "1"}},
            {"requests": {"memory": "32Mi"}, "limits": {"memory": "64Mi"}},
            "minimum memory usage per Container is 64Mi, but request is 32Mi",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 10.000000",
        ),
    ],
)
def test_a_limit_range_refuses_values_beyond_it(
    talk: Talk, limit: Object, resources: Object, expected: str
) -> None:
    assert talk.create(limit_range(**limit)).code == 201
    answer = talk.create(pod(**resources))
    assert answer.code == 403
    assert message_of(answer) == f'pods "p" is forbidden: {expected}'


def test_a_quota_counts_pods_with_their_largest_init_container(talk: Talk) -> None:
    talk.api_server.load([{**quota({"requests.cpu": "1"}), "metadata": {"name": "q", "namespace": "shop"}}])
    request = pod("a", requests={"cpu": "100m"})
    init: Json = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "700m"}}}
    fields(request["spec"])["initContainers"] = [init]
    assert talk.create(request).code == 201
    assert message_of(talk.create(pod("b", requests={"cpu": "400m"}))) == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=400m, used: requests.cpu=700m, '
        "limited: requests.cpu=1"
    )


def test_a_quota_with_a_scope_leaves_other_pods_alone(talk: Talk) -> None:
    scoped = quota({"pods": "0"}, scopes=["BestEffort"])
    talk.api_server.load([{**scoped, "metadata": {"name": "q", "namespace": "shop"}}])
    assert talk.create(pod("busy", requests={"cpu": "1"})).code == 201
    assert "exceeded quota" in message_of(talk.create(pod("idle")))


def test_what_exists_already_costs_nothing(talk: Talk) -> None:
    talk.api_server.load([{**quota({"configmaps": "2"}), "metadata": {"name": "q", "namespace": "shop"}}])
    assert [talk.create(config_map()).code, talk.create(config_map()).code] == [201, 409]
    assert talk.create(config_map("other")).code == 201
    assert "exceeded quota: q" in message_of(talk.create(config_map("third")))


# -- webhooks and policies ------------------------------------------------------------------------------


def test_a_validating_webhook_denies_in_its_own_words_and_changes_nothing(talk: Talk) -> None:
    talk.create(hook("ValidatingWebhookConfiguration", operations=["CREATE", "DELETE"]))

    def guard(obj: Object) -> Object:
        if "no" in fields(obj.get("data")):
            raise Denied("not today")
        return {**obj, "data": {}}

    talk.api_server.webhooks["guard.shop.example"] = guard
    assert (talk.create(config_map(a="1")).body or {})["data"] == {"a": "1"}
    answer = talk.create(config_map("other", no="1"))
    assert (answer.code, message_of(answer)) == (
        400,
        'admission webhook "guard.shop.example" denied the request: not today',
    )
    assert talk.patch(config_map(), {"data": {"no": "1"}}).code == 200
    assert talk.delete(config_map()).code == 400


def test_a_silent_webhook_fails_or_is_ignored(talk: Talk) -> None:
    def silent(_: Object) -> Object:
        raise Unreachable("context deadline exceeded")

    talk.api_server.webhooks["guard.shop.example"] = silent
    talk.create(hook("MutatingWebhookConfiguration", operations=["*"], timeoutSeconds=3))
    answer = talk.create(config_map())
    assert answer.code == 500
    assert message_of(answer) == (
        'Internal error occurred: failed calling webhook "guard.shop.example": failed to call webhook: '
        'Post "https://guard.shop.svc:443/check?timeout=3s": context deadline exceeded'
    )
    talk.patch(
        hook("MutatingWebhookConfiguration", operations=[]),
        [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}],
        kind="json-patch",
    )
    assert talk.create(config_map()).code == 201


def test_what_a_mutating_webhook_puts_in_gets_defaults_and_is_checked(talk: Talk) -> None:
    sidecar: Json = {"name": "s", "image": "side"}

    def inject(obj: Object) -> Object:
        new = copy_object(obj)
        items(fields(new["spec"])["containers"]).append(sidecar)
        return new

    configuration = hook("MutatingWebhookConfiguration", operations=["CREATE"])
    items(fields(items(configuration["webhooks"])[0])["rules"])[0] = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
    }  # fmt: skip
    talk.create(configuration)
    talk.api_server.webhooks["guard.shop.example"] = inject
    body = talk.create(pod()).body or {}
    assert dig(body, "spec", "containers", 1, "imagePullPolicy") == "Always"


def test_a_policy_with_variables_and_conditions(talk: Talk) -> None:
    rule: Json = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    policy: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "small"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "not-me", "expression": "request.userInfo.username != 'me'"}],
            "variables": [{"name": "keys", "expression": "size(object.data)"}],
            "validations": [
                {
                    "expression": "variables.keys < 2",
                    "messageExpression": "'too many in ' + object.metadata.name",
                    "reason": "Forbidden",
                }
            ],
        },
    }
    binding: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "small"},
        "spec": {"policyName": "small", "validationActions": ["Deny"]},
    }
    assert (talk.create(policy).code, talk.create(binding).code) == (201, 201)
    answer = talk.create(config_map(a="1", b="2"))
    assert answer.code == 403
    assert message_of(answer).endswith("with binding 'small' denied request: too many in cm")
    talk.create(grant("cluster-admin", kind="ClusterRole", user="me"))
    assert talk.create(config_map(a="1", b="2"), user="me").code == 201


def test_a_policy_reads_its_params(talk: Talk) -> None:
    rule: Json = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    policy: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "listed"},
        "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "Secret"},
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [
                {"expression": "object.metadata.name in params.data", "message": "not on the list"}
            ],
        },
    }
    reference: Json = {"name": "list", "namespace": "shop", "parameterNotFoundAction": "Deny"}
    binding: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "listed"},
        "spec": {"policyName": "listed", "validationActions": ["Deny"], "paramRef": reference},
    }
    assert (talk.create(policy).code, talk.create(binding).code) == (201, 201)
    assert "no params found for policy binding" in message_of(talk.create(config_map()))
    talk.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "list"}, "stringData": {"cm": "1"}}
    )
    assert talk.create(config_map()).code == 201
    assert message_of(talk.create(config_map("other"))).endswith("denied request: not on the list")


# -- rights ---------------------------------------------------------------------------------------------


def role(*rules: Json) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "deployer"},
        "rules": list(rules),
    }


def grant(name: str, *, kind: str = "Role", user: str = ARGO) -> Object:
    _, _, account = user.partition("system:serviceaccount:")
    space, _, short = account.partition(":")
    subject: Object = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    if account:
        subject = {"kind": "ServiceAccount", "name": short, "namespace": space}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{name}-{user.rpartition(':')[2]}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [subject],
    }


def test_a_service_account_without_rights_is_told_which_one_it_lacks(talk: Talk) -> None:
    assert message_of(talk.create(config_map(), user=ARGO)) == (
        f'configmaps is forbidden: User "{ARGO}" cannot create resource "configmaps" in API group "" '
        'in the namespace "shop"'
    )
    talk.create(grant("gone"))
    assert message_of(talk.create(config_map(), user=ARGO)).endswith(
        'in the namespace "shop": RBAC: role.rbac.authorization.k8s.io "gone" not found'
    )


def test_the_groups_of_a_service_account_count(talk: Talk) -> None:
    binding = grant("cluster-admin", kind="ClusterRole")
    binding["subjects"] = [
        {"kind": "Group", "name": "system:serviceaccounts:argocd", "apiGroup": "rbac.authorization.k8s.io"}
    ]
    talk.create(binding)
    assert talk.create(config_map(), user=ARGO).code == 201
    assert talk.create(config_map("b"), user="system:serviceaccount:shop:default").code == 403


def test_nobody_grants_what_they_do_not_have(talk: Talk) -> None:
    writes: Json = {
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"],
    }  # fmt: skip
    talk.create(role(writes, {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}))
    talk.create(grant("deployer"))
    expected = role(
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "delete"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
    )
    fields(expected["metadata"])["name"] = "more"
    answer = talk.create(expected, user=ARGO)
    assert answer.code == 403
    assert message_of(answer) == (
        f'roles.rbac.authorization.k8s.io "more" is forbidden: user "{ARGO}" '
        '(groups=["system:serviceaccounts" "system:serviceaccounts:argocd" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "delete"]}\n'
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}'
    )
    permitted = role({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]})
    fields(permitted["metadata"])["name"] = "less"
    assert talk.create(permitted, user=ARGO).code == 201


# -- sizes ----------------------------------------------------------------------------------------------


def test_annotations_and_objects_have_a_largest_size(talk: Talk) -> None:
    marked: Object = {**config_map(), "metadata": {"name": "cm", "annotations": {"a": "x" * 262144}}}
    assert "Too long: may not be more than 262144 bytes" in message_of(talk.create(marked))
    large = talk.create(config_map(a="x" * (3 * 2**19)))
    assert large.code in {413, 422, 500}


def test_a_pod_may_only_run_as_an_account_that_is_there(talk: Talk) -> None:
    runs: Object = {**pod("web"), "spec": {**fields(pod()["spec"]), "serviceAccountName": "shop"}}
    assert talk.create(runs, dry_run=True).ok  # nobody has told which accounts there are
    account: Object = {"apiVersion": "v1", "kind": "ServiceAccount"}
    talk.api_server.load([{**account, "metadata": {"name": "default", "namespace": "shop"}}])
    refused = talk.create(runs)
    why = 'error looking up service account shop/shop: serviceaccount "shop" not found'
    assert (refused.code, message_of(refused)) == (403, f'pods "web" is forbidden: {why}')
    generated: Object = {**runs, "metadata": {"generateName": "web-"}}
    assert message_of(talk.create(generated)) == f'pods "web-" is forbidden: {why}'
    assert talk.create(pod("other")).ok
    talk.api_server.load([{**account, "metadata": {"name": "shop", "namespace": "shop"}}])
    assert talk.create(runs).ok


def test_a_webhook_whose_service_has_no_ready_pod(talk: Talk) -> None:
    hook: Object = {
        "name": "v.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "shop", "name": "policy"}},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
        ],
    }
    kind = "ValidatingWebhookConfiguration"
    meta: Object = {"name": "policy"}
    configuration: Object = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": meta}
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {"ports": [{"port": 443}]},
    }
    assert talk.create({**configuration, "webhooks": [hook]}).code == 201
    assert 'service "policy" not found' in message_of(talk.create(config_map("a")))
    assert talk.create(service).code == 201
    assert talk.create(config_map("a")).code == 201  # nothing tells of its endpoints
    slice: Object = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "policy-1",
            "namespace": "shop",
            "labels": {"kubernetes.io/service-name": "policy"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}],
    }
    talk.api_server.load([slice])
    assert 'no endpoints available for service "policy"' in message_of(talk.create(config_map("b")))
    talk.api_server.load(
        [{**slice, "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]}]
    )
    assert talk.create(config_map("b")).code == 201


@pytest.mark.parametrize(("port", "code"), [(9, 500), (21443, 201)])
def test_a_webhook_on_the_control_plane_answers_unless_nobody_can_listen(
    talk: Talk, port: int, code: int
) -> None:
    client: Object = {"url": f"https://127.0.0.1:{port}/validate"}
    guard = hook("ValidatingWebhookConfiguration", operations=["CREATE"], clientConfig=client)
    assert talk.create(guard).ok
    assert talk.create(config_map()).code == code
