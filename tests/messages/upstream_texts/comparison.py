"""Texts of the application controller: conditions of a comparison."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

DIFF = "Failed to compare desired state to live state: failed to calculate diff: "
SERVER_SIDE_DIFF = DIFF + (
    "error calculating server side diff: serverSideDiff error: error running server "
    "side apply in dryrun mode for resource Deployment/web: "
)

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = connection error: desc = "
                '"transport: Error while dialing: dial tcp 10.96.4.2:8081: connect: '
                'connection refused"',
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = dns: A record lookup error: "
                "lookup argocd-repo-server on 10.96.0.10:53: no such host",
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = error reading from server: EOF",
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = closing transport due to: "
                'connection error: desc = "error reading from server: EOF", received prior '
                "goaway: code: NO_ERROR",
            ),
            (
                "generation-timeout",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            ),
            (
                "generation-timeout repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Canceled desc = context canceled",
            ),
            (
                "resource-too-large",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = ResourceExhausted desc = grpc: received message "
                "larger than max (110000000 vs. 104857600)",
            ),
            (
                "repo-server-down",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unimplemented desc = unknown method GenerateManifest "
                "for service repository.RepoServerService",
            ),
            (
                "repo-server-down tls-trust",
                "Failed to load target state: failed to generate manifest for source 1 of "
                "1: rpc error: code = Unavailable desc = connection error: desc = "
                '"transport: authentication handshake failed: tls: failed to verify '
                'certificate: x509: certificate signed by unknown authority"',
            ),
            (
                "settings-malformed",
                "Failed to load target state: failed to get Helm settings: error "
                "unmarshaling JSON: while decoding JSON: json: cannot unmarshal string "
                "into Go value of type []string",
            ),
            (
                "settings-malformed",
                "Failed to load target state: failed to get Kustomize settings: failed to "
                'add kustomize version from "kustomize.path.v4": found duplicate kustomize '
                "version: v4",
            ),
            (
                "settings-malformed",
                "error getting resource overrides: group kind should be in format "
                "`resource.customizations.<type>.<group_kind>` or "
                "resource.customizations.<type>.<kind>, got group kind: 'a_b_c'",
            ),
            (
                "settings-malformed",
                "error unmarshalling excluded resources error converting YAML to JSON: "
                "yaml: line 3: did not find expected '-' indicator",
            ),
            ("settings-malformed", 'configmap "argocd-cm" not found'),
            ("settings-malformed", 'error retrieving argocd-cm: configmap "argocd-cm" not found'),
            ("settings-malformed", "server.secretkey is missing"),
            (
                "settings-malformed",
                "Failed to load resource overrides: yaml: line 2: could not find expected ':'",
            ),
            ("project-missing", "Application referencing project shop which does not exist"),
            ("project-missing", 'error getting app project "shop": appprojects.argoproj.io "shop" not found'),
            (
                "cluster-auth settings-malformed secret-encoding",
                "error getting cluster: failed to unmarshal cluster config: invalid "
                "character 'b' looking for beginning of value",
            ),
            (
                "cluster-auth settings-malformed secret-encoding",
                "Unable to create K8s REST config: illegal base64 data at input byte 4",
            ),
            (
                "cluster-auth",
                "Unable to apply K8s REST config defaults: specifying a root certificates "
                "file with the insecure flag is not allowed",
            ),
            (
                "cluster-not-registered",
                "unable to find destination server: there are no clusters with this name: prod",
            ),
            (
                "cluster-not-registered",
                "application destination spec for web is invalid: unable to find "
                "destination server: there are no clusters with this name: prod",
            ),
            (
                "cluster-not-registered",
                'error getting cluster by server "https://10.4.0.1:6443": rpc error: code '
                '= NotFound desc = cluster "https://10.4.0.1:6443" not found',
            ),
            (
                "repo-auth settings-malformed repo-unreachable",
                "Failed to load target state: failed to get repo "
                '"https://git.example.com/team/deploy.git": unable to enrich repository '
                '"https://git.example.com/team/deploy.git" info with credentials: failed '
                "to get repository credentials for "
                '"https://git.example.com/team/deploy.git": secret "creds-1" not found',
            ),
            (
                "settings-malformed repo-auth repo-unreachable secret-encoding",
                "Failed to load target state: failed to list Helm repositories: "
                'strconv.ParseBool: parsing "yes please": invalid syntax',
            ),
            (
                "settings-malformed repo-auth repo-unreachable",
                "Failed to load target state: failed to list Helm repositories: "
                "Configuration error - please check the server logs",
            ),
            (
                "settings-malformed argocd-cache-down repo-server-down",
                "timed out waiting for settings cache to sync",
            ),
            (
                "ignore-rule-miss",
                "Failed to compare desired state to live state: failed to create diff "
                'normalizer: unexpected token "]"',
            ),
            (
                "health-script-error",
                'error setting app health: failed to get resource health for "Widget" with '
                'name "w" in namespace "web": <string>:4: attempt to index a non-table '
                "object(nil) with key 'phase'",
            ),
            (
                "controller-stale",
                "controller is configured to ignore cluster https://10.4.0.1:6443",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        DIFF,
        (
            (
                "diff-schema-error",
                "error calculating structured merge diff: error building typed value from "
                'config resource: .spec.template.spec.containers[name="web"].env: '
                'duplicate entries for key [name="A"]',
            ),
            (
                "diff-schema-error",
                "error calculating structured merge diff: error building typed value from "
                "live resource: .status.terminatingReplicas: field not declared in schema",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        SERVER_SIDE_DIFF,
        (
            (
                "admission-denied diff-schema-error",
                'admission webhook "check.example.com" denied the request: no latest tags',
            ),
            (
                "webhook-down diff-schema-error",
                'Internal error occurred: failed calling webhook "check.example.com": '
                "failed to call webhook: Post "
                '"https://check.kyverno.svc:443/v?timeout=10s": no endpoints available for '
                'service "check"',
            ),
            (
                "k8s-rbac diff-schema-error",
                'deployments.apps "web" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-application-controller" cannot patch '
                'resource "deployments" in API group "apps" in the namespace "web"',
            ),
            ("cluster-auth", "Unauthorized"),
            (
                "cluster-unreachable",
                'Patch "https://10.4.0.1:6443/apis/apps/v1/namespaces/web/deployments/web?d'
                'ryRun=All": dial tcp 10.4.0.1:6443: connect: connection refused',
            ),
            (
                "immutable-field diff-schema-error",
                'Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable',
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "SyncError",
        "",
        (
            (
                "immutable-field",
                "Failed last sync attempt to 4f2c9d1e: one or more objects failed to "
                'apply, reason: Deployment.apps "web" is invalid: spec.selector: Invalid '
                "value: {}: field is immutable (retried 5 times).",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "diff-schema-error",
                'error: unable to decode "/dev/shm/3": no kind "APIService" is registered for '
                'version "apiregistration.k8s.io/v1" in scheme '
                '"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:29"',
            ),
            ("appset-error", "ApplicationSet web contains applications with duplicate name: web"),
            (
                "plugin",
                "Unable to create application: application spec for x is invalid: "
                "InvalidSpecError: Unable to generate manifests in x: rpc error: code = "
                "Unknown desc = plugin sidecar failed. failed to detect CMP for app: could not "
                "find plugin supporting the given repository",
            ),
            ("plugin helm-render", 'Error: plugin "secrets" exited with error'),
            ("plugin", "AVP configuration error: Must provide a supported Vault Type"),
            ("plugin", "Error: could not find a secret at path kv/data/app"),
            ("kustomize-build", "Error: must specify --enable-helm"),
            (
                "kustomize-build",
                "Error: external plugins disabled; unable to load external plugin 'SopsSecretGenerator'",
            ),
            (
                "kustomize-build",
                "Error: unable to find plugin root - tried: ('<no value>'; homed in $KUSTOMIZE_PLUGIN_HOME)",
            ),
            ("helm-render", "Error: execution error at (app/templates/a.yaml:3:4): image.tag is required"),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        "",
        (
            (
                "settings-malformed",
                "error getting resource overrides: error unmarshaling JSON: while decoding JSON: json: "
                "cannot unmarshal string into Go value of type map[string]v1alpha1.ResourceOverride",
            ),
        ),
    ),
)
