"""Autoscalers, budgets, quotas, and what every namespace gets."""

from __future__ import annotations

from tests.kubernetes.controllers.playground import Playground, manifest, pod
from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.controllers.behavior import Metric


def deployment(replicas: int | None = 2, requests: Object | None = None) -> Object:
    resources: Object = {"requests": requests if requests is not None else {"cpu": "100m"}}
    container: Object = {"name": "web", "image": "nginx:1", "resources": resources}
    spec: Object = {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return manifest("Deployment", "web", {"spec": spec}, "apps/v1")


def autoscaler(least: int = 1, most: int = 10, target: str = "web") -> Object:
    cpu: Json = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    spec: Object = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target},
        "minReplicas": least,
        "maxReplicas": most,
        "metrics": [{"type": "Resource", "resource": cpu}],
    }
    return manifest("HorizontalPodAutoscaler", "web", {"spec": spec}, "autoscaling/v2")


def metric(after: float = 0, *, replicas: int) -> Metric:
    return Metric(namespace="shop", name="web", after_seconds=after, replicas=replicas)


def replicas(play: Playground) -> int:
    return integer(dig(play.get("deployments", "web", group="apps"), "spec", "replicas"))


def hpa(play: Playground) -> Object:
    return play.get("horizontalpodautoscalers", "web", group="autoscaling")


def condition(play: Playground, kind: str) -> tuple[str, str, str]:
    for raw in items(dig(hpa(play), "status", "conditions")):
        result = fields(raw)
        if result.get("type") == kind:
            return text(result["status"]), text(result["reason"]), text(result["message"])
    return "", "", ""


def health(play: Playground) -> str:
    return play.health("horizontalpodautoscalers", "web", group="autoscaling")


def test_without_a_word_of_the_script_the_number_stays() -> None:
    play = Playground()
    play.create(deployment(), autoscaler())
    play.run(120)
    assert replicas(play) == 2
    assert condition(play, "ScalingActive")[1] == "ValidMetricFound"
    assert condition(play, "AbleToScale")[1] == "ReadyForNewScale"
    assert condition(play, "ScalingLimited")[1] == "DesiredWithinRange"
    assert health(play) == "Healthy"


def test_the_metrics_ask_for_more_and_the_scale_is_written() -> None:
    play = Playground(metrics=(metric(30, replicas=5),))
    play.create(deployment(), autoscaler())
    play.run(29)
    assert replicas(play) == 2
    play.run(60)
    assert replicas(play) == 5
    message = "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    assert ("Normal", "SuccessfulRescale", message) in play.events()  # first as fast as it may
    writers = [
        (fields(raw)["manager"], fields(raw).get("subresource"))
        for raw in items(dig(play.get("deployments", "web", group="apps"), "metadata", "managedFields"))
    ]
    assert ("kube-controller-manager", "scale") in writers


def test_it_stays_between_its_limits() -> None:
    play = Playground(metrics=(metric(replicas=50),))
    play.create(deployment(), autoscaler(most=6))
    play.run(120)
    assert replicas(play) == 6
    assert condition(play, "ScalingLimited") == (
        "True",
        "TooManyReplicas",
        "the desired replica count is more than the maximum replica count",
    )


def test_fewer_only_after_five_minutes() -> None:
    play = Playground(metrics=(metric(replicas=6), metric(60, replicas=1)))
    play.create(deployment(), autoscaler())
    play.run(200)
    assert replicas(play) == 6
    assert condition(play, "AbleToScale")[1] == "ScaleDownStabilized"
    play.run(250)
    assert replicas(play) == 1


def test_below_its_least_number_it_acts_at_once() -> None:
    play = Playground()
    play.create(deployment(1), autoscaler(least=3))
    play.run(1)
    assert replicas(play) == 3
    message = "New size: 3; reason: Current number of replicas below Spec.MinReplicas"
    assert ("Normal", "SuccessfulRescale", message) in play.events()


def test_pods_that_ask_for_nothing_have_no_share() -> None:
    play = Playground()
    play.create(deployment(requests={}), autoscaler())
    play.run(60)
    status, reason, message = condition(play, "ScalingActive")
    assert (status, reason) == ("False", "FailedGetResourceMetric")
    assert "missing request for cpu in container web of Pod web-" in message


def test_a_target_that_is_not_there() -> None:
    play = Playground()
    play.create(autoscaler(target="nope"))
    play.run(30)
    assert condition(play, "AbleToScale") == (
        "False",
        "FailedGetScale",
        'the HPA controller was unable to get the target\'s current scale: deployments.apps "nope" not found',
    )
    assert health(play) == "Degraded"


# -- budgets ------------------------------------------------------------------------------------------


def budget(**spec: Json) -> Object:
    body: Object = {"spec": {"selector": {"matchLabels": {"app": "web"}}, **spec}}
    return manifest("PodDisruptionBudget", "web", body, "policy/v1")


def allowed(play: Playground) -> tuple[int, int, int, int]:
    status = fields(play.get("poddisruptionbudgets", "web", group="policy").get("status"))
    keys = ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")
    return tuple(integer(status.get(key)) for key in keys)  # pyright: ignore[reportReturnType]  # four


def test_a_budget_counts_healthy_pods() -> None:
    play = Playground()
    play.create(budget(minAvailable=1), deployment(3))
    play.run(0)
    assert allowed(play) == (0, 1, 3, 0)
    play.run(30)
    assert allowed(play) == (3, 1, 3, 2)
    assert play.health("poddisruptionbudgets", "web", group="policy") == "Healthy"


def test_a_budget_in_percent_looks_at_the_workload() -> None:
    play = Playground()
    play.create(budget(maxUnavailable="30%"), deployment(3))
    play.run(30)
    assert allowed(play) == (3, 2, 3, 1)


# -- quotas and namespaces ----------------------------------------------------------------------------


def test_a_quota_is_kept_and_freed() -> None:
    play = Playground()
    play.create(manifest("ResourceQuota", "few", {"spec": {"hard": {"pods": "1", "requests.memory": "1Gi"}}}))
    play.run(1)
    asking: Object = {"resources": {"requests": {"memory": "512Mi"}}}
    play.create(pod("one", container=asking))
    play.run(10)
    path = "/api/v1/namespaces/shop/pods"
    answer = play.api_server.send(Request(verb="create", path=path, body=pod("two", container=asking)))
    assert answer.code == 403
    assert "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1" in str(answer.body)
    used = fields(dig(play.get("resourcequotas", "few"), "status", "used"))
    assert used == {"pods": "1", "requests.memory": "512Mi"}
    play.delete("v1", "Pod", "one")
    play.run(40)
    assert play.api_server.send(Request(verb="create", path=path, body=pod("two", container=asking))).ok


def test_every_namespace_gets_its_account_and_certificate() -> None:
    play = Playground()
    play.run(1)
    assert play.find("serviceaccounts", "default") is not None
    assert "ca.crt" in fields(play.get("configmaps", "kube-root-ca.crt")["data"])
    play.delete("v1", "ServiceAccount", "default")
    play.run(1)
    assert play.find("serviceaccounts", "default") is not None
