"""The model answers as an API server does: writes, patches, custom resources, deletion, access."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kubernetes.apiserver.talk import (
    Talk,
    config_map,
    definition,
    deployment,
    managers,
    message_of,
    widget,
)
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.apiserver.protocol import Request, kind_of
from whysync.kubernetes.cel.evaluate import evaluate
from whysync.kubernetes.cel.values import CelError
from whysync.kubernetes.kubectl.client_side_apply import client_side_apply
from whysync.kubernetes.merge.json_patch import apply_json_patch

SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "default": "a"},
            },
            "x-kubernetes-validations": [{"rule": "self.size < 10", "message": "too big"}],
        }
    },
}


def test_a_created_object_has_defaults_and_an_owner(talk: Talk) -> None:
    answer = talk.create(deployment())
    body = answer.body or {}
    assert answer.code == 201
    assert dig(body, "spec", "replicas") == 1
    assert dig(body, "spec", "template", "spec", "containers", 0, "imagePullPolicy") == "Always"
    assert dig(body, "metadata", "generation") == 1
    assert managers(answer) == ["client"]
    assert talk.create(deployment()).code == 409


def test_the_same_requests_give_the_same_bytes() -> None:
    first, second = Talk(), Talk()
    assert first.create(deployment()).body == second.create(deployment()).body


def test_a_dry_run_leaves_nothing(talk: Talk) -> None:
    assert talk.create(config_map(), dry_run=True).code == 201
    assert talk.get(config_map()).code == 404


def test_unknown_fields_are_refused_or_dropped(talk: Talk) -> None:
    body: Object = {**config_map(), "dat": {}}
    assert 'strict decoding error: unknown field "dat"' in message_of(talk.create(body, validation="Strict"))
    assert talk.create(body, validation="Ignore").code == 201


def test_wrong_types_and_wrong_values_are_told_in_the_servers_words(talk: Talk) -> None:
    body: Object = {**deployment(), "spec": {"replicas": "3"}}
    assert message_of(talk.create(body)).endswith(
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )
    answer = talk.create(deployment(replicas=-1))
    assert answer.code == 422
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in message_of(answer)


def test_generation_counts_changes_of_the_spec_and_a_write_of_nothing_is_none(talk: Talk) -> None:
    talk.create(deployment())
    labelled = talk.patch(deployment(), {"metadata": {"labels": {"a": "b"}}})
    assert dig(labelled.body or {}, "metadata", "generation") == 1
    scaled = talk.patch(deployment(), {"spec": {"replicas": 3}})
    assert dig(scaled.body or {}, "metadata", "generation") == 2
    again = talk.patch(deployment(), {"spec": {"replicas": 3}})
    assert again.body == scaled.body


def test_a_stale_resource_version_conflicts(talk: Talk) -> None:
    stale = talk.create(config_map(a="1")).body or {}
    talk.patch(config_map(), {"data": {"a": "2"}})
    answer = talk.api_server.send(Request(verb="update", path=talk.path(config_map()), body=stale))
    assert answer.code == 409
    assert message_of(answer).endswith("please apply your changes to the latest version and try again")


def test_an_update_beside_an_apply_takes_the_field(talk: Talk) -> None:
    talk.apply(deployment(replicas=2), "argocd-controller")
    talk.api_server.send(
        Request(
            verb="merge-patch",
            path=f"{talk.path(deployment())}/scale",
            body={"spec": {"replicas": 5}},
            manager="autoscaler",
        )
    )
    answer = talk.apply(deployment(replicas=2), "argocd-controller")
    assert answer.code == 409
    assert 'conflict with "autoscaler" with subresource "scale" using apps/v1: .spec.replicas' in message_of(
        answer
    )
    forced = talk.apply(deployment(replicas=2), "argocd-controller", force=True)
    assert dig(forced.body or {}, "spec", "replicas") == 2
    assert managers(forced) == ["argocd-controller"]


def test_client_side_apply_removes_what_the_last_manifest_had(talk: Talk) -> None:
    collection = talk.collection(config_map())
    assert (
        client_side_apply(talk.api_server, config_map(a="1", b="2"), collection=collection).outcome
        == "created"
    )
    talk.patch(config_map(), {"data": {"c": "by hand"}})
    done = client_side_apply(talk.api_server, config_map(a="1"), collection=collection)
    assert done.outcome == "configured"
    assert (done.answer.body or {})["data"] == {"a": "1", "c": "by hand"}
    assert client_side_apply(talk.api_server, config_map(a="1"), collection=collection).outcome == "unchanged"


def test_custom_resources_are_served_once_defined(talk: Talk) -> None:
    assert talk.create(widget({"size": 1})).code == 404
    assert talk.create(definition(SCHEMA)).code == 201
    answer = talk.create(widget({"size": 1, "color": "red"}))
    assert (answer.body or {})["spec"] == {"size": 1, "mode": "a"}
    assert "spec.size: Required value" in message_of(talk.create(widget({})))
    assert "greater than or equal to 1" in message_of(talk.create(widget({"size": 0})))
    assert message_of(talk.patch(widget({}), {"spec": {"size": 11}})).endswith("spec: Invalid value: too big")


def test_an_object_is_deleted_once_its_finalizer_is_removed(talk: Talk) -> None:
    finalized: Object = {**config_map(), "metadata": {"name": "cm", "finalizers": ["shop.example/hold"]}}
    talk.create(finalized)
    assert dig(talk.delete(finalized).body or {}, "metadata", "deletionTimestamp")
    assert message_of(talk.create(config_map())).startswith("object is being deleted: ")
    talk.patch(finalized, {"metadata": {"finalizers": None}})
    assert talk.get(finalized).code == 404


@pytest.mark.parametrize(
    ("policy", "stays"), [("Background", False), ("Foreground", False), ("Orphan", True)]
)
def test_owned_objects_go_with_their_owner_unless_orphaned(talk: Talk, policy: str, *, stays: bool) -> None:
    owner = talk.create(config_map("owner")).body or {}
    reference: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": text(dig(owner, "metadata", "uid")),
    }
    child: Object = {**config_map("child"), "metadata": {"name": "child", "ownerReferences": [reference]}}
    assert talk.create(child).code == 201
    talk.delete(config_map("owner"), propagationPolicy=policy)
    talk.api_server.settle()
    assert talk.get(config_map("owner")).code == 404
    assert talk.get(child).ok is stays


def test_a_namespace_takes_its_content_along(talk: Talk) -> None:
    talk.create(config_map())
    shop: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    talk.delete(shop)
    assert "because it is being terminated" in message_of(talk.create(config_map("late")))
    talk.api_server.settle()
    assert talk.get(shop).code == 404
    assert 'namespaces "shop" not found' in message_of(talk.create(config_map()))


def test_a_webhook_without_its_service_stops_writes_or_is_played(talk: Talk) -> None:
    hook: Object = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "guard"},
        "webhooks": [
            {
                "name": "guard.shop.example",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"service": {"namespace": "shop", "name": "guard"}},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ],
            }
        ],
    }
    assert talk.create(hook).code == 201
    assert 'failed calling webhook "guard.shop.example"' in message_of(talk.create(config_map()))
    talk.api_server.webhooks["guard.shop.example"] = lambda obj: {**obj, "data": {"by": "webhook"}}
    assert (talk.create(config_map()).body or {})["data"] == {"by": "webhook"}


def test_a_user_may_do_what_a_role_says(talk: Talk) -> None:
    role: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "writer"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}],
    }
    binding: Object = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "writer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "writer"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dev"}],
    }
    assert talk.create(role).code == talk.create(binding).code == 201
    assert talk.create(config_map(), user="dev").code == 201
    answer = talk.create(deployment(), user="dev")
    assert message_of(answer) == (
        'deployments.apps is forbidden: User "dev" cannot create resource "deployments" in API group "apps" '
        'in the namespace "shop"'
    )


def test_a_quota_is_charged_and_refuses_what_is_over(talk: Talk) -> None:
    quota: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "1"}},
    }
    talk.create(quota)
    status: Json = {"status": {"hard": {"configmaps": "1"}, "used": {"configmaps": "0"}}}
    talk.api_server.send(Request(verb="merge-patch", path=f"{talk.path(quota)}/status", body=status))
    assert talk.create(config_map("a")).code == 201
    assert message_of(talk.create(config_map("b"))).endswith(
        "exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1"
    )


def test_node_ports_and_addresses_are_allocated_once(talk: Talk) -> None:
    def service(name: str, port: int | None = None) -> Object:
        entry: Object = {"port": 80} if port is None else {"port": 80, "nodePort": port}
        spec: Object = {"type": "NodePort", "selector": {"a": "b"}, "ports": [entry]}
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}

    first, second = talk.create(service("a")).body or {}, talk.create(service("b")).body or {}
    assert dig(first, "spec", "clusterIP") != dig(second, "spec", "clusterIP")
    used_port = dig(first, "spec", "ports", 0, "nodePort")
    assert isinstance(used_port, int)
    assert message_of(talk.create(service("c", used_port))).endswith("provided port is already allocated")


def test_deep_bodies_and_odd_paths_get_an_answer(talk: Talk) -> None:
    assert talk.api_server.send(Request(verb="get", path="/nowhere")).text == "404 page not found\n"
    for path in ("/api/v1/namespaces/shop/things", "/apis/apps/v9/namespaces/shop/deployments"):
        assert talk.api_server.send(Request(verb="list", path=path)).code == 404
    bodies: list[Json] = [None, 5, "x", []]
    for body in bodies:
        assert not talk.api_server.send(
            Request(verb="create", path=talk.collection(config_map()), body=body)
        ).ok
    deep: Json = {}
    for _ in range(5000):
        deep = {"a": deep}
    talk.create(definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    answer = talk.create({**widget({}), "spec": deep})
    assert not answer.ok


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), values, max_size=3), values)
def test_a_json_patch_puts_the_value_where_it_says(document: Object, value: Json) -> None:
    patched = apply_json_patch(document, [{"op": "add", "path": "/new", "value": value}])
    assert patched == {**document, "new": value}
    assert apply_json_patch(patched, [{"op": "remove", "path": "/new"}]) == document


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("self.name.startsWith('a') && size(self.name) > 1", True),
        ("has(self.x) ? self.x : 'none'", "none"),
        ("self.list.all(x, x < 3) || false", True),
        ("self.list.exists(x, x == 2)", True),
        ("'b' in ['a', 'b']", True),
        ("self.missing == 1 || true", True),
        ("7 / 2 == 3 && -7 % 2 == -1", True),
        ("self.list.filter(x, x > 1).map(x, x + 1)", [3]),
    ],
)
def test_cel(expression: str, value: Json) -> None:
    assert evaluate(expression, {"self": {"name": "ab", "list": [1, 2]}}) == value


def test_cel_names_the_missing_key() -> None:
    with pytest.raises(CelError, match="no such key: max"):
        evaluate("self.min <= self.max", {"self": {"min": 1}})


def test_a_loaded_object_keeps_its_owners(talk: Talk) -> None:
    live = talk.apply(deployment(replicas=2), "argocd-controller").body or {}
    other = Talk()
    definitions: list[Object] = [definition(SCHEMA), live, widget({"size": 1}), {"kind": "Nothing"}]
    placed: list[Object] = [
        {**obj, "metadata": {**fields(obj.get("metadata")), "namespace": "store"}} for obj in definitions
    ]
    assert other.api_server.load(reversed(placed)) == [placed[3]]
    served = kind_of(other.api_server, "apps/v1", "Deployment")
    assert served is not None
    answer = other.api_server.send(
        Request(verb="ssa", path=served.path("store", "web"), body=deployment(replicas=3), manager="other")
    )
    assert 'conflict with "argocd-controller": .spec.replicas' in message_of(answer)
    kind = kind_of(other.api_server, "shop.example/v1", "Widget")
    assert kind is not None
    assert other.api_server.send(Request(verb="get", path=kind.path("store", "w"))).ok


def test_a_restricted_namespace_turns_pods_away_and_warns_about_workloads(talk: Talk) -> None:
    shop: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    labels: Json = {
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/warn": "restricted",
    }
    talk.patch(shop, {"metadata": {"labels": labels}})
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]},
    }
    assert message_of(talk.create(pod)) == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    )
    assert talk.create(deployment()).ok


def test_an_autoscaler_is_read_in_either_version(talk: Talk) -> None:
    path = "/apis/autoscaling/{}/namespaces/shop/horizontalpodautoscalers"
    body: Object = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 55,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    assert talk.api_server.send(Request(verb="create", path=path.format("v1"), body=body)).code == 201
    newer = talk.api_server.send(Request(verb="get", path=f"{path.format('v2')}/h")).body or {}
    assert dig(newer, "spec", "metrics", 0, "resource", "target", "averageUtilization") == 55
    older = talk.api_server.send(Request(verb="get", path=f"{path.format('v1')}/h")).body or {}
    assert dig(older, "spec", "targetCPUUtilizationPercentage") == 55


def test_an_address_in_a_status_gets_a_mode(talk: Talk) -> None:
    body: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }
    assert talk.create(body).code == 201
    ingress: Json = [{"ip": "192.0.2.1"}, {"hostname": "a.example"}]
    patch: Object = {"status": {"loadBalancer": {"ingress": ingress}}}
    path = f"{talk.path(body)}/status"
    answer = talk.api_server.send(Request(verb="merge-patch", path=path, body=patch))
    expected: Json = [{"ip": "192.0.2.1", "ipMode": "VIP"}, {"hostname": "a.example"}]
    assert dig(answer.body or {}, "status", "loadBalancer", "ingress") == expected
