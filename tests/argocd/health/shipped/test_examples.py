"""One example for each mechanism, written by hand: what a person with that object would see."""

from __future__ import annotations

import pytest

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped import judge, shipped_check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Json, Object

HEALTHY, SUSPENDED, PROGRESSING = HealthCode.HEALTHY, HealthCode.SUSPENDED, HealthCode.PROGRESSING
DEGRADED, UNKNOWN, MISSING = HealthCode.DEGRADED, HealthCode.UNKNOWN, HealthCode.MISSING


def condition(kind: str, status: str, message: str | None = None, **more: Json) -> Object:
    optional: Object = {} if message is None else {"message": message}
    return {"type": kind, "status": status, **optional, **more}


def judged(group: str, kind: str, **parts: Json) -> HealthVerdict:
    check = shipped_check(group, kind)
    assert check is not None
    return judge(check, {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {}, **parts})


def by_conditions(group: str, kind: str, *conditions: Json, **status: Json) -> HealthVerdict:
    return judged(group, kind, status={"conditions": list(conditions), **status})


def test_a_certificate_in_renewal_is_progressing_though_it_is_ready() -> None:
    verdict = by_conditions(
        "cert-manager.io",
        "Certificate",
        condition("Ready", "True", "up"),
        condition("Issuing", "True", "renewing"),
    )
    assert verdict == HealthVerdict(PROGRESSING, "renewing")
    assert by_conditions("cert-manager.io", "Certificate", condition("Ready", "True", "up")) == HealthVerdict(
        HEALTHY, "up"
    )


def test_a_condition_without_a_message_gives_a_verdict_without_one() -> None:
    assert by_conditions("bitnami.com", "SealedSecret", condition("Synced", "False")) == HealthVerdict(
        DEGRADED
    )


class TestCustomResourceDefinition:
    GROUP, KIND = "apiextensions.k8s.io", "CustomResourceDefinition"

    def test_established(self) -> None:
        verdict = by_conditions(self.GROUP, self.KIND, condition("Established", "True", "ok"))
        assert verdict == HealthVerdict(HEALTHY, "CRD is healthy")

    def test_a_bad_schema_shows_even_after_established(self) -> None:
        bad = condition("NonStructuralSchema", "True", "spec.x: must not be empty")
        verdict = by_conditions(self.GROUP, self.KIND, condition("Established", "True", "ok"), bad)
        assert verdict == HealthVerdict(DEGRADED, "Schema violations found: spec.x: must not be empty")

    def test_a_missing_message_is_an_error_where_it_is_part_of_a_sentence(self) -> None:
        verdict = by_conditions(self.GROUP, self.KIND, condition("NamesAccepted", "False"))
        assert verdict == HealthVerdict(UNKNOWN, "cannot perform concat operation between string and nil")

    def test_without_a_status_the_script_fails(self) -> None:
        verdict = judged(self.GROUP, self.KIND)
        assert verdict == HealthVerdict(
            UNKNOWN, "attempt to index a non-table object(nil) with key 'conditions'"
        )

    def test_going_away(self) -> None:
        verdict = judged(self.GROUP, self.KIND, metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"})
        assert verdict == HealthVerdict(PROGRESSING, "CRD is terminating")


class TestRollout:
    def rollout(self, spec: Json = None, metadata: Json = None, **status: Json) -> HealthVerdict:
        return judged(
            "argoproj.io", "Rollout", metadata=metadata or {"generation": 2}, spec=spec or {}, status=status
        )

    def test_the_phase_is_the_verdict(self) -> None:
        assert self.rollout(phase="Degraded", message="bad image") == HealthVerdict(DEGRADED, "bad image")
        assert self.rollout(phase="Paused", message="CanaryPauseStep") == HealthVerdict(
            SUSPENDED, "CanaryPauseStep"
        )

    def test_a_phase_that_argo_cd_does_not_know(self) -> None:
        assert self.rollout(phase="Dreaming") == HealthVerdict(
            UNKNOWN, "Lua returned an invalid health status"
        )

    @pytest.mark.parametrize(("observed", "waits"), [("1", True), ("2", False), (3, False), ("6c6b", False)])
    def test_a_generation_that_is_not_observed_yet(self, observed: Json, waits: bool) -> None:
        result = self.rollout(phase="Healthy", observedGeneration=observed)
        assert (result.message == "Waiting for rollout spec update to be observed") is waits

    def test_a_workload_generation_that_is_not_observed_yet(self) -> None:
        metadata: Object = {
            "generation": 2,
            "annotations": {"rollout.argoproj.io/workload-generation": "5"},
        }
        waiting = self.rollout({"workloadRef": {}}, metadata, phase="Healthy", workloadObservedGeneration="4")
        observed = self.rollout(
            {"workloadRef": {}}, metadata, phase="Healthy", workloadObservedGeneration="5"
        )
        assert (waiting.code, observed.code) == (PROGRESSING, HEALTHY)

    def test_an_old_controller_without_phases(self) -> None:
        counts: Object = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
        strategy: Object = {"replicas": 2, "strategy": {"canary": {}}}
        status: Object = {"conditions": [], "currentPodHash": "abc", **counts}
        assert self.rollout(strategy, **status).message == "Waiting for rollout to finish steps"
        assert self.rollout(strategy, **status, stableRS="abc") == HealthVerdict(HEALTHY)
        assert self.rollout(strategy, **status, canary={"stableRS": "abc"}) == HealthVerdict(HEALTHY)
        assert self.rollout(strategy | {"replicas": 3}, **status).message.endswith("need to be updated")


class TestCrossplane:
    GROUP = "ec2.aws.upbound.io"

    def test_ready_does_not_hide_what_is_not_synced(self) -> None:
        conditions = condition("Ready", "True"), condition("Synced", "False", "no permission")
        assert by_conditions(self.GROUP, "VPC", *conditions) == HealthVerdict(DEGRADED, "no permission")

    def test_no_status_at_all_is_up_to_date(self) -> None:
        assert judged(self.GROUP, "VPC") == HealthVerdict(HEALTHY, "Resource is up-to-date.")

    def test_an_empty_status_is_enough_for_kinds_that_never_have_one(self) -> None:
        assert judged(self.GROUP, "VPC", status={}).code == PROGRESSING
        assert judged(self.GROUP, "ProviderConfig", status={}).code == HEALTHY
        assert judged(self.GROUP, "ProviderConfig", status={"users": 2}).message == "Resource is in use."

    def test_upbound_knows_ready_only_and_crossplane_more(self) -> None:
        healthy = condition("Healthy", "True")
        assert by_conditions(self.GROUP, "VPC", healthy).code == PROGRESSING
        assert by_conditions("pkg.crossplane.io", "Function", healthy).code == HEALTHY


class TestGatewayApi:
    GROUP = "gateway.networking.k8s.io"

    def route(self, kind: str, *conditions: Json) -> HealthVerdict:
        parent: Object = {"parentRef": {"name": "public"}, "conditions": list(conditions)}
        return judged(self.GROUP, kind, metadata={"generation": 2}, status={"parents": [parent]})

    def test_a_route_that_its_gateway_refuses(self) -> None:
        refused = condition("Accepted", "False", "no matching listener", observedGeneration=2)
        expected = HealthVerdict(DEGRADED, "Parent public: no matching listener")
        assert self.route("HTTPRoute", refused) == self.route("GRPCRoute", refused) == expected

    def test_an_outdated_complaint_counts_for_grpc_only(self) -> None:
        old = condition("Accepted", "False", "no matching listener", observedGeneration=1)
        assert self.route("HTTPRoute", old) == HealthVerdict(PROGRESSING, "Waiting for HTTPRoute status")
        assert self.route("GRPCRoute", old).code == DEGRADED

    def test_unresolved_references_go_before_not_accepted(self) -> None:
        refused, unresolved = condition("Accepted", "False", "a"), condition("ResolvedRefs", "False")
        result = self.route("GRPCRoute", refused, unresolved)
        assert result == HealthVerdict(DEGRADED, "Parent public: Failed condition: ResolvedRefs")

    def test_a_listener_still_being_programmed(self) -> None:
        listener: Object = {"conditions": [condition("Programmed", "Unknown")]}
        verdict = judged(self.GROUP, "Gateway", status={"conditions": [], "listeners": [listener]})
        assert verdict == HealthVerdict(PROGRESSING, "Listener: Listener is still being programmed")

    def test_a_policy_names_the_ancestor_that_lags(self) -> None:
        ancestor: Object = {
            "ancestorRef": {"name": "public"},
            "conditions": [condition("Accepted", "True", observedGeneration=1)],
        }
        status: Object = {"ancestors": [ancestor]}
        verdict = judged(self.GROUP, "BackendTLSPolicy", metadata={"generation": 2}, status=status)
        assert verdict.message == "Waiting for Ancestor public to update BackendTLSPolicy status"
        verdict = judged(self.GROUP, "BackendTLSPolicy", metadata={"generation": 1}, status=status)
        assert verdict == HealthVerdict(HEALTHY, "BackendTLSPolicy is healthy")


def test_ceph_tells_health_details_in_order_state_and_its_own_message() -> None:
    ceph: Object = {
        "health": "HEALTH_WARN",
        "details": {"POOL_FULL": {"message": "pool is full"}, "MON_DOWN": {"message": "1/3 mons down"}},
    }
    verdict = judged(
        "ceph.rook.io", "CephCluster", status={"ceph": ceph, "state": "Created", "message": "ok"}
    )
    assert verdict == HealthVerdict(DEGRADED, "Ceph health is HEALTH_WARN (1/3 mons down; pool is full) - ok")
    fine: Object = {"ceph": {"health": "HEALTH_OK"}, "state": "Updating"}
    verdict = judged("ceph.rook.io", "CephCluster", status=fine)
    assert verdict == HealthVerdict(PROGRESSING, "Ceph health is HEALTH_OK - Ceph cluster state is Updating")


def test_config_connector_looks_at_conditions_of_this_generation_only() -> None:
    status: Object = {
        "observedGeneration": 1,
        "conditions": [condition("Ready", "False", "quota", reason="UpdateFailed")],
    }
    group = "sql.cnrm.cloud.google.com"
    assert judged(group, "SQLInstance", metadata={"generation": 1}, status=status) == HealthVerdict(
        DEGRADED, "quota"
    )
    assert judged(group, "SQLInstance", metadata={"generation": 2}, status=status).code == PROGRESSING


def test_a_canary_tells_phase_weight_and_conditions() -> None:
    status: Object = {
        "canaryWeight": 20,
        "phase": "Progressing",
        "conditions": [condition("Promoted", "Unknown", "on")],
    }
    verdict = judged("flagger.app", "Canary", status=status)
    assert verdict == HealthVerdict(PROGRESSING, "Progressing --- Canary Weight: 20 % --- on")
    verdict = judged("flagger.app", "Canary", status={"phase": "Failed", "conditions": []})
    assert verdict == HealthVerdict(UNKNOWN, "attempt to compare number with nil")


def test_the_last_condition_of_a_cluster_external_secret_decides() -> None:
    group, kind = "external-secrets.io", "ClusterExternalSecret"
    conditions = condition("NotReady", "True", "old"), condition("Ready", "True", "new")
    assert by_conditions(group, kind, *conditions) == HealthVerdict(HEALTHY, "new")
    assert by_conditions(group, kind).code == UNKNOWN


def test_a_3scale_application_with_a_number_waits_and_without_one_is_degraded() -> None:
    group, not_ready = "capabilities.3scale.net", condition("Ready", "False")
    verdict = by_conditions(group, "Application", not_ready)
    assert verdict == HealthVerdict(DEGRADED, "3scale Application is not ready")
    assert by_conditions(group, "Application", not_ready, adminId=4).code == PROGRESSING


@pytest.mark.parametrize(
    ("partition", "updated", "expected"),
    [
        (0, 3, HealthVerdict(HEALTHY, "All Statefulset workloads are ready and updated")),
        (2, 2, HealthVerdict(SUSPENDED, "Statefulset needs manual intervention")),
        (2, 1, HealthVerdict(PROGRESSING, "Waiting for initialization")),
    ],
)
def test_a_partition_of_kruise_holds_back_the_rest(
    partition: int, updated: int, expected: HealthVerdict
) -> None:
    verdict = judged(
        "apps.kruise.io",
        "StatefulSet",
        metadata={"generation": 2},
        spec={"updateStrategy": {"rollingUpdate": {"partition": partition}}},
        status={
            "observedGeneration": 2,
            "replicas": 3,
            "updatedReplicas": updated,
            "updatedAvailableReplicas": 3,
        },
    )
    assert verdict == expected


def test_elasticsearch_counts_the_nodes_of_all_sets() -> None:
    spec: Object = {"nodeSets": [{"count": 2}, {"count": 3}]}
    group, kind = "elasticsearch.k8s.elastic.co", "Elasticsearch"
    verdict = judged(
        group, kind, spec=spec, status={"availableNodes": 4, "phase": "Ready", "health": "green"}
    )
    assert verdict.message == "The desired amount of availableNodes is 5 but the current amount is 4"
    verdict = judged(
        group, kind, spec=spec, status={"availableNodes": 5, "phase": "Ready", "health": "green"}
    )
    assert verdict.code == HEALTHY


def test_a_machine_pool_lists_what_is_not_well() -> None:
    conditions = (
        condition("Ready", "False", reason="Scaling"),
        condition("Bootstrap", "False"),
        condition("Infra", "True"),
    )
    verdict = by_conditions("cluster.x-k8s.io", "MachinePool", *conditions, phase="Provisioning")
    assert verdict == HealthVerdict(
        PROGRESSING, "MachinePool is Provisioning: Not Ready (Scaling), Not Bootstrap"
    )


def test_a_control_plane_tells_all_errors_unless_it_is_ready() -> None:
    group, kind = "controlplane.cluster.x-k8s.io", "AWSManagedControlPlane"
    errors = [condition(name, "False", name, severity="Error") for name in ("a", "b")]
    assert by_conditions(group, kind, *errors) == HealthVerdict(DEGRADED, "a b ")
    assert by_conditions(group, kind, *errors, condition("Ready", "True")).code == HEALTHY


def test_kinds_with_a_state_take_it_from_a_table() -> None:
    assert judged("core.humio.com", "HumioView", status={"state": "NotFound"}).code == MISSING
    assert judged("core.humio.com", "HumioView").code == PROGRESSING
    shoot = judged(
        "core.gardener.cloud", "Shoot", metadata={"labels": {"shoot.gardener.cloud/status": "unhealthy"}}
    )
    assert shoot == HealthVerdict(DEGRADED, "Component state: Unhealthy")


def test_a_phase_that_a_table_does_not_know_may_end_without_an_answer() -> None:
    assert judged("argoproj.io", "Experiment", status={"phase": "New"}) == HealthVerdict(None)


@pytest.mark.parametrize("state", ["Accepted", 1])
def test_gloo_writes_states_as_words_or_numbers(state: Json) -> None:
    statuses: Object = {"gloo-system": {"state": "Other"}, "public": {"state": state}}
    assert judged("gateway.solo.io", "RouteTable", status={"statuses": statuses}).code == HEALTHY
    assert judged("gloo.solo.io", "Upstream", status={"state": state}).code == HEALTHY
