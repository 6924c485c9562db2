"""Red Hat: OpenShift, the Operator Lifecycle Manager, KubeVirt, 3scale, Keycloak, nmstate, Ansible Tower."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Final

from whysync.argocd.health.shipped import lua
from whysync.argocd.health.shipped.vocabulary import (
    Check,
    Step,
    Test,
    all_of,
    by,
    condition_is,
    conditions,
    degraded,
    each,
    healthy,
    in_order,
    not_,
    progressing,
    suspended,
    verdict,
    when,
)
from whysync.argocd.health.verdict import DEGRADED, HEALTHY, PROGRESSING, SUSPENDED, UNKNOWN, HealthVerdict
from whysync.json_tree import Json, Object

CHECKS: Final[dict[str, dict[str, Check]]] = {}


# OpenShift's DeploymentConfig, the elder of Deployment.

_WAITING: Final = HealthVerdict(PROGRESSING, "replication controller is waiting for pods to run")


def deployment_config(obj: Object) -> HealthVerdict:
    """Healthy with two conditions, progressing with one of them."""
    entries = lua.maybe(obj, "status", "conditions")
    replicas = lua.maybe(obj, "status", "replicas")
    if entries is None or replicas is None:
        return _WAITING
    good = sum(1 for condition in lua.pairs(entries) if _is_good(condition))
    if good == 2 or lua.same(replicas, 0):
        return HealthVerdict(HEALTHY, "replication controller successfully rolled out")
    return _WAITING if good == 1 else HealthVerdict(DEGRADED, "Deployment config is degraded")


def _is_good(condition: Json) -> bool:
    kind = lua.at(condition, "type")
    rolled_out = kind == "Progressing" and lua.at(condition, "reason") == "NewReplicationControllerAvailable"
    return (kind == "Available" or rolled_out) and lua.at(condition, "status") == "True"


CHECKS["apps.openshift.io"] = {"DeploymentConfig": deployment_config}


# OpenShift: ingress controllers. The first condition with something to say decides.

CHECKS["operator.openshift.io"] = {
    "IngressController": in_order(
        each(
            ".status?.conditions",
            condition_is("Degraded", "True", degraded("{message}")),
            condition_is("DeploymentReplicasAllAvailable", "False", progressing("{message}")),
            condition_is("Progressing", "True", progressing("{reason}")),
            condition_is("Available", "True", healthy("IngressController is available")),
            keyed=True,
        ),
        progressing("Status of IngressController is not known yet"),
    )
}


# OpenShift: routes. Healthy when there are as many Admitted conditions as routers.


def _route(obj: Object) -> HealthVerdict:
    waiting = HealthVerdict(PROGRESSING, "Route is still getting admitted")
    routers = lua.maybe(obj, "status", "ingress")
    if routers is None:
        return waiting
    count = admitted = refused = 0
    for router in lua.pairs(routers):
        count += 1
        for condition in lua.pairs(lua.at(router, "conditions")):
            if lua.at(condition, "type") == "Admitted":
                admitted += lua.at(condition, "status") == "True"
                refused += lua.at(condition, "status") == "False"
    if admitted == count:
        return HealthVerdict(HEALTHY, "Route is healthy")
    return HealthVerdict(DEGRADED, "Route is degraded") if refused else waiting


CHECKS["route.openshift.io"] = {"Route": _route}


# OpenShift Data Foundation: the worst True condition decides.

_WORST_FIRST = {"Degraded": DEGRADED, "Progressing": PROGRESSING, "Available": HEALTHY}


def _storage_cluster(obj: Object) -> HealthVerdict:
    entries = lua.maybe(obj, "status", "conditions")
    true: dict[str, Json] = {}
    for condition in lua.pairs(entries) if entries is not None else ():
        kind = lua.at(condition, "type")
        if isinstance(kind, str) and lua.at(condition, "status") == "True":
            true[kind] = lua.at(condition, "message")
    for kind, code in _WORST_FIRST.items():
        if kind in true:
            return verdict(code, true[kind])
    return HealthVerdict(UNKNOWN, "StorageCluster is in an unknown state.")


CHECKS["ocs.openshift.io"] = {"StorageCluster": _storage_cluster}


# The Operator Lifecycle Manager: subscriptions.

_BROKEN = ("CatalogSourcesUnhealthy", "InstallPlanFailed", "ResolutionFailed")
_PENDING_STATES = (None, "", "UpgradeAvailable", "UpgradePending")


def _subscription(obj: Object) -> HealthVerdict:
    """The message lists all conditions and the state."""
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "An install plan for a subscription is pending installation")
    expected = _waits_for_approval(obj, entries)
    pending = degraded = False
    listed: list[str] = []
    for position, condition in lua.numbered(entries):
        kind, status = lua.at(condition, "type"), lua.at(condition, "status")
        if expected and kind == "InstallPlanPending":
            continue
        listed.append(lua.concat(position, ": ", kind, " | ", status, "\n"))
        if kind == "InstallPlanPending":
            pending |= status == "True"
        elif kind == "InstallPlanMissing":  # whatever its status
            degraded |= lua.at(condition, "reason") != "ReferencedInstallPlanNotFound"
        else:
            degraded |= kind in _BROKEN and status == "True"

    state = lua.at_path(obj, "status", "state")
    approval = expected and state == "UpgradePending"
    pending |= state in _PENDING_STATES and not approval
    degraded |= state == "UpgradeFailed"
    if state is None:
        listed.append(".status.state not yet known\n")
    else:
        note = " (manual InstallPlan approval pending; treated as healthy)" if approval else ""
        listed.append(lua.concat(".status.state is '", state, "'", note, "\n"))
    return HealthVerdict(DEGRADED if degraded else PROGRESSING if pending else HEALTHY, "".join(listed))


def _waits_for_approval(obj: Object, entries: Json) -> bool:
    """Is it an upgrade, not the first install, that requires a manual approval? That is healthy."""
    if lua.maybe(obj, "spec", "installPlanApproval") != "Manual":
        return False
    for condition in lua.pairs(entries):
        if (
            lua.at(condition, "type") == "InstallPlanPending"
            and lua.at(condition, "status") == "True"
            and lua.at(condition, "reason") == "RequiresApproval"
        ):
            return lua.at_path(obj, "status", "installedCSV") is not None
    return False


CHECKS["operators.coreos.com"] = {"Subscription": _subscription}


# KubeVirt: virtual machines.

_NO_STATUS = HealthVerdict(PROGRESSING, "No status available")


def _machine(obj: Object) -> HealthVerdict:
    status = lua.at(obj, "status")
    if status is None:
        return _NO_STATUS
    result = _NO_STATUS
    for condition in _conditions(status):
        kind, true = lua.at(condition, "type"), lua.at(condition, "status") == "True"
        if kind == "Paused" and true:
            return HealthVerdict(SUSPENDED, "Paused")
        if kind == "Ready":
            if true:
                result = HealthVerdict(HEALTHY, "Running")
            elif lua.truthy(lua.at(status, "created")):
                result = HealthVerdict(result.code, "Starting")
            else:
                result = HealthVerdict(SUSPENDED, "Stopped")
    printed = lua.at(status, "printableStatus")
    return result if printed is None else verdict(result.code, printed)


# What an instance's phase decides on its own; in any other phase the conditions are asked.
_PHASES = {
    "Failed": DEGRADED,
    "Pending": PROGRESSING,
    "Scheduling": PROGRESSING,
    "Scheduled": PROGRESSING,
    "Succeeded": SUSPENDED,
    "Unknown": UNKNOWN,
}


def _instance(obj: Object) -> HealthVerdict:
    status = lua.at(obj, "status")
    if status is None:
        return _NO_STATUS
    phase = lua.at(status, "phase")
    if isinstance(phase, str) and phase in _PHASES:
        return HealthVerdict(_PHASES[phase], phase)
    code, message = PROGRESSING, _NO_STATUS.message if phase is None else phase
    for condition in _conditions(status):
        kind, true = lua.at(condition, "type"), lua.at(condition, "status") == "True"
        if kind == "Ready":
            code, message = (HEALTHY, "Running") if true else (DEGRADED, lua.at(condition, "message"))
        elif kind == "Paused" and true:
            return verdict(SUSPENDED, lua.at(condition, "message"))
    return verdict(code, message)


def _conditions(status: Json) -> list[Json]:
    entries = lua.at(status, "conditions")
    return [] if entries is None else list(lua.ipairs(entries))


CHECKS["kubevirt.io"] = {"VirtualMachine": _machine, "VirtualMachineInstance": _instance}


# KubeVirt's Containerized Data Importer.

_PHASE: Final = "{.status.phase}"

CHECKS["cdi.kubevirt.io"] = {
    "DataVolume": in_order(
        when(".status == nil", progressing("No status available")),
        by(".status.phase", {"Succeeded": healthy(_PHASE), "Paused": suspended(_PHASE)}),
        conditions(condition_is("Running", "False", degraded("{message}"), reason="Error")),
        by(".status.phase", {"Failed": degraded(_PHASE), "Unknown": degraded(_PHASE)}),
        when(".status.phase ~= nil", progressing(_PHASE)),
        progressing("No status available"),
    )
}


# 3scale API management: the installation itself.

CHECKS["apps.3scale.net"] = {
    "APIManager": in_order(
        when(
            ".status?.deployments?.ready ~= nil"
            " and .status.deployments.starting == nil and .status.deployments.stopped == nil",
            healthy("3scale APIManager is available"),
        ),
        conditions(
            condition_is("Available", "True", healthy("3scale APIManager is available")),
            when(
                "type == 'Available' and reason ~= nil and reason ~= ''",
                degraded("3scale APIManager is degraded: {reason}"),
            ),
        ),
        progressing("Waiting for 3scale APIManager status..."),
    )
}


# 3scale API management: products, backends, applications and who may use them.


def _judged(kind: str, *steps: Step) -> Step:
    return in_order(*steps, progressing(f"Waiting for 3scale {kind} status..."))


def _by_condition(kind: str, good: str, **bad: str) -> Step:
    """The first condition that is True decides: `good` means well, and each of `bad` has its own words,
    for when the condition has none."""
    return conditions(
        condition_is(good, "True", healthy(f"3scale {kind} is {good.lower()}")),
        *(
            condition_is(name, "True", degraded(f"{{message|3scale {kind} {text}}}"))
            for name, text in bad.items()
        ),
    )


def _assigned(name: str) -> Test:
    """Has 3scale assigned an id?"""

    def test(obj: Object, _item: Json) -> bool:
        number = lua.at_path(obj, "status", name)
        return lua.is_number(number) and lua.less(0, number)

    return test


def _is_ready(obj: Object, _item: Json) -> bool:
    return any(
        lua.at(condition, "type") == "Ready" and lua.at(condition, "status") == "True"
        for condition in lua.ipairs(lua.at_path(obj, "status", "conditions"))
    )


_INVALID: Final = "configuration is invalid"
_ORPHAN: Final = "references non-existing resources"
_FAILED: Final = "synchronization failed"

CHECKS["capabilities.3scale.net"] = {
    "ActiveDoc": _judged(
        "ActiveDoc", _by_condition("ActiveDoc", "Ready", Invalid=_INVALID, Orphan=_ORPHAN, Failed=_FAILED)
    ),
    "Application": _judged(
        "Application",
        when(".status?.state == 'suspended'", suspended("3scale Application is suspended")),
        conditions(
            condition_is("Ready", "True", healthy("3scale Application is ready")),
            when(
                all_of("type == 'Ready'", not_(_assigned("adminId"))),
                degraded("{message|3scale Application is not ready}"),
            ),
        ),
    ),
    "ApplicationAuth": _judged("ApplicationAuth", _by_condition("ApplicationAuth", "Ready", Failed="failed")),
    "Backend": _judged("Backend", _by_condition("Backend", "Synced", Invalid=_INVALID, Failed=_FAILED)),
    "CustomPolicyDefinition": _judged(
        "CustomPolicyDefinition",
        _by_condition("CustomPolicyDefinition", "Ready", Invalid=_INVALID, Failed=_FAILED),
    ),
    "DeveloperAccount": _judged(
        "DeveloperAccount",
        conditions(
            condition_is("Ready", "True", healthy("3scale DeveloperAccount is ready")),
            condition_is("Invalid", "True", degraded(f"{{message|3scale DeveloperAccount {_INVALID}}}")),
            condition_is("Failed", "True", degraded(f"{{message|3scale DeveloperAccount {_FAILED}}}")),
            condition_is(
                "Waiting", "True", suspended("{message|3scale DeveloperAccount is waiting for approval}")
            ),
        ),
    ),
    "DeveloperUser": _judged(
        "DeveloperUser",
        when(
            ".status?.developerUserState == 'suspended'",
            suspended("3scale Developer user is waiting for admin approval"),
        ),
        _by_condition("DeveloperUser", "Ready", Invalid=_INVALID, Orphan=_ORPHAN, Failed=_FAILED),
    ),
    "OpenAPI": _judged(
        "OpenAPI", _by_condition("OpenAPI", "Ready", Invalid=_INVALID, Failed="reconciliation failed")
    ),
    "Product": _judged(
        "Product", _by_condition("Product", "Synced", Invalid=_INVALID, Orphan=_ORPHAN, Failed=_FAILED)
    ),
    "ProxyConfigPromote": _judged(
        "ProxyConfigPromote",
        conditions(
            condition_is("Ready", "True", healthy("3scale ProxyConfigPromote is ready")),
            condition_is(
                "In-progress", "True", progressing("{message|3scale ProxyConfigPromote is in progress}")
            ),
            condition_is(
                "Failed", "True", degraded("{message|3cale ProxyConfigPromote failed}")
            ),  # upstream's typo
        ),
    ),
    "Tenant": _judged(
        "Tenant",
        when(
            all_of(".status?.conditions ~= nil", _is_ready, _assigned("tenantId"), _assigned("adminId")),
            healthy("3scale Tenant is ready"),
        ),
        conditions(
            when("type == 'Ready' and status ~= 'True'", degraded("{message|3scale Tenant is degraded}"))
        ),
    ),
}


# Keycloak.


def _keycloak(obj: Object) -> HealthVerdict:
    """The oldest deciding condition is used; one without a time counts as the newest.

    The order of equal times is stable, as in Argo CD for lists of up to twelve.
    """
    entries = lua.maybe(obj, "status", "conditions")
    if entries is None:
        return HealthVerdict(PROGRESSING, "Waiting for Keycloak status conditions to exist")
    for condition in sorted(lua.ipairs(entries), key=cmp_to_key(_by_age)):
        kind, true = lua.at(condition, "type"), lua.at(condition, "status") == "True"
        if true and kind == "Ready":
            return HealthVerdict(HEALTHY)
        if true and kind == "HasErrors":
            return HealthVerdict(DEGRADED, lua.concat("Has Errors: ", lua.at(condition, "message")))
    return HealthVerdict(PROGRESSING)


def _by_age(left: Json, right: Json) -> int:
    left_time, right_time = lua.at(left, "lastTransitionTime"), lua.at(right, "lastTransitionTime")
    if left_time is None or right_time is None:
        return (left_time is None) - (right_time is None)
    return lua.less(right_time, left_time) - lua.less(left_time, right_time)


CHECKS["k8s.keycloak.org"] = {"Keycloak": _keycloak}


# nmstate: the network of nodes. A policy that matches no node is Ignored, on purpose.

_MEANING = {"Available": HEALTHY, "Degraded": DEGRADED, "Progressing": PROGRESSING, "Ignored": SUSPENDED}


def _true_condition(_obj: Object, item: Json = None, /) -> HealthVerdict | None:
    if lua.at(item, "status") != "True":
        return None
    kind, reason, details = lua.at(item, "type"), lua.at(item, "reason"), lua.at(item, "message")
    message = reason if details is None or details == "" else lua.concat(reason, ": ", details)
    return verdict(_MEANING[kind], message) if isinstance(kind, str) and kind in _MEANING else None


CHECKS["nmstate.io"] = {
    "NodeNetworkConfigurationPolicy": in_order(
        conditions(_true_condition), progressing("Waiting for policy to be applied")
    )
}


# Ansible Tower: jobs.

_JOB = "{.status.ansibleJobResult.status} job - {.status.ansibleJobResult.url}"

CHECKS["tower.ansible.com"] = {
    "AnsibleJob": by(
        ".status?.ansibleJobResult?.status",
        {
            "successful": healthy(_JOB),
            "failed": degraded(_JOB),
            "error": degraded(_JOB),
            "canceled": degraded(_JOB),
            "new": progressing(_JOB),
            "pending": progressing(_JOB),
            "waiting": progressing(_JOB),
            "running": progressing(_JOB),
        },
        progressing("Waiting for AnsibleJob"),
    )
}
