"""What every runbook of a cause says besides the fix: what not to do meanwhile, and how to prevent it."""

from __future__ import annotations

from typing import NamedTuple

from whysync.diagnosis.symptom import Side


class Advice(NamedTuple):
    dont: str
    prevent: str


_BY_SIDE = {
    Side.COMPARE: Advice(
        "Do not delete and recreate the Application: it is the comparison that fails, not the app, and what"
        " runs goes on running.",
        "Alert on ComparisonError conditions: nothing is deployed while one stands.",
    ),
    Side.DRIFT: Advice(
        "Do not sync until it is known whose value is right: a sync writes Git's over the cluster's.",
        "Let each field have one owner: Git, or whoever else writes it, never both.",
    ),
    Side.APPLY: Advice(
        "Do not sync again and again: nothing has changed, so it fails in the same way.",
        "Try the change on another cluster first; set a retry limit with back-off, not endless retries.",
    ),
    Side.HEALTH: Advice(
        "Do not roll back or restart before the log and the events are read: they go with the Pods.",
        "Give workloads probes, requests and limits that fit, and alert on Degraded.",
    ),
    Side.FRESH: Advice(
        "Do not conclude from what Argo CD shows: it speaks of an older state.",
        "Have the Git host call Argo CD's webhook, and alert when nothing is reconciled for long.",
    ),
    Side.NONE: Advice("", ""),
}

_BY_CAUSE = {
    # --- could not compare
    "repo-auth": Advice(
        "Do not put a person's own token there in a hurry: it leaves with the person.",
        "Use a deploy key or an app credential with a known end, and note that end in a calendar.",
    ),
    "repo-unreachable": Advice(
        "Do not change the Application before the same address was tried from the repo-server's Pod.",
        "Tell Argo CD before a repository is renamed or moved; allow its egress in network policies.",
    ),
    "tls-trust": Advice(
        "Do not switch verification off (`insecure: true`): then nobody knows who answers.",
        "Keep the authority's certificate in argocd-tls-certs-cm, and watch when it ends.",
    ),
    "revision-not-found": Advice(
        "Do not recreate the branch from an old commit only to get rid of the error: that deploys the old.",
        "Protect the branches and tags that Applications track.",
    ),
    "path-not-found": Advice(
        "Do not sync with prune after pointing it elsewhere, before the diff has been read.",
        "Move a folder and change its Application in the same pull request.",
    ),
    "helm-render": Advice(
        "Do not edit the live objects instead: the next good rendering takes that back.",
        "Run `helm template` with each environment's values in CI.",
    ),
    "helm-dependency": Advice(
        "Do not delete Chart.lock: then every rendering may bring other versions.",
        "Commit Chart.lock, and vendor charts whose repository you do not control.",
    ),
    "kustomize-build": Advice(
        "Do not drop the failing patch to get a build: what it guarded is then gone.",
        "Run `kustomize build` for each overlay in CI, with the version that Argo CD has.",
    ),
    "cached-error": Advice(
        "Do not change Git again: the mistake is mended there already.",
        "Refresh hard after mending something outside of Git.",
    ),
    "generation-timeout": Advice(
        "Do not raise the time limits alone: find out first what became slow.",
        "Watch the repo-server's duration metrics; split repositories that render slowly.",
    ),
    "settings-malformed": Advice(
        "Do not restart Argo CD: while its settings cannot be read, it may not come up again.",
        "Keep argocd-cm in Git, and check it in CI (`argocd admin settings validate`).",
    ),
    "project-missing": Advice(
        "Do not move the app to `default` for good: that project permits everything.",
        "Let projects be applied in an earlier wave than the apps that name them.",
    ),
    "cluster-auth": Advice(
        "Do not remove the cluster from Argo CD: its Applications would lose their destination.",
        "Watch the end of the token, or use an identity that renews itself.",
    ),
    "conversion-webhook-failed": Advice(
        "Do not delete the CRD: all its objects go with it.",
        "Run the conversion webhook with several replicas, and update it before its CRD.",
    ),
    "resource-too-large": Advice(
        "Do not raise message limits without end: the next object is larger still.",
        "Keep large data out of ConfigMaps and annotations; split apps with thousands of objects.",
    ),
    # --- compared, and differs
    "manual-edit": Advice(
        "Do not sync before somebody has been asked: it may be the middle of an incident.",
        "Switch self-heal on where nobody shall edit by hand, or take the right away; commit emergency"
        " changes the same day.",
    ),
    "controller-owned": Advice(
        "Do not sync to get rid of it: the controller writes its value back, and each sync is a jolt.",
        "Leave fields that a controller owns out of Git: `replicas` where an autoscaler scales.",
    ),
    "webhook-injected": Advice(
        "Do not commit what the webhook adds: its next version adds something else.",
        "Let the API server compare (ServerSideDiff with IncludeMutationWebhook), or ignore it for all apps.",
    ),
    "sync-noop-loop": Advice(
        "Do not sync again and again, nor shorten the interval: each round disturbs the workload once more.",
        "Alert on many syncs of one commit; pair every ignore rule with RespectIgnoreDifferences.",
    ),
    "pending-prune": Advice(
        "Do not sync with prune before each object of the list has been looked at: it deletes them.",
        "Remove with prune in the same change, and mark what must never go with `Prune=false`.",
    ),
    "tracking-conflict": Advice(
        "Do not change the tracking method with prune switched on: objects can be taken for foreign.",
        "Use annotation tracking, and leave app.kubernetes.io/instance to Argo CD or to the chart, not both.",
    ),
    "shared-resource": Advice(
        "Do not delete one of the two Applications with cascade: the object goes for both.",
        "Give each object one Application; set FailOnSharedResource=true.",
    ),
    "nondeterministic": Advice(
        "Do not sync to calm it down: every rendering makes a new value, and restarts what uses it.",
        "Generate passwords and certificates once, outside of the chart.",
    ),
    "normalisation": Advice(
        "Do not hunt for a real change: nothing differs but the spelling.",
        "Write values as the API server returns them.",
    ),
    "deleted-live": Advice(
        "Do not recreate it before it is known what deleted it: it may be deleted again.",
        "Take the right to delete away from people, or switch self-heal on.",
    ),
    "new-commit": Advice(
        "Do not sync unread: look at the diff first, it is somebody's change.",
        "Switch auto-sync on where every merge shall be deployed.",
    ),
    "secret-encoding": Advice(
        "Do not print the values to compare them: look at their lengths and their encoding.",
        "Use `stringData` in Git, or a tool that makes Secrets from a store.",
    ),
    # --- applied, and failed
    "immutable-field": Advice(
        "Do not use Replace or Force before it is clear what a recreation destroys.",
        "Keep selectors, claim templates and other immutable fields as they were first written.",
    ),
    "missing-crd": Advice(
        "Do not create the CRD by hand from the internet: its version may not fit the controller.",
        "Put CRDs into an earlier wave or an app of their own.",
    ),
    "admission-denied": Advice(
        "Do not switch the policy off: ask for an exception, or change the manifest.",
        "Run the same policies in CI.",
    ),
    "webhook-down": Advice(
        "Do not delete the webhook's configuration before it is known what it guards.",
        "Run webhooks with several replicas and a disruption budget, and exclude their own namespace.",
    ),
    "hook-failed": Advice(
        "Do not delete the failed Job before its log is saved: it goes with it.",
        "Give hooks a delete policy (BeforeHookCreation) and a deadline; make them safe to run twice.",
    ),
    "hook-stuck": Advice(
        "Do not delete the Application to get out of it: end the operation instead.",
        "Give every hook `activeDeadlineSeconds`.",
    ),
    "hook-deadlock": Advice(
        "Do not create the missing object by hand: the next clean cluster hangs again.",
        "Let a hook need only what an earlier phase or wave has made; try it on an empty cluster.",
    ),
    "wave-stalled": Advice(
        "Do not take the waves away: later objects wait for a reason.",
        "Put few, quick objects into early waves, each with a health check that can succeed.",
    ),
    "k8s-rbac": Advice(
        "Do not grant cluster-admin: one rule is missing, not all.",
        "Keep the roles of Argo CD's accounts in Git beside the kinds they deploy.",
    ),
    "argocd-rbac": Advice(
        "Do not make the role an admin: one line is enough.",
        "Try policies with `argocd admin settings rbac can` in CI.",
    ),
    "project-denied": Advice(
        "Do not allow `*`: add the one entry that is missing.",
        "Change the project in the same pull request as the app that needs it.",
    ),
    "namespace-terminating": Advice(
        "Do not remove finalizers before what they guard has been cleaned up.",
        "Delete an app's objects before its namespace.",
    ),
    "finalizer-stuck": Advice(
        "Do not remove the finalizer first: what it cleans up outside of the cluster stays behind.",
        "Delete custom resources before the controller that finalizes them.",
    ),
    "prune-blocked": Advice(
        "Do not confirm a deletion that nobody has read.",
        "Mark what holds data with `Prune=false` or `Delete=confirm`, and say so in the pull request.",
    ),
    "quota": Advice(
        "Do not raise the quota before it is known who uses it up.",
        "Keep room for a rolling update: the new Pods run beside the old ones.",
    ),
    "ssa-conflict": Advice(
        "Do not force it: the other manager loses its fields without a word.",
        "Let one manager own each field.",
    ),
    "sync-window": Advice(
        "Do not delete the window: ask who closed it, and why.",
        "Write windows with a time zone, and check that no deny covers every allow.",
    ),
    "autosync-empty-refused": Advice(
        "Do not allow empty apps: all objects would be deleted.",
        "Check in CI that each source renders to something.",
    ),
    "operation-pinned": Advice(
        "Do not push more fixes: the running operation does not take them in.",
        "Set a retry limit, and `retry.refresh` where a new commit shall be taken.",
    ),
    "dependency-missing": Advice(
        "Do not create an empty object of that name: what reads it fails later, and less clearly.",
        "Put what others need into an earlier wave: the same wave is no order.",
    ),
    "annotation-too-long": Advice(
        "Do not split the object by hand in the cluster.",
        "Use ServerSideApply=true for large objects such as CRDs.",
    ),
    # --- unhealthy, or not fresh
    "crashloop": Advice(
        "Do not delete the Pod before its previous log is saved.",
        "Let the container fail with a clear last line, and check its configuration at the start.",
    ),
    "image-pull": Advice(
        "Do not use `latest` to get over it: nobody knows then what runs.",
        "Check in CI that the image exists before the manifest names it.",
    ),
    "oom": Advice(
        "Do not remove the limit: then other Pods of the node are killed.",
        "Measure, and set requests and limits from that; watch for a leak.",
    ),
    "probe-failing": Advice(
        "Do not remove the probe: it tells the truth about the container.",
        "Give slow starters a startup probe.",
    ),
    "unschedulable": Advice(
        "Do not delete other workloads before it is known which request does not fit.",
        "Watch the room on the nodes; keep requests near to what is used.",
    ),
    "pvc-pending": Advice(
        "Do not delete the claim of a workload that ran before: its data may go.",
        "Name the storage class, and check that it has a provisioner.",
    ),
    "no-health-check": Advice(
        "Do not take Healthy for an answer: nobody has looked.",
        "Add a check for each custom kind in use, and try it: `whysync health`.",
    ),
    "suspended": Advice(
        "Do not resume it before it is known who paused it, and why.",
        "Let rollouts resume by analysis, or alert on long pauses.",
    ),
    "skip-reconcile": Advice(
        "Do not wait: nothing happens while the annotation stands.",
        "Note who set it, and until when.",
    ),
    "stale-state": Advice(
        "Do not recreate the Application with cascade: its objects would be deleted.",
        "Go up the ladder one step at a time, and look after each.",
    ),
    "polling-lag": Advice(
        "Do not push again: the commit is there, Argo CD has only not looked.",
        "Set the Git host's webhook to Argo CD, and watch its deliveries.",
    ),
    "controller-stale": Advice(
        "Do not sync: nobody takes the request.",
        "Watch the controller's queue and its shards.",
    ),
}


def advice_for(cause: str, side: Side) -> Advice:
    """The cause's own; what it does not say, its side says."""
    return _BY_CAUSE.get(cause) or _BY_SIDE[side]
