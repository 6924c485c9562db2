"""Advice per cause for runbooks: what not to do in the meantime, and how to prevent it."""

from __future__ import annotations

from typing import NamedTuple

from whysync.diagnosis.symptom import Side


class Advice(NamedTuple):
    dont: str
    prevent: str


_BY_SIDE = {
    Side.COMPARE: Advice(
        "Do not delete and recreate the Application: only the comparison fails; its workloads keep running.",
        "Alert on ComparisonError conditions: nothing is deployed while one exists.",
    ),
    Side.DRIFT: Advice(
        "Do not sync before you know which value is right: a sync overwrites the live value with Git's.",
        "Let each field have one owner: Git or another writer, never both.",
    ),
    Side.APPLY: Advice(
        "Do not sync repeatedly: nothing has changed, so it fails in the same way.",
        "Test the change on another cluster first; set a retry limit with back-off.",
    ),
    Side.HEALTH: Advice(
        "Do not roll back or restart before reading the log and the events: both are deleted with the Pods.",
        "Set suitable probes, requests and limits, and alert on Degraded.",
    ),
    Side.FRESH: Advice(
        "Do not rely on what Argo CD shows: it is an older state.",
        "Configure the Git host's webhook for Argo CD, and alert when apps are not reconciled.",
    ),
    Side.NONE: Advice("", ""),
}

_BY_CAUSE = {
    # --- could not compare
    "repo-auth": Advice(
        "Do not use a personal token as a quick fix: it is revoked when that person leaves.",
        "Use a deploy key or an app credential, and track its expiry date.",
    ),
    "repo-unreachable": Advice(
        "Do not change the Application before you have tried the same URL from the repo-server's Pod.",
        "Update Argo CD when a repository is renamed or moved; allow its egress in network policies.",
    ),
    "tls-trust": Advice(
        "Do not disable verification (`insecure: true`): then the server is not authenticated.",
        "Keep the CA certificate in argocd-tls-certs-cm, and monitor its expiry.",
    ),
    "revision-not-found": Advice(
        "Do not recreate the branch from an old commit to silence the error: that deploys the old state.",
        "Protect the branches and tags that Applications track.",
    ),
    "path-not-found": Advice(
        "Do not sync with prune after changing the path before you have read the diff.",
        "Move a folder and change its Application in the same pull request.",
    ),
    "helm-render": Advice(
        "Do not edit the live objects instead: the next successful sync reverts that.",
        "Run `helm template` with each environment's values in CI.",
    ),
    "helm-dependency": Advice(
        "Do not delete Chart.lock: then every rendering can use other versions.",
        "Commit Chart.lock, and vendor charts whose repository you do not control.",
    ),
    "kustomize-build": Advice(
        "Do not remove the failing patch to get a build: its change is then lost.",
        "Run `kustomize build` for each overlay in CI, with the version that Argo CD uses.",
    ),
    "cached-error": Advice(
        "Do not change Git again: the error is already fixed there.",
        "Hard refresh after a fix outside Git.",
    ),
    "generation-timeout": Advice(
        "Do not only raise the timeouts: find out first what became slow.",
        "Monitor the repo-server's duration metrics; split repositories that render slowly.",
    ),
    "settings-malformed": Advice(
        "Do not restart Argo CD: with invalid settings it may not start.",
        "Keep argocd-cm in Git, and check it in CI (`argocd admin settings validate`).",
    ),
    "project-missing": Advice(
        "Do not move the app to `default` permanently: that project permits everything.",
        "Apply projects in an earlier wave than the apps that use them.",
    ),
    "cluster-auth": Advice(
        "Do not remove the cluster from Argo CD: its Applications would lose their destination.",
        "Monitor the expiry of the token, or use an identity that renews itself.",
    ),
    "conversion-webhook-failed": Advice(
        "Do not delete the CRD: all its objects are deleted with it.",
        "Run the conversion webhook with several replicas, and update it before its CRD.",
    ),
    "resource-too-large": Advice(
        "Do not keep raising message limits: the next object will be larger.",
        "Keep large data out of ConfigMaps and annotations; split apps with thousands of objects.",
    ),
    # --- compared, and differs
    "manual-edit": Advice(
        "Do not sync before you have asked: the change may be part of an incident.",
        "Turn on self-heal where manual edits are not allowed, or remove the permission; commit emergency"
        " changes the same day.",
    ),
    "controller-owned": Advice(
        "Do not sync to silence it: the controller writes its value again, and each sync disturbs the app.",
        "Leave fields that a controller owns out of Git, such as `replicas` with an autoscaler.",
    ),
    "webhook-injected": Advice(
        "Do not commit what the webhook adds: its next version adds something else.",
        "Use ServerSideDiff with IncludeMutationWebhook, or ignore the field for all apps.",
    ),
    "sync-noop-loop": Advice(
        "Do not sync repeatedly, and do not shorten the interval: each sync disturbs the workload again.",
        "Alert on many syncs of one commit; pair every ignore rule with RespectIgnoreDifferences.",
    ),
    "pending-prune": Advice(
        "Do not sync with prune before you have checked each listed object: it deletes them.",
        "Prune in the same change as the removal, and protect important objects with `Prune=false`.",
    ),
    "tracking-conflict": Advice(
        "Do not change the tracking method with prune enabled: objects can be treated as foreign.",
        "Use annotation tracking, and leave app.kubernetes.io/instance to Argo CD or to the chart, not both.",
    ),
    "shared-resource": Advice(
        "Do not delete one of the two Applications with cascade: that deletes the object for both.",
        "Let each object belong to one Application; set FailOnSharedResource=true.",
    ),
    "nondeterministic": Advice(
        "Do not sync to silence it: every rendering creates a new value and restarts what uses it.",
        "Generate passwords and certificates once, outside the chart.",
    ),
    "normalisation": Advice(
        "Do not search for a real change: only the notation differs.",
        "Write values as the API server returns them.",
    ),
    "deleted-live": Advice(
        "Do not recreate it before you know what deleted it: it may be deleted again.",
        "Remove the permission to delete, or turn on self-heal.",
    ),
    "new-commit": Advice(
        "Do not sync without reading the diff: it is somebody's change.",
        "Turn on auto-sync where every merge should be deployed.",
    ),
    "secret-encoding": Advice(
        "Do not print the values to compare them: compare their length and encoding.",
        "Use `stringData` in Git, or a tool that creates Secrets from a secret store.",
    ),
    # --- applied, and failed
    "immutable-field": Advice(
        "Do not use Replace or Force before you know what a recreation destroys.",
        "Keep selectors, claim templates and other immutable fields as they were first written.",
    ),
    "missing-crd": Advice(
        "Do not install a CRD from the internet manually: its version may not match the controller.",
        "Put CRDs in an earlier wave or in their own app.",
    ),
    "admission-denied": Advice(
        "Do not disable the policy: ask for an exception, or change the manifest.",
        "Run the same policies in CI.",
    ),
    "webhook-down": Advice(
        "Do not delete the webhook's configuration before you know what it enforces.",
        "Run webhooks with several replicas and a disruption budget, and exclude their own namespace.",
    ),
    "hook-failed": Advice(
        "Do not delete the failed Job before you have saved its log: both are deleted.",
        "Give hooks a delete policy (BeforeHookCreation) and a deadline; make them safe to run twice.",
    ),
    "hook-stuck": Advice(
        "Do not delete the Application: terminate the operation instead.",
        "Give every hook `activeDeadlineSeconds`.",
    ),
    "hook-deadlock": Advice(
        "Do not create the missing object manually: the sync hangs again on the next clean cluster.",
        "Let a hook depend only on objects of an earlier phase or wave; test it on an empty cluster.",
    ),
    "wave-stalled": Advice(
        "Do not remove the waves: their order has a reason.",
        "Put few, fast objects in early waves, each with a health check that can succeed.",
    ),
    "k8s-rbac": Advice(
        "Do not grant cluster-admin: one rule is missing, not all.",
        "Keep the roles of Argo CD's accounts in Git, next to the kinds they deploy.",
    ),
    "argocd-rbac": Advice(
        "Do not grant the admin role: one policy line is enough.",
        "Test policies with `argocd admin settings rbac can` in CI.",
    ),
    "project-denied": Advice(
        "Do not allow `*`: add the one entry that is missing.",
        "Change the project in the same pull request as the app that needs it.",
    ),
    "namespace-terminating": Advice(
        "Do not remove finalizers before their cleanup is done.",
        "Delete an app's objects before its namespace.",
    ),
    "finalizer-stuck": Advice(
        "Do not remove the finalizer first: what it cleans up outside the cluster stays behind.",
        "Delete custom resources before the controller that finalizes them.",
    ),
    "prune-blocked": Advice(
        "Do not confirm a deletion without checking it.",
        "Protect objects that contain data with `Prune=false` or `Delete=confirm`.",
    ),
    "quota": Advice(
        "Do not raise the quota before you know what uses it up.",
        "Leave room for a rolling update: new Pods run next to the old ones.",
    ),
    "ssa-conflict": Advice(
        "Do not force it: the other manager loses its fields without notice.",
        "Let one manager own each field.",
    ),
    "sync-window": Advice(
        "Do not delete the window: ask who set it, and why.",
        "Write windows with a time zone, and check that no deny covers every allow.",
    ),
    "autosync-empty-refused": Advice(
        "Do not allow empty apps: all objects would be deleted.",
        "Check in CI that each source renders manifests.",
    ),
    "operation-pinned": Advice(
        "Do not push more fixes: the running operation ignores them.",
        "Set a retry limit, and `retry.refresh` so that retries use new commits.",
    ),
    "dependency-missing": Advice(
        "Do not create an empty object of that name: what reads it fails later with a less clear error.",
        "Put dependencies in an earlier wave: objects of the same wave have no order.",
    ),
    "annotation-too-long": Advice(
        "Do not split the object manually in the cluster.",
        "Use ServerSideApply=true for large objects such as CRDs.",
    ),
    # --- unhealthy, or not fresh
    "crashloop": Advice(
        "Do not delete the Pod before you have saved its previous log.",
        "Let the container validate its configuration at startup, and exit with a clear error.",
    ),
    "image-pull": Advice(
        "Do not switch to `latest`: then the running version is unknown.",
        "Check in CI that the image exists before the manifest uses it.",
    ),
    "oom": Advice(
        "Do not remove the limit: then other Pods on the node are killed.",
        "Measure the memory use, and set requests and limits accordingly; watch for leaks.",
    ),
    "probe-failing": Advice(
        "Do not remove the probe: it shows the real state of the container.",
        "Add a startup probe to containers that start slowly.",
    ),
    "unschedulable": Advice(
        "Do not delete other workloads before you know which request does not fit.",
        "Monitor the free capacity of the nodes; keep requests close to the actual use.",
    ),
    "pvc-pending": Advice(
        "Do not delete the claim of a workload that ran before: its data may be deleted.",
        "Set the storage class, and check that it has a provisioner.",
    ),
    "no-health-check": Advice(
        "Do not rely on Healthy: the resource was not checked.",
        "Add a health check for each custom kind in use, and test it with `whysync health`.",
    ),
    "suspended": Advice(
        "Do not resume it before you know who paused it, and why.",
        "Let an analysis resume rollouts, or alert on long pauses.",
    ),
    "skip-reconcile": Advice(
        "Do not wait: nothing happens while the annotation is set.",
        "Record who set it, and until when.",
    ),
    "stale-state": Advice(
        "Do not recreate the Application with cascade: its objects would be deleted.",
        "Take the steps one at a time, and check after each.",
    ),
    "polling-lag": Advice(
        "Do not push again: Argo CD has only not compared the commit yet.",
        "Configure the Git host's webhook for Argo CD, and monitor its deliveries.",
    ),
    "controller-stale": Advice(
        "Do not sync: no controller processes the request.",
        "Monitor the controller's queue and its shards.",
    ),
}


def advice_for(cause: str, side: Side) -> Advice:
    """The advice of the cause, else of its side."""
    return _BY_CAUSE.get(cause) or _BY_SIDE[side]
