"""Answers of the API server to a sync: validation, admission, conflicts, permissions, overload."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.RESULT,
        "",
        "",
        (
            (
                "immutable-field",
                'Service "web" is invalid: spec.clusterIP: Invalid value: "": field is immutable',
            ),
            (
                "immutable-field",
                'Service "web" is invalid: spec.clusterIPs[0]: Invalid value: []string{"10.0.0.9"}: may '
                "not change once set",
            ),
            (
                "immutable-field schema-invalid",
                'Job.batch "migrate" is invalid: spec.completions: Invalid value: 2: field is immutable',
            ),
            (
                "immutable-field",
                'PersistentVolumeClaim "data" is invalid: spec: Forbidden: spec is immutable after '
                "creation except resources.requests and volumeAttributesClassName for bound claims",
            ),
            (
                "immutable-field pvc-pending schema-invalid",
                'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be '
                "resized and the storageclass that provisions the pvc must support resize",
            ),
            (
                "immutable-field schema-invalid",
                'PersistentVolumeClaim "data" is invalid: spec.resources.requests.storage: Forbidden: '
                "field can not be less than status.capacity",
            ),
            (
                "immutable-field",
                'RoleBinding.rbac.authorization.k8s.io "web" is invalid: roleRef: Invalid value: '
                'rbac.RoleRef{APIGroup:"rbac.authorization.k8s.io", Kind:"Role", Name:"b"}: cannot '
                "change roleRef",
            ),
            (
                "immutable-field",
                "cannot change roleRef",
            ),
            (
                "immutable-field",
                'StorageClass.storage.k8s.io "fast" is invalid: provisioner: Forbidden: updates to '
                "provisioner are forbidden.",
            ),
            (
                "immutable-field",
                'PriorityClass.scheduling.k8s.io "high" is invalid: value: Forbidden: may not be changed '
                "in an update.",
            ),
            (
                "immutable-field",
                'CSIDriver.storage.k8s.io "csi.example.com" is invalid: spec.attachRequired: Invalid '
                "value: false: field is immutable",
            ),
            (
                "immutable-field",
                'Secret "db" is invalid: type: Invalid value: "Opaque": field is immutable',
            ),
            (
                "immutable-field",
                'ConfigMap "settings" is invalid: data: Forbidden: field is immutable when `immutable` '
                "is set",
            ),
            (
                "immutable-field",
                'Secret "db" is invalid: data: Forbidden: field is immutable when `immutable` is set',
            ),
            (
                "immutable-field",
                'IngressClass.networking.k8s.io "nginx" is invalid: spec.controller: Invalid value: "b": '
                "field is immutable",
            ),
            (
                "immutable-field",
                'Endpoint "x" is invalid: addressType: Invalid value: "IPv6": field is immutable',
            ),
            (
                "immutable-field",
                'CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: '
                'spec.scope: Invalid value: "Cluster": field is immutable',
            ),
            (
                "schema-invalid crd-conversion",
                'CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: '
                'status.storedVersions[0]: Invalid value: "v1alpha1": missing from spec.versions; '
                "v1alpha1 was previously a storage version, and must remain in spec.versions until a "
                "storage migration ensures no data remains persisted in v1alpha1 and removes v1alpha1 "
                "from status.storedVersions",
            ),
            (
                "schema-invalid",
                'CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: '
                "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must "
                'have approval annotation "api-approved.kubernetes.io", see '
                "https://github.com/kubernetes/enhancements/pull/1111",
            ),
            (
                "schema-invalid",
                'CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: '
                "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults "
                "in the schema",
            ),
            (
                "schema-invalid",
                'CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: '
                "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: "
                "Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try "
                "simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
                "maps, and strings are declared)",
            ),
            (
                "schema-invalid immutable-field",
                'Deployment.apps "web" is invalid: spec.template.metadata.labels: Invalid value: '
                'map[string]string{"app":"b"}: `selector` does not match template `labels`',
            ),
            (
                "schema-invalid",
                'Deployment.apps "web" is invalid: '
                'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "config"',
            ),
            (
                "schema-invalid",
                'Deployment.apps "web" is invalid: spec.template.spec.containers[0].ports[1].name: '
                'Duplicate value: "http"',
            ),
            (
                "schema-invalid",
                'Deployment.apps "web" is invalid: spec.template.spec.containers[0].resources.requests: '
                'Invalid value: "2": must be less than or equal to cpu limit of 1',
            ),
            (
                "schema-invalid",
                'Ingress.networking.k8s.io "web" is invalid: spec.rules[0].http.paths[0].pathType: '
                "Required value: pathType must be specified",
            ),
            (
                "schema-invalid",
                'HorizontalPodAutoscaler.autoscaling "web" is invalid: spec.maxReplicas: Invalid value: '
                "1: must be greater than or equal to `minReplicas`",
            ),
            (
                "schema-invalid",
                'CronJob.batch "report" is invalid: spec.schedule: Invalid value: "61 * * * *": end of '
                "range (61) above maximum (59): 61",
            ),
            (
                "schema-invalid",
                'CronJob.batch "a-very-long-name" is invalid: metadata.name: Invalid value: '
                '"a-very-long-name": must be no more than 52 characters',
            ),
            (
                "schema-invalid",
                'Deployment.apps "Web" is invalid: metadata.name: Invalid value: "Web": a lowercase RFC '
                "1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
                "start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ),
            (
                "schema-invalid",
                'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
                'unknown field "spec.template.spec.container"',
            ),
            (
                "schema-invalid",
                'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal '
                "number into Go struct field EnvVar.spec.template.spec.containers.env.value of type "
                "string",
            ),
            (
                "schema-invalid",
                'Service in version "v1" cannot be handled as a Service: json: cannot unmarshal string '
                "into Go struct field ServicePort.spec.ports.port of type int32",
            ),
            (
                "schema-invalid",
                'Deployment in version "v1" cannot be handled as a Deployment: quantities must match the '
                "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
            (
                "secret-encoding schema-invalid",
                'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4',
            ),
            (
                "schema-invalid",
                "the API version in the data (apps/v1) does not match the expected API version "
                "(extensions/v1beta1)",
            ),
            (
                "schema-invalid",
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
            (
                "schema-invalid",
                "resource name may not be empty",
            ),
            (
                "annotation-too-long",
                'CustomResourceDefinition.apiextensions.k8s.io "foos.example.com" is invalid: '
                "metadata.annotations: Too long: may not be more than 262144 bytes",
            ),
            (
                "resource-too-large",
                "etcdserver: request is too large",
            ),
            (
                "resource-too-large",
                "Request entity too large: limit is 3145728",
            ),
            (
                "resource-too-large",
                "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
                "(2145728 vs. 2097152)",
            ),
            (
                "resource-too-large",
                'ConfigMap "dash" is invalid: []: Too long: must have at most 1048576 bytes',
            ),
            (
                "quota",
                'pods "web-1" is forbidden: exceeded quota: compute, requested: limits.cpu=2, used: '
                "limits.cpu=9, limited: limits.cpu=10",
            ),
            (
                "quota",
                'pods "web-1" is forbidden: failed quota: compute: must specify limits.cpu for: web',
            ),
            (
                "limit-range",
                'pods "web" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
            ),
            (
                "limit-range",
                'pods "web" is forbidden: minimum memory usage per Container is 64Mi, but request is 16Mi',
            ),
            (
                "limit-range",
                'persistentvolumeclaims "data" is forbidden: maximum storage usage per '
                "PersistentVolumeClaim is 10Gi, but request is 20Gi",
            ),
            (
                "admission-denied",
                'pods "web" is forbidden: violates PodSecurity "restricted:latest": '
                'allowPrivilegeEscalation != false (container "web" must set '
                "securityContext.allowPrivilegeEscalation=false)",
            ),
            (
                "admission-denied",
                'admission webhook "validation.gatekeeper.sh" denied the request: [must-have-owner] you '
                'must provide labels: {"owner"}',
            ),
            (
                "admission-denied",
                'admission webhook "validate.kyverno.svc-fail" denied the request: \n\nresource '
                "Deployment/web/web was blocked due to the following policies\n\nrequire-limits:\n  "
                "check: 'validation error: limits are required'",
            ),
            (
                "admission-denied",
                "ValidatingAdmissionPolicy 'no-latest' with binding 'no-latest-binding' denied request: "
                "image tag latest is not allowed",
            ),
            (
                "admission-denied",
                'pods "web" is forbidden: unable to validate against any security context constraint: '
                '[provider "anyuid": Forbidden: not usable by user or serviceaccount]',
            ),
            (
                "admission-denied schema-invalid",
                'ingresses.networking.k8s.io "web" is forbidden: host "a.example.com" and path "/" is '
                "already defined in ingress web/other",
            ),
            (
                "admission-denied",
                'admission webhook "validate.nginx.ingress.kubernetes.io" denied the request: host '
                '"a.example.com" and path "/" is already defined in ingress web/other',
            ),
            (
                "admission-denied dependency-missing schema-invalid",
                'pods "web" is forbidden: no PriorityClass with name high was found',
            ),
            (
                "admission-denied dependency-missing",
                'pods "web" is forbidden: error looking up service account web/builder: serviceaccount '
                '"builder" not found',
            ),
            (
                "namespace-terminating",
                'deployments.apps "web" is forbidden: unable to create new content in namespace web '
                "because it is being terminated",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "webhook.cert-manager.io": failed to '
                "call webhook: Post "
                '"https://cert-manager-webhook.cert-manager.svc:443/validate?timeout=30s": context '
                "deadline exceeded",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "webhook.cert-manager.io": failed to '
                "call webhook: Post "
                '"https://cert-manager-webhook.cert-manager.svc:443/mutate?timeout=10s": tls: failed to '
                "verify certificate: x509: certificate signed by unknown authority",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "m.example.com": failed to call '
                'webhook: Post "https://w.x.svc:443/m?timeout=10s": no endpoints available for service '
                '"w"',
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "m.example.com": failed to call '
                'webhook: Post "https://w.x.svc:443/m?timeout=10s": service "w" not found',
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "m.example.com": failed to call '
                "webhook: the server could not find the requested resource",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "m.example.com": failed to call '
                'webhook: Post "https://w.x.svc:443/m?timeout=10s": proxy error from 127.0.0.1:6443 '
                "while dialing 10.42.1.4:9443, code 502: 502 Bad Gateway",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "m.example.com": expected webhook '
                "response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            ),
            (
                "conversion-webhook-failed",
                "conversion webhook for example.com/v1alpha1, Kind=Foo failed: Post "
                '"https://foo-webhook.foo.svc:443/convert?timeout=30s": dial tcp 10.0.0.4:443: connect: '
                "connection refused",
            ),
            (
                "conversion-webhook-failed",
                "conversion webhook for example.com/v1alpha1, Kind=Foo failed: Post "
                '"https://foo-webhook.foo.svc:443/convert?timeout=30s": x509: certificate has expired or '
                "is not yet valid",
            ),
            (
                "missing-crd",
                'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"',
            ),
            (
                "deprecated-api",
                'unable to recognize "manifests.yaml": no matches for kind "DaemonSet" in version '
                '"extensions/v1beta1"',
            ),
            (
                "deprecated-api",
                'unable to build kubernetes objects from release manifest: [unable to recognize "": no '
                'matches for kind "ClusterRole" in version "rbac.authorization.k8s.io/v1beta1", unable to '
                'recognize "": no matches for kind "DaemonSet" in version "extensions/v1beta1"]',
            ),
            (
                "missing-crd deprecated-api",
                "The Kubernetes API could not find policy/PodSecurityPolicy for requested resource "
                'web/psp. Make sure the "PodSecurityPolicy" CRD is installed on the destination cluster.',
            ),
            (
                "missing-crd",
                'resource mapping not found for name: "web" namespace: "web" from "/dev/shm/1": no '
                'matches for kind "Certificate" in version "cert-manager.io/v1"\nensure CRDs are '
                "installed first",
            ),
            (
                "missing-crd deprecated-api",
                "the server could not find the requested resource",
            ),
            (
                "namespace-missing",
                'namespaces "shop" not found',
            ),
            (
                "conflict-modified",
                'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; '
                "please apply your changes to the latest version and try again",
            ),
            (
                "conflict-modified",
                'Operation cannot be fulfilled on deployments.apps "web": StorageError: invalid object, '
                "Code: 4, Key: /registry/deployments/web/web, ResourceVersion: 0, AdditionalErrorMsg: "
                "Precondition failed: UID in precondition: 1, UID in object meta: 2",
            ),
            (
                "ssa-conflict",
                'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: '
                ".spec.replicas",
            ),
            (
                "ssa-conflict",
                'Apply failed with 2 conflicts: conflicts with "helm" using v1:\n- .data.a\n- .data.b',
            ),
            (
                "last-applied conflict-modified schema-invalid",
                "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update",
            ),
            (
                "k8s-rbac",
                "deployments.apps is forbidden: User "
                '"system:serviceaccount:argocd:argocd-application-controller" cannot create resource '
                '"deployments" in API group "apps" in the namespace "web"',
            ),
            (
                "k8s-rbac",
                'clusterroles.rbac.authorization.k8s.io "web" is forbidden: user '
                '"system:serviceaccount:argocd:argocd-application-controller" '
                '(groups=["system:serviceaccounts"]) is attempting to grant RBAC permissions not '
                'currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["*"]}',
            ),
            (
                "cluster-auth",
                'error looking up service account web/deployer: User "system:anonymous" cannot '
                'impersonate resource "serviceaccounts"',
            ),
            (
                "k8s-rbac",
                'serviceaccounts "deployer" is forbidden: User "x" cannot impersonate resource '
                '"serviceaccounts" in API group "" in the namespace "web"',
            ),
            (
                "cluster-auth",
                "Unauthorized",
            ),
            (
                "cluster-auth",
                "the server has asked for the client to provide credentials",
            ),
            (
                "cluster-unreachable",
                'Get "https://10.4.0.1:6443/api": net/http: TLS handshake timeout',
            ),
            (
                "cluster-unreachable",
                "the server was unable to return a response in the time allotted, but may still be "
                "processing the request",
            ),
            (
                "cluster-unreachable",
                "etcdserver: leader changed",
            ),
            (
                "cluster-unreachable",
                "etcdserver: mvcc: database space exceeded",
            ),
            (
                "cluster-unreachable",
                "Timeout: request did not complete within requested timeout - context deadline exceeded",
            ),
            (
                "cluster-unreachable",
                "the server is currently unable to handle the request",
            ),
            (
                "cluster-unreachable",
                "Internal error occurred: resource quota evaluation timed out",
            ),
            (
                "cluster-unreachable",
                "client rate limiter Wait returned an error: context deadline exceeded",
            ),
            (
                "cluster-unreachable",
                "http2: client connection lost",
            ),
            (
                "cluster-unreachable",
                "unexpected error when reading response body. Please retry. Original error: http2: "
                'server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=NO_ERROR, debug=""',
            ),
            (
                "openapi-error cluster-unreachable",
                "error validating data: failed to download openapi: the server is currently unable to "
                "handle the request; if you choose to ignore these errors, turn validation off with "
                "--validate=false",
            ),
            (
                "schema-invalid",
                "error validating data: ValidationError(Deployment.spec): missing required field "
                '"selector" in io.k8s.api.apps.v1.DeploymentSpec',
            ),
            (
                "schema-invalid",
                'error validating data: unknown object type "nil" in ConfigMap.data.a',
            ),
            (
                "schema-invalid invalid-yaml",
                "error parsing /dev/shm/1: error converting YAML to JSON: yaml: line 4: mapping values "
                "are not allowed in this context",
            ),
            (
                "schema-invalid",
                'Foo.example.com "web" is invalid: spec.size: Unsupported value: "huge": supported '
                'values: "small", "large"',
            ),
            (
                "schema-invalid",
                'Foo.example.com "web" is invalid: spec: Invalid value: "object": exactly one of a or b '
                "must be set",
            ),
            (
                "schema-invalid",
                'Foo.example.com "web" is invalid: spec.replicas: Invalid value: "string": spec.replicas '
                'in body must be of type integer: "string"',
            ),
            (
                "schema-invalid",
                'Foo.example.com "web" is invalid: [spec.a: Required value, <nil>: Invalid value: '
                '"null": some validation rules were not checked because the object was invalid; correct '
                "the existing errors to complete validation]",
            ),
            (
                "schema-invalid",
                'Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is '
                "not in the valid range. The range of valid ports is 30000-32767",
            ),
            (
                "schema-invalid",
                'Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port '
                "is already allocated",
            ),
            (
                "schema-invalid",
                'Service "web" is invalid: spec.clusterIPs: Invalid value: []string{"10.0.0.4"}: failed '
                "to allocate IP 10.0.0.4: provided IP is already allocated",
            ),
            (
                "schema-invalid immutable-field",
                'PodDisruptionBudget.policy "web" is invalid: spec: Forbidden: updates to '
                "poddisruptionbudget spec are forbidden.",
            ),
            (
                "conflict-modified shared-resource-fail hook-leftover cluster-unreachable",
                'jobs.batch "migrate" already exists',
            ),
            (
                "conflict-modified hook-leftover finalizer-stuck",
                'object is being deleted: jobs.batch "migrate" already exists',
            ),
            (
                "finalizer-stuck prune-blocked k8s-rbac",
                'error deleting resource: persistentvolumeclaims "data" is forbidden: User "x" cannot '
                'delete resource "persistentvolumeclaims" in API group "" in the namespace "web"',
            ),
        ),
    ),
)
