"""Families of failures: the step that failed, where the exact reason is not known."""

from __future__ import annotations

from enum import StrEnum


class Family(StrEnum):
    # reading a source
    GIT = "git"
    REVISION = "revision"
    REPO_COPY = "repo-copy"
    SIGNATURE = "signature"
    REPOSITORY = "repository"
    REPOSITORY_ACCESS = "repository-access"
    REPOSITORY_NETWORK = "repository-network"
    REPO_RATE_LIMIT = "repository-rate-limit"
    HELM_TEMPLATE = "helm-template"
    HELM_DEPENDENCY = "helm-dependency"
    KUSTOMIZE = "kustomize"
    JSONNET = "jsonnet"
    PLUGIN = "plugin"
    HYDRATOR = "hydrator"
    CACHED = "cached"
    GENERATION_TIMEOUT = "generation-timeout"
    SPEC_URL = "spec-url"
    # Argo CD itself
    OWN_PROCESS = "own-process"
    SETTINGS = "settings"
    SECRET_MALFORMED = "secret-malformed"
    ARGOCD_PERMISSION = "argocd-permission"
    HEALTH_CONVERSION = "health-conversion"
    SCHEME = "scheme"
    # the destination cluster
    CLUSTER = "cluster"
    CLUSTER_CONFIG = "cluster-config"
    CLUSTER_LOGIN = "cluster-login"
    API_SERVER = "api-server"
    AGGREGATED_API = "aggregated-api"
    # applying
    ADMISSION = "admission"
    INVALID_MANIFEST = "invalid-manifest"
    PERMISSION = "permission"
    CONFLICT = "conflict"
    TOO_LARGE = "too-large"
    DELETION = "deletion"
    PRUNING = "pruning"
    # events
    SCHEDULING = "scheduling"
    VOLUME = "volume"
    IMAGE = "image"
    CONTAINER_START = "container-start"
    CONTAINER_RESTARTS = "container-restarts"
    PROBE = "probe"
    MEMORY = "memory"
    WORKLOAD = "workload"
    LOAD_BALANCER = "load-balancer"
    INGRESS = "ingress"
    OPERATOR = "operator"
