"""The health checks that Argo CD ships for custom kinds, as tables.

A module per vendor or subject has the tables of several API groups: `CHECKS[group][kind]` is a check, and the
kind `*` means all kinds of a group. `GROUPS` has the module of each group; a module is imported when
the health of an object of one of its groups is assessed, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.shipped.lua import LuaError
from whysync.argocd.health.shipped.vocabulary import Check
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object

_EVERY_KIND: Final = "*"

GROUPS: Final = {
    "argo": "argoproj.io numaflow.numaproj.io numaplane.numaproj.io",
    "cloud_providers": (
        "iammanager.keikoproj.io karpenter.k8s.aws karpenter.sh networking.gke.io pulumi.com "
        "services.cloud.sap.com spot.io"
    ),
    "cluster_management": (
        "addons.cluster.x-k8s.io cluster.x-k8s.io controlplane.cluster.x-k8s.io core.gardener.cloud "
        "policy.open-cluster-management.io work.karmada.io"
    ),
    "crossplane": (
        "cloudfront.aws.crossplane.io iam.aws.crossplane.io pkg.crossplane.io rds.aws.crossplane.io "
        "route53.aws.crossplane.io s3.aws.crossplane.io stacks.crossplane.io"
    ),
    "databases": (
        "acid.zalan.do clickhouse-keeper.altinity.com clickhouse.altinity.com db.atlasgo.io "
        "k8s.mariadb.com mariadb.mmontes.io postgresql.cnpg.io psmdb.percona.com pxc.percona.com "
        "solr.apache.org"
    ),
    "flux": (
        "flagger.app helm.toolkit.fluxcd.io image.toolkit.fluxcd.io kustomize.toolkit.fluxcd.io "
        "notification.toolkit.fluxcd.io source.toolkit.fluxcd.io"
    ),
    "kruise": "apps.kruise.io game.kruise.io rollouts.kruise.io",
    "kubernetes": "apiextensions.k8s.io batch gateway.networking.k8s.io policy snapshot.storage.k8s.io",
    "networking": (
        "gateway.solo.io gloo.solo.io install.istio.io microgateway.airlock.com proclaim.dogmatiq.io "
        "projectcontour.io"
    ),
    "observability": (
        "beat.k8s.elastic.co coralogix.com core.humio.com datadoghq.com elasticsearch.k8s.elastic.co "
        "grafana-org-operator.kubitus-project.gitlab.io grafana.integreatly.org jaegertracing.io "
        "kiali.io logstash.k8s.elastic.co monitoring.coreos.com opentelemetry.io "
        "operator.victoriametrics.com"
    ),
    "promoter": "promoter.argoproj.io",
    "red_hat": (
        "apps.3scale.net apps.openshift.io capabilities.3scale.net cdi.kubevirt.io k8s.keycloak.org "
        "kubevirt.io nmstate.io ocs.openshift.io operator.openshift.io operators.coreos.com "
        "route.openshift.io tower.ansible.com"
    ),
    "security": (
        "bitnami.com cert-manager.io certmanager.k8s.io external-secrets.io kubernetes-client.io "
        "kyverno.io onepassword.com"
    ),
    "serverless": (
        "core.spinkube.dev keda.sh lifecycle.keptn.sh metrics.keptn.sh openfaas.com "
        "operator.knative.dev serving.knative.dev serving.kserve.io"
    ),
    "storage": (
        "astra.netapp.io cassandra.rook.io ceph.rook.io minio.min.io objectbucket.io trident.netapp.io"
    ),
    "streaming": (
        "camel.apache.org flink.apache.org kafka.banzaicloud.io kafka.strimzi.io "
        "platform.confluent.io rabbitmq.com sparkoperator.k8s.io zookeeper.pravega.io"
    ),
}
_MODULE_OF: Final = {group: module for module, groups in GROUPS.items() for group in groups.split()}

# Upstream tries its wildcard folders in the order of their names; no two of them match the same group.
_WILDCARDS: Final = {
    ".cnrm.cloud.google.com": "cloud_providers",
    ".crossplane.io": "crossplane",
    ".services.k8s.aws": "cloud_providers",
    ".upbound.io": "crossplane",
}


def shipped_check(group: str, kind: str) -> Check | None:
    """The shipped check for a kind, without overrides.

    Mirrors `GetHealthScript`, Argo CD 3.6: the exact kind first, then the wildcards.
    """
    checks = _checks_of(group)
    check = checks.get(kind) or checks.get(_EVERY_KIND)
    if check is not None:
        return check
    for suffix, module in _WILDCARDS.items():
        if group.endswith(suffix):
            return _checks_in(module, "*" + suffix).get(_EVERY_KIND)
    return None


def judge(check: Check, obj: Object) -> HealthVerdict:
    """Runs a check; if the script would fail, the result is Unknown with its error, as in Argo CD."""
    try:
        return check(obj) or HealthVerdict(None)
    except LuaError as error:
        return HealthVerdict(HealthCode.UNKNOWN, str(error))


@cache
def _checks_of(group: str) -> Mapping[str, Check]:
    module = _MODULE_OF.get(group)
    return {} if module is None else _checks_in(module, group)


def _checks_in(module: str, group: str) -> Mapping[str, Check]:
    return import_module(f"{__name__}.{module}").CHECKS[group]
