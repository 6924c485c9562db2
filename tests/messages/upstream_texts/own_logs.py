"""Lines of the logs of Argo CD's components, fatal lines of its command, and messages of operations."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.ARGOCD_LOG,
        "",
        "",
        (
            (
                "controller-stale",
                'level=error msg="finished unary call with code Unknown" error="error getting cached app'
                ' resource tree: error getting application by query: application refresh deadline exceeded"'
                " grpc.code=Unknown grpc.method=ResourceTree grpc.service=application.ApplicationService",
            ),
            ("polling-lag", 'level=info msg="Webhook processing failed: HMAC verification failed"'),
            ("sync-timeout", 'FATA[0300] timed out (300s) waiting for app "web" match desired state'),
            (
                "degraded-workload",
                "FATA[0030] application 'web' health state has transitioned from Progressing to Degraded",
            ),
            (
                "project-denied",
                "FATA[0001] rpc error: code = PermissionDenied desc = repository 'https://git.example.com/x'"
                " not permitted in project 'web'",
            ),
            (
                "controller-stale",
                'E0101 00:00:00.000001       7 retrywatcher.go:129] "Watch failed" err="unknown"',
            ),
            ("controller-stale", 'retrywatcher.go:130] "Watch failed" err="context canceled"'),
            (
                "none",
                'level=info msg="Failed to watch Pod on https://10.0.0.1: Resyncing Pod on https://10.0.0.1'
                ' due to timeout, retrying in 1s" server="https://10.0.0.1"',
            ),
            (
                "k8s-rbac",
                "E0101 00:00:00.000001       1 reflector.go:138] pkg/cache/reflector.go:167: Failed to watch"
                ' *v1.ConfigMap: failed to list *v1.ConfigMap: configmaps is forbidden: User "system:'
                'serviceaccount:argocd:argocd-server" cannot list resource "configmaps" in API group "" in'
                ' the namespace "argocd"',
            ),
            (
                "crashloop",
                "/bin/ln: failed to create symbolic link '/var/run/argocd/argocd-cmp-server': File exists",
            ),
            ("crashloop", "cp: cannot create regular file '/shared/argocd-dex': Text file busy"),
            (
                "appset-error",
                'time="2026-01-01T00:00:00Z" level=error msg="error generating application from params" '
                'applicationset=argocd/apps error="unable to resolve git revision: revision main must be '
                'resolved"',
            ),
            (
                "appset-error repo-auth",
                'time="2026-01-01T00:00:00Z" level=error msg="error generating params" '
                'applicationset=argocd/apps error="error getting directories from repo: error retrieving '
                'Git Directories: rpc error: code = Unknown desc = authentication required" '
                'generator="&{}"',
            ),
            (
                "appset-error",
                'level=error msg="unable to generate applications: error generating params from git: '
                "error parsing params: unable to parse file: yaml: line 2: mapping values are not "
                'allowed in this context" applicationset=argocd/apps',
            ),
            (
                "appset-error",
                'level=error msg="Reconciler error" controller=applicationset '
                'error="applications.argoproj.io \\"web\\" already exists" name=apps namespace=argocd',
            ),
            (
                "appset-error",
                'level=error msg="error listing repos: GET '
                'https://api.github.com/orgs/acme/repos?per_page=100: 401 Bad credentials []"',
            ),
            (
                "appset-error",
                'level=error msg="error generating params" error="error getting pull requests: error '
                "listing pull requests for acme/web: GET https://api.github.com/repos/acme/web/pulls: "
                '403 API rate limit exceeded"',
            ),
            (
                "appset-error",
                'level=error msg="failed to create new application" applicationset=argocd/apps '
                'error="Application.argoproj.io \\"web\\" is invalid: spec.destination: Required value"',
            ),
            (
                "appset-error",
                'level=error msg="unable to parse duration: time: invalid duration \\"3x\\"" '
                "applicationset=argocd/apps",
            ),
            (
                "appset-error",
                'level=error msg="error applying template: failed to parse template {{.a: template: :1: '
                'unclosed action" applicationset=argocd/apps',
            ),
            (
                "repo-auth",
                'time="2026-01-01T00:00:00Z" level=error msg="finished unary call with code Unknown" '
                'error="failed to list refs: authentication required: Repository not found." '
                "grpc.code=Unknown grpc.method=GenerateManifest grpc.service=repository.RepoServerService",
            ),
            (
                "repo-server-down",
                'level=error msg="finished unary call with code Unavailable" error="rpc error: code = '
                'Unavailable desc = connection error: desc = \\"transport: Error while dialing: dial tcp '
                '10.0.0.7:8081: connect: connection refused\\"" grpc.code=Unavailable '
                "grpc.service=application.ApplicationService",
            ),
            (
                "argocd-cache-down",
                'level=error msg="Failed to save cluster info: dial tcp 10.0.0.8:6379: i/o timeout"',
            ),
            (
                "argocd-cache-down",
                'level=warning msg="Failed to get cached managed resources for tree reconciliation, fall '
                'back to full reconciliation" error="dial tcp: lookup argocd-redis on 10.96.0.10:53: no '
                'such host"',
            ),
            (
                "argocd-cache-down",
                'redis: 2026/01/01 00:00:00 sentinel.go:313: sentinel: GetMasterAddrByName name="argocd" '
                "failed: dial tcp 10.0.0.9:26379: i/o timeout",
            ),
            (
                "argocd-cache-down",
                'level=error msg="READONLY You can\'t write against a read only replica."',
            ),
            (
                "argocd-cache-down",
                'level=error msg="LOADING Redis is loading the dataset in memory"',
            ),
            (
                "argocd-cache-down",
                "level=error msg=\"OOM command not allowed when used memory > 'maxmemory'.\"",
            ),
            (
                "argocd-cache-down",
                "level=error msg=\"MISCONF Redis is configured to save RDB snapshots, but it's currently "
                'unable to persist to disk."',
            ),
            (
                "argocd-rbac",
                'level=error msg="finished unary call with code PermissionDenied" error="rpc error: code '
                '= PermissionDenied desc = permission denied: applications, sync, shop/web, sub: jane" '
                "grpc.code=PermissionDenied grpc.method=Sync grpc.service=application.ApplicationService",
            ),
            (
                "argocd-rbac",
                "FATA[0000] rpc error: code = PermissionDenied desc = permission denied",
            ),
            (
                "operation-pinned",
                "FATA[0001] rpc error: code = FailedPrecondition desc = another operation is already in "
                "progress",
            ),
            (
                "project-denied",
                "FATA[0001] rpc error: code = InvalidArgument desc = application spec for web is "
                "invalid: InvalidSpecError: application repo https://git.example.com/x.git is not "
                "permitted in project 'shop'",
            ),
            (
                "path-not-found",
                "FATA[0001] rpc error: code = InvalidArgument desc = application spec for web is "
                "invalid: InvalidSpecError: Unable to generate manifests in apps/web: rpc error: code = "
                "Unknown desc = apps/web: app path does not exist",
            ),
            (
                "cluster-not-registered",
                "FATA[0001] rpc error: code = InvalidArgument desc = application spec for web is "
                "invalid: InvalidSpecError: Unable to get cluster: rpc error: code = NotFound desc = "
                'cluster "https://1.2.3.4" not found',
            ),
            (
                "sync-window",
                "FATA[0001] rpc error: code = PermissionDenied desc = cannot sync: blocked by sync window",
            ),
            (
                "autosync-given-up",
                'level=warning msg="Skipping auto-sync: failed previous sync attempt to [4f1c2a9e] and '
                'will not retry for 4f1c2a9e" application=APP',
            ),
            (
                "autosync-empty-refused",
                'level=warning msg="Skipping auto-sync: auto-sync will wipe out all resources" '
                "application=APP",
            ),
            (
                "cluster-unreachable",
                'level=error msg="Failed to start missing resource watches: Get '
                '\\"https://10.0.0.1:6443/api/v1?timeout=32s\\": dial tcp 10.0.0.1:6443: i/o timeout" '
                'server="https://10.0.0.1:6443"',
            ),
            (
                "k8s-rbac",
                'level=error msg="Failed to watch: failed to list resources: ingresses.networking.k8s.io '
                'is forbidden: User \\"system:serviceaccount:argocd:argocd-manager\\" cannot list '
                'resource \\"ingresses\\" in API group \\"networking.k8s.io\\" at the cluster scope" '
                'server="https://10.0.0.1"',
            ),
            (
                "openapi-error diff-schema-error",
                'level=error msg="warning loading openapi schema" error="error creating gvk parser: '
                'duplicate entry for /v1, Kind=APIGroup" server="https://10.0.0.1"',
            ),
            (
                "controller-stale",
                'level=error msg="Recovered from panic: runtime error: invalid memory address or nil '
                'pointer dereference\ngoroutine 201 [running]:"',
            ),
            (
                "settings-malformed",
                'level=error msg="Basic comparison settings cannot be loaded, using unknown comparison: '
                "error unmarshalling excluded resources error converting YAML to JSON: yaml: line 3: did "
                'not find expected key" application=APP',
            ),
            (
                "settings-malformed",
                'level=info msg="Basic comparison settings cannot be loaded, using unknown comparison: '
                'yaml: line 3: did not find expected key" application=APP',
            ),
            (
                "settings-malformed",
                'level=error msg="Failed to load resource overrides: error unmarshalling '
                'resource.customizations: yaml: line 9: found character that cannot start any token"',
            ),
            (
                "settings-malformed argocd-rbac",
                "level=error msg=\"invalid policy: malformed policy rule 'p, role:x, applications, get': "
                "expected format: 'p, sub, res, act, obj, eft'\"",
            ),
            (
                "settings-malformed argocd-rbac",
                'level=fatal msg="failed to load RBAC policy: invalid policy rule"',
            ),
            (
                "settings-malformed",
                'level=fatal msg="configmap \\"argocd-cm\\" not found"',
            ),
            (
                "settings-malformed",
                'level=fatal msg="secret \\"argocd-secret\\" not found"',
            ),
            (
                "cluster-auth settings-malformed",
                "level=error msg=\"failed to unmarshal cluster config: invalid character '\\\\'' looking "
                'for beginning of object key string"',
            ),
            (
                "repo-auth settings-malformed secret-encoding",
                "level=error msg=\"Error while parsing repository secret 'repo-1': strconv.ParseBool: "
                'parsing \\"yes\\": invalid syntax"',
            ),
            (
                "health-script-error",
                'level=error msg="failed to get resource health for \\"Foo\\" with name \\"a\\" in '
                'namespace \\"b\\": <string>:3: attempt to index a non-table object(nil) with key '
                "'conditions'\"",
            ),
            (
                "argocd-disk-full",
                'level=error msg="finished unary call with code Internal" error="rpc error: code = '
                "Internal desc = Failed to fetch default: write /tmp/_argocd-repo/1/.git/x: no space "
                'left on device"',
            ),
            (
                "hydrator-failed",
                'level=error msg="Failed to hydrate app: failed to commit hydrated manifests: rpc error: '
                'code = Unknown desc = failed to push: error: failed to push some refs"',
            ),
            (
                "resource-too-large",
                'level=warning msg="error patching application with operation state: rpc error: code = '
                'ResourceExhausted desc = trying to send message larger than max (2721664 vs. 2097152)"',
            ),
            (
                "resource-too-large",
                'level=error msg="Error patching application with operation state: etcdserver: request '
                'is too large"',
            ),
            (
                "resource-too-large repo-server-down",
                'level=error msg="finished unary call with code ResourceExhausted" error="rpc error: '
                "code = ResourceExhausted desc = grpc: received message larger than max (104857700 vs. "
                '104857600)"',
            ),
            (
                "repo-server-down",
                'level=fatal msg="failed to initialize the repo service: mkdir /tmp/_argocd-repo: '
                'read-only file system"',
            ),
            (
                "generation-timeout",
                'level=error msg="finished unary call with code DeadlineExceeded" error="rpc error: code '
                '= DeadlineExceeded desc = context deadline exceeded" grpc.code=DeadlineExceeded '
                "grpc.method=GenerateManifest grpc.service=repository.RepoServerService",
            ),
            (
                "repo-server-down",
                'level=error msg="`helm template . --name-template web` failed signal: killed: " execID=1',
            ),
            (
                "tls-trust",
                'level=error msg="`git fetch origin` failed exit status 128: fatal: unable to access '
                "'https://git.example.com/x/': SSL certificate problem: unable to get local issuer "
                'certificate" execID=1',
            ),
            (
                "namespace-not-managed",
                'level=error msg="Namespace \\"web\\" for Service \\"web\\" is not managed" application=APP',
            ),
        ),
    ),
    Group(
        Origin.OPERATION,
        "Failed",
        "",
        (
            (
                "autosync-empty-refused none",
                "Skipping sync attempt to 4f1c2a9e: auto-sync will wipe out all resources",
            ),
            (
                "shared-resource-fail",
                "Shared resource found: apps/Deployment/web/web is part of applications argocd/a and b",
            ),
            (
                "hook-failed",
                "one or more synchronization tasks completed unsuccessfully, reason: Job has reached the "
                "specified backoff limit",
            ),
            (
                "sync-window",
                "Cannot sync: Blocked by sync window",
            ),
            (
                "operation-pinned none",
                "Operation terminated",
            ),
        ),
    ),
    Group(
        Origin.OPERATION,
        "Error",
        "",
        (
            (
                "cluster-unreachable",
                'Get "https://10.0.0.1:6443/api/v1/namespaces/web": net/http: request canceled while '
                "waiting for connection (Client.Timeout exceeded while awaiting headers)",
            ),
            (
                "repo-server-down",
                "ComparisonError: Failed to load target state: failed to generate manifest for source 1 "
                "of 1: rpc error: code = Unavailable desc = error reading from server: EOF",
            ),
        ),
    ),
    Group(
        Origin.LONG_OPERATION,
        "Running",
        "",
        (
            (
                "wave-stalled wave-in-progress degraded-workload sync-timeout",
                "waiting for healthy state of apps/Deployment/web",
            ),
            (
                "hook-stuck",
                "waiting for completion of hook batch/Job/migrate and 1 more hooks",
            ),
            (
                "finalizer-stuck prune-blocked",
                "waiting for deletion of /PersistentVolumeClaim/data",
            ),
            (
                "finalizer-stuck prune-blocked",
                "waiting for deletion of hook batch/Job/migrate",
            ),
            (
                "prune-blocked",
                "Waiting for pruning confirmation of /Namespace/web",
            ),
        ),
    ),
)
