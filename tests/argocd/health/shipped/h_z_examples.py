"""Small objects of the groups h to z with the answers of Argo CD 3.6: some for every way of judging."""

from __future__ import annotations

from dataclasses import dataclass

from whysync.json_tree import Json, Object


@dataclass(frozen=True, slots=True)
class Example:
    situation: str
    group: str
    obj: Object
    code: str | None
    message: str | None  # None: the words of an error, which carry a line number upstream

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])


def condition(kind: str, status: str, **more: Json) -> Json:
    return {"type": kind, "status": status, **more}


def thing(kind: str, status: Json = None, spec: Json = None, metadata: Json = None) -> Object:
    """`None` leaves the part out."""
    parts: Object = {"kind": kind, "metadata": metadata, "spec": spec, "status": status}
    return {name: value for name, value in parts.items() if value is not None}


def with_conditions(kind: str, *conditions: Json, **status: Json) -> Object:
    return thing(kind, {"conditions": list(conditions), **status}, spec={}, metadata={"generation": 1})


def _environment(active: str, proposed: str, **more: Json) -> Json:
    return {
        "branch": "env/dev",
        "active": {"dry": {"sha": active}, **more},
        "proposed": {"dry": {"sha": proposed}, "commitStatuses": [{"key": "lint", "phase": "pending"}]},
    }


_PROMOTER = "promoter.argoproj.io"
_READY = condition("Ready", "True", observedGeneration=1)
_CRUISE = {"cruiseControlState": "GracefulUpscaleSucceeded"}
_BROKER: Json = {"configurationState": "ConfigInSync", "gracefulActionState": dict(_CRUISE)}

EXAMPLES = [
    Example(
        "flux_suspended",
        "kustomize.toolkit.fluxcd.io",
        thing("Kustomization", spec={"suspend": True}),
        "Suspended",
        "Kustomization is suspended",
    ),
    Example(
        "flux_without_spec_trips",
        "kustomize.toolkit.fluxcd.io",
        thing("Kustomization", {"conditions": []}),
        "Unknown",
        None,
    ),
    Example(
        "flux_ready_but_release_missing",
        "helm.toolkit.fluxcd.io",
        with_conditions("HelmRelease", condition("Ready", "True", reason="InstallSucceeded")),
        "Degraded",
        "InstallSucceeded",
    ),
    Example(
        "flux_artifact_outdated",
        "source.toolkit.fluxcd.io",
        with_conditions(
            "GitRepository",
            condition("Ready", "Unknown", reason="Progressing"),
            condition("Reconciling", "True", reason="NewRevision"),
            condition("ArtifactOutdated", "True", reason="NewRevision"),
        ),
        "Progressing",
        "Progressing NewRevision",
    ),
    Example(
        "flux_scanning",
        "image.toolkit.fluxcd.io",
        with_conditions(
            "ImageRepository",
            condition("Ready", "False", reason="Failed"),
            condition("Reconciling", "True", reason="Scanning"),
        ),
        "Progressing",
        "Failed",
    ),
    Example(
        "flux_receiver_reconciling",
        "notification.toolkit.fluxcd.io",
        with_conditions(
            "Receiver",
            condition("Ready", "False", reason="Failed"),
            condition("Reconciling", "True", reason="Scanning"),
        ),
        "Degraded",
        "Failed",
    ),
    Example(
        "crossplane_paused",
        "s3.aws.crossplane.io",
        with_conditions("Bucket", condition("Synced", "False", reason="ReconcilePaused")),
        "Suspended",
        "ReconcilePaused",
    ),
    Example(
        "crossplane_synced_not_ready",
        "route53.aws.crossplane.io",
        with_conditions("ResourceRecordSet", condition("Synced", "True"), condition("Ready", "False")),
        "Progressing",
        "Waiting for resourcrecordset to be available",
    ),
    Example(
        "crossplane_out_of_sync",
        "iam.aws.crossplane.io",
        with_conditions("Role", condition("Synced", "False", reason="ReconcileError", message="denied")),
        "Degraded",
        "denied",
    ),
    Example(
        "role_retried",
        "iammanager.keikoproj.io",
        thing("Iamrole", {"state": "Error", "retryCount": 2, "roleName": "r", "errorDescription": "no"}),
        "Degraded",
        "Failed to reconcile the Iamrole (retry 2) for role 'r' with ARN '<none>' and ID '<none>'."
        " Reconciliation error was: no",
    ),
    Example("istio_number", "install.istio.io", thing("IstioOperator", {"status": 3}), "Healthy", None),
    Example(
        "keycloak_oldest_first",
        "k8s.keycloak.org",
        with_conditions(
            "Keycloak",
            condition("HasErrors", "True", message="bad", lastTransitionTime="2024-02-01T00:00:00Z"),
            condition("Ready", "True", lastTransitionTime="2024-01-01T00:00:00Z"),
        ),
        "Healthy",
        "",
    ),
    Example(
        "mariadb_last_word",
        "k8s.mariadb.com",
        with_conditions("Database", condition("Other", "True", message="creating")),
        "Progressing",
        "creating",
    ),
    Example(
        "mariadb_cron_job_failed",
        "k8s.mariadb.com",
        with_conditions(
            "Backup", condition("Complete", "False", reason="CronJobScheduled", message="Failed")
        ),
        "Degraded",
        "CronJobScheduled Failed",
    ),
    Example("mariadb_no_conditions_yet", "mariadb.mmontes.io", with_conditions("MariaDB"), "Healthy", ""),
    Example(
        "koperator_running",
        "kafka.banzaicloud.io",
        thing(
            "KafkaCluster",
            {
                "state": "ClusterRunning",
                "cruiseControlTopicStatus": "CruiseControlTopicReady",
                "brokersState": {"0": _BROKER},
            },
        ),
        "Healthy",
        "Kafka Brokers, CruiseControl and cluster are in Healthy State.",
    ),
    Example(
        "strimzi_creating",
        "kafka.strimzi.io",
        with_conditions("Kafka", condition("NotReady", "True", reason="Creating", message="soon")),
        "Progressing",
        "Waiting for Kafka Cluster",
    ),
    Example(
        "karpenter_disrupting_before_ready",
        "karpenter.sh",
        with_conditions("NodeClaim", _READY, condition("Disrupting", "True", message="consolidated")),
        "Suspended",
        "consolidated",
    ),
    Example(
        "keda_paused",
        "keda.sh",
        with_conditions("ScaledObject", _READY, condition("Paused", "True", message="paused")),
        "Suspended",
        "paused",
    ),
    Example(
        "keda_fallback",
        "keda.sh",
        with_conditions("ScaledObject", _READY, condition("Fallback", "True", message="no metrics")),
        "Degraded",
        "no metrics",
    ),
    Example(
        "external_secret_error",
        "kubernetes-client.io",
        thing("ExternalSecret", {"status": "ERROR, not found"}),
        "Degraded",
        "not found",
    ),
    Example(
        "external_secret_odd_status_trips",
        "kubernetes-client.io",
        thing("ExternalSecret", {"status": 5}),
        "Unknown",
        None,
    ),
    Example(
        "vm_starting",
        "kubevirt.io",
        with_conditions("VirtualMachine", condition("Ready", "False"), created=True),
        "Progressing",
        "Starting",
    ),
    Example(
        "vm_stopped_printed",
        "kubevirt.io",
        with_conditions("VirtualMachine", condition("Ready", "False"), printableStatus="Halted"),
        "Suspended",
        "Halted",
    ),
    Example(
        "vmi_succeeded",
        "kubevirt.io",
        with_conditions("VirtualMachineInstance", _READY, phase="Succeeded"),
        "Suspended",
        "Succeeded",
    ),
    Example("keptn_without_status_trips", "lifecycle.keptn.sh", thing("KeptnTask"), "Unknown", None),
    Example(
        "keptn_metric_error",
        "metrics.keptn.sh",
        thing("KeptnMetric", {"errMsg": "no data", "value": "3"}),
        "Degraded",
        "KeptnMetric is degraded",
    ),
    Example(
        "airlock_other_kind",
        "microgateway.airlock.com",
        thing("HeaderRewrites"),
        "Healthy",
        "HeaderRewrites is healthy",
    ),
    Example(
        "airlock_refused",
        "microgateway.airlock.com",
        thing(
            "ContentSecurityPolicy",
            {
                "ancestors": [
                    {
                        "ancestorRef": {"name": "gw"},
                        "conditions": [
                            condition("Accepted", "False", message="conflict", observedGeneration=1)
                        ],
                    }
                ]
            },
            metadata={"generation": 1},
        ),
        "Degraded",
        "Ancestor gw: conflict",
    ),
    Example(
        "minio_any_other_state",
        "minio.min.io",
        thing("Tenant", {"currentState": "Polishing"}),
        "Progressing",
        "Polishing",
    ),
    Example(
        "prometheus_pods_missing",
        "monitoring.coreos.com",
        with_conditions("Prometheus", condition("Available", "Degraded", reason="SomePodsNotReady")),
        "Progressing",
        "SomePodsNotReady",
    ),
    Example(
        "nmstate_ignored",
        "nmstate.io",
        with_conditions(
            "NodeNetworkConfigurationPolicy",
            condition("Available", "False"),
            condition("Ignored", "True", reason="NoMatchingNode", message="none"),
        ),
        "Suspended",
        "NoMatchingNode: none",
    ),
    Example(
        "numaflow_part_ill",
        "numaflow.numaproj.io",
        with_conditions(
            "Vertex",
            condition("PodsHealthy", "False", message="crash"),
            phase="Running",
            observedGeneration=1,
        ),
        "Degraded",
        "crash",
    ),
    Example(
        "numaflow_upgrade_failed",
        "numaflow.numaproj.io",
        thing(
            "Pipeline",
            {"phase": "Running"},
            metadata={"labels": {"numaplane.numaproj.io/progressive-result-state": "failed"}},
        ),
        "Degraded",
        "Failed progressive upgrade",
    ),
    Example(
        "numaplane_failed_upgrade_goes_before_update",
        "numaplane.numaproj.io",
        with_conditions(
            "PipelineRollout",
            condition("ProgressiveUpgradeSucceeded", "False"),
            upgradeInProgress="Progressive",
            observedGeneration=1,
        ),
        "Degraded",
        "Progressive upgrade failed",
    ),
    Example(
        "storage_cluster_worst_first",
        "ocs.openshift.io",
        with_conditions(
            "StorageCluster",
            condition("Available", "True", message="fine"),
            condition("Progressing", "True", message="moving"),
        ),
        "Progressing",
        "moving",
    ),
    Example(
        "function_asleep",
        "openfaas.com",
        with_conditions("Function", _READY, replicas=0),
        "Suspended",
        "No replicas available",
    ),
    Example(
        "collector_partly_up",
        "opentelemetry.io",
        thing("OpenTelemetryCollector", {"scale": {"statusReplicas": "1/3"}}),
        "Progressing",
        "Replicas are starting up",
    ),
    Example(
        "collector_unreadable",
        "opentelemetry.io",
        thing("OpenTelemetryCollector", {"scale": {"statusReplicas": "all"}}),
        "Progressing",
        "Unable to parse replica status: all",
    ),
    Example(
        "knative_operator_lists_conditions",
        "operator.knative.dev",
        with_conditions(
            "KnativeEventing", condition("Ready", "True"), condition("InstallSucceeded", "False")
        ),
        "Degraded",
        "1: Ready | True\n2: InstallSucceeded | False\n",
    ),
    Example(
        "victoria_failed_without_reason",
        "operator.victoriametrics.com",
        thing("VMAgent", {"updateStatus": "failed", "reason": ""}),
        "Degraded",
        "Reconciliation failed",
    ),
    Example(
        "subscription_waits_for_approval",
        "operators.coreos.com",
        thing(
            "Subscription",
            {
                "installedCSV": "a.v1",
                "state": "UpgradePending",
                "conditions": [condition("InstallPlanPending", "True", reason="RequiresApproval")],
            },
            spec={"installPlanApproval": "Manual"},
        ),
        "Healthy",
        ".status.state is 'UpgradePending' (manual InstallPlan approval pending; treated as healthy)\n",
    ),
    Example(
        "subscription_unresolved",
        "operators.coreos.com",
        with_conditions("Subscription", condition("ResolutionFailed", "True")),
        "Degraded",
        "1: ResolutionFailed | True\n.status.state not yet known\n",
    ),
    Example(
        "provider_without_healthy_trips",
        "pkg.crossplane.io",
        with_conditions("Provider", condition("Installed", "True", reason="ActivePackageRevision")),
        "Unknown",
        None,
    ),
    Example(
        "connector_error",
        "platform.confluent.io",
        with_conditions("Connector", condition("x", "False", message="task died"), state="ERROR"),
        "Degraded",
        "task died",
    ),
    Example(
        "policy_names_clusters",
        "policy.open-cluster-management.io",
        thing(
            "Policy",
            {
                "compliant": "NonCompliant",
                "status": [
                    {"clustername": "a", "compliant": "NonCompliant"},
                    {"clustername": "b", "compliant": "Compliant"},
                    {"clustername": "c"},
                ],
            },
            spec={},
        ),
        "Degraded",
        "NonCompliant clusters: a, c",
    ),
    Example(
        "policy_details_joined",
        "policy.open-cluster-management.io",
        thing(
            "ConfigurationPolicy",
            {
                "compliant": "Compliant",
                "compliancyDetails": [
                    {"conditions": [{"type": "notification", "message": "found"}, {"type": "silent"}]},
                    {"conditions": [{"type": "notification", "message": "also"}]},
                ],
            },
            metadata={},
        ),
        "Healthy",
        "notification - found; notification - also",
    ),
    Example(
        "budget_with_too_few_pods",
        "policy",
        with_conditions(
            "PodDisruptionBudget", condition("DisruptionAllowed", "False", reason="InsufficientPods")
        ),
        "Healthy",
        "PodDisruptionBudget has InsufficientPods",
    ),
    Example(
        "postgres_hibernating",
        "postgresql.cnpg.io",
        with_conditions(
            "Cluster",
            condition("cnpg.io/hibernation", "True", message="asleep"),
            phase="Cluster in healthy state",
        ),
        "Suspended",
        "asleep",
    ),
    Example(
        "postgres_reconciliation_off",
        "postgresql.cnpg.io",
        thing("Cluster", metadata={"annotations": {"cnpg.io/reconciliationLoop": "disabled"}}),
        "Suspended",
        "Cluster reconciliation is suspended",
    ),
    Example("postgres_without_status_trips", "postgresql.cnpg.io", thing("Cluster"), "Unknown", None),
    Example(
        "service_not_advertised",
        "proclaim.dogmatiq.io",
        with_conditions(
            "DNSSDServiceInstance",
            condition("Advertised", "False", reason="AdvertiseError", message="refused"),
        ),
        "Degraded",
        "refused",
    ),
    Example(
        "proxy_with_inclusions",
        "projectcontour.io",
        thing(
            "HTTPProxy",
            {"conditions": [condition("Valid", "False", observedGeneration=1)], "description": "orphan"},
            spec={"includes": []},
            metadata={"generation": 1},
        ),
        "Healthy",
        "HTTPProxy inclusions cannot be health checked",
    ),
    Example(
        "promoter_failed_with_reason",
        _PROMOTER,
        with_conditions("GitRepository", condition("Ready", "False", reason="Denied")),
        "Degraded",
        "Git repository not ready (Denied): Unknown error",
    ),
    Example(
        "promoter_deleting_with_finalizer",
        _PROMOTER,
        thing(
            "PullRequest",
            metadata={
                "deletionTimestamp": "2024-01-01T00:00:00Z",
                "finalizers": ["example.com/other", "pullrequest.promoter.argoproj.io/finalizer"],
            },
        ),
        "Progressing",
        "Pull request is being deleted. pullrequest.promoter.argoproj.io/finalizer: Waiting for SCM closure "
        "or reconciliation of the pull request. Risk if removed manually: "
        "the real PR can stay open after the CR is gone.",
    ),
    Example(
        "promoter_environments_pending",
        _PROMOTER,
        with_conditions("TimedCommitStatus", _READY, environments=[{"branch": "a"}, {"phase": "later"}]),
        "Progressing",
        "Timed commit gate pending for branch(es): a, ?",
    ),
    Example(
        "promotion_under_way",
        _PROMOTER,
        with_conditions("PromotionStrategy", _READY, environments=[_environment("a" * 40, "b" * 40)]),
        "Progressing",
        "Promotion in progress for environment 'env/dev' from 'aaaaaaa' to 'bbbbbbb': 1 pending, "
        "0 successful, 0 failed. Pending commit statuses: lint. "
        "Hydrator has processed dry commit 'bbbbbbb'. ",
    ),
    Example(
        "promotion_done_but_red",
        _PROMOTER,
        with_conditions(
            "PromotionStrategy",
            _READY,
            environments=[_environment("abc", "abc", commitStatuses=[{"key": "e2e", "phase": "failure"}])],
        ),
        "Healthy",
        "Environments are up-to-date, but some environments have non-successful commit statuses: "
        "env/dev (1 failed, 0 pending).",
    ),
    Example(
        "transfer_up_to_date",
        _PROMOTER,
        with_conditions(
            "ChangeTransferPolicy",
            _READY,
            active={"dry": {"sha": "abc"}},
            proposed={"dry": {"sha": "abc"}},
        ),
        "Healthy",
        "Environment is up-to-date on commit abc.",
    ),
    Example(
        "xtradb_errors_joined",
        "pxc.percona.com",
        thing("PerconaXtraDBCluster", {"state": "error", "message": ["one", "two"]}),
        "Degraded",
        "Cluster is on error: one, two",
    ),
    Example(
        "mongodb_counts_nodes",
        "psmdb.percona.com",
        thing("PerconaServerMongoDB", {"state": "paused", "ready": 0, "size": 3.0}),
        "Suspended",
        "0/3 node(s) are ready",
    ),
    Example(
        "rabbit_cluster_forming",
        "rabbitmq.com",
        with_conditions(
            "RabbitmqCluster", condition("ClusterAvailable", "False"), condition("AllReplicasReady", "False")
        ),
        "Progressing",
        "Waiting for RabbitMQ cluster formation",
    ),
    Example(
        "rabbit_user_ready",
        "rabbitmq.com",
        with_conditions("User", condition("Ready", "True", reason="SuccessfulCreateOrUpdate")),
        "Healthy",
        "RabbitMQ user ready",
    ),
    Example(
        "kruise_paused",
        "rollouts.kruise.io",
        thing(
            "Rollout",
            {"phase": "Progressing", "canaryStatus": {"currentStepState": "StepPaused"}},
            metadata={},
        ),
        "Suspended",
        "Rollout is Paused need manual intervention",
    ),
    Example(
        "route_of_two_routers_refused_by_one",
        "route.openshift.io",
        thing(
            "Route",
            {
                "ingress": [
                    {"conditions": [condition("Admitted", "True")]},
                    {"conditions": [condition("Admitted", "False")]},
                ]
            },
        ),
        "Degraded",
        "Route is degraded",
    ),
    Example(
        "sap_failed",
        "services.cloud.sap.com",
        with_conditions("ServiceInstance", condition("Succeeded", "False", observedGeneration=1)),
        "Degraded",
        "",
    ),
    Example(
        "knative_service_complains",
        "serving.knative.dev",
        with_conditions(
            "Service", condition("Ready", "Unknown", reason="Deploying"), condition("RoutesReady", "True")
        ),
        "Progressing",
        "Ready is Unknown, since Deploying.\n",
    ),
    Example(
        "inference_model_blocked",
        "serving.kserve.io",
        with_conditions(
            "InferenceService",
            condition("PredictorReady", "False", message="oom"),
            modelStatus={"transitionStatus": "BlockedByFailedLoad"},
        ),
        "Degraded",
        "0: transitionStatus | BlockedByFailedLoad | 1: PredictorReady | False | oom",
    ),
    Example(
        "snapshot_error",
        "snapshot.storage.k8s.io",
        thing("VolumeSnapshot", {"readyToUse": False, "error": {"message": "full"}}),
        "Degraded",
        "full",
    ),
    Example(
        "solr_node_down",
        "solr.apache.org",
        thing("SolrCloud", {"solrNodes": [{"ready": True}, {"ready": False}]}),
        "Progressing",
        "Not all replicas are ready",
    ),
    Example(
        "spark_within_range",
        "sparkoperator.k8s.io",
        thing(
            "SparkApplication",
            {"applicationState": {"state": "RUNNING"}, "executorState": {"a": "RUNNING", "b": "PENDING"}},
            spec={
                "executor": {"instances": 5},
                "sparkConf": {
                    "spark.dynamicAllocation.enabled": "true",
                    "spark.dynamicAllocation.maxExecutors": "2",
                },
            },
        ),
        "Healthy",
        "SparkApplication is Running",
    ),
    Example(
        "spark_too_many",
        "sparkoperator.k8s.io",
        thing(
            "SparkApplication",
            {"applicationState": {"state": "RUNNING"}, "executorState": {"a": "RUNNING", "b": "RUNNING"}},
            spec={"executor": {}, "dynamicAllocation": {"enabled": True, "maxExecutors": 1}},
        ),
        "Progressing",
        "Waiting for Executor pods",
    ),
    Example("spot_says_nothing", "spot.io", thing("SpotDeployment", {}), None, ""),
    Example(
        "stack_says_why",
        "stacks.crossplane.io",
        thing(
            "ClusterStackInstall",
            {"conditionedStatus": {"conditions": [condition("Ready", "False", reason="Creating")]}},
        ),
        "Progressing",
        "Creating",
    ),
    Example(
        "job_canceled",
        "tower.ansible.com",
        thing("AnsibleJob", {"ansibleJobResult": {"status": "canceled", "url": "https://tower/1"}}),
        "Degraded",
        "canceled job - https://tower/1",
    ),
    Example(
        "binding_of_a_dependency",
        "work.karmada.io",
        thing("ResourceBinding", {"aggregatedStatus": [{"health": "Unknown", "applied": True}]}, spec={}),
        "Healthy",
        "",
    ),
    Example(
        "binding_not_reported_by_all",
        "work.karmada.io",
        thing(
            "ClusterResourceBinding",
            {"aggregatedStatus": [{"health": "Healthy"}]},
            spec={"clusters": [{"name": "a"}, {"name": "b"}]},
        ),
        "Progressing",
        "Current resource status is insufficient",
    ),
    Example(
        "zookeeper_without_counts",
        "zookeeper.pravega.io",
        thing("ZookeeperCluster", {}),
        "Healthy",
        "All ZK Nodes have joined the ensemble",
    ),
    Example(
        "message_that_is_no_text_empties_the_answer",
        "karpenter.sh",
        with_conditions("NodePool", condition("Ready", "True", message=5)),
        None,
        "",
    ),
]
