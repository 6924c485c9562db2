"""Parse `cluster:` of a scenario: objects, admission webhooks, other writers, and how pods behave."""

from __future__ import annotations

from typing import Final, Literal, cast

from whysync.json_tree import fields
from whysync.kubernetes.controllers.behavior import Behavior, LogLine, Metric, PodBehavior
from whysync.lab.scenario import ClusterSetup, Webhook, Writer
from whysync.lab.yaml_nodes import Node

POD: Final = (
    "namespace", "name", "labels", "image", "pull", "pull_takes", "starts_after", "ready_after", "runs_for",
    "exit_code", "reason", "log", "calls", "on_no_answer", "retry_every", "unschedulable", "times", "serves",
    "memory", "memory_after", "image_user", "alive_for", "probe_says", "listens_after",
)  # fmt: skip
CLUSTER: Final = (
    "objects", "webhooks", "writers", "pods", "nodes", "load_balancers", "volumes", "autoscalers", "stopped",
    "slow", "server", "name", "namespaces",
)  # fmt: skip
_Outside = Literal["ok", "pending"]
WEBHOOK: Final = (
    "name", "configuration", "resources", "service", "operations", "namespaces", "labels", "changes",
    "containers", "denies", "unless", "unreachable", "ignored_when_down",
)  # fmt: skip


def cluster_of(node: Node) -> ClusterSetup:
    if node.value is None:
        return ClusterSetup()
    node.mapping(*CLUSTER)
    return ClusterSetup(
        objects=node.at("objects").objects(),
        webhooks=tuple(_webhook(entry) for entry in node.at("webhooks").each()),
        writers=tuple(_writer(entry) for entry in node.at("writers").each()),
        behavior=Behavior(
            pods=pods_of(node.at("pods")),
            load_balancers=cast("_Outside", node.at("load_balancers").choice(("ok", "pending"), "ok")),
            volumes=cast("_Outside", node.at("volumes").choice(("ok", "pending"), "ok")),
            metrics=tuple(_metric(entry) for entry in node.at("autoscalers").each()),
            stopped=frozenset(node.at("stopped").texts()),
            slow={name: entry.duration() for name, entry in node.at("slow").entries()},
        ),
        nodes=node.at("nodes").integer(3, least=0, most=100),
        server=node.at("server").text(""),
        name=node.at("name").text(""),
        namespaces=node.at("namespaces").texts(),
    )


def pods_of(node: Node) -> tuple[PodBehavior, ...]:
    return tuple(_pod(entry) for entry in node.each())


def _pod(node: Node) -> PodBehavior:
    node.mapping(*POD)
    never = node.at("ready_after").value == "never"
    return PodBehavior(
        namespace=node.at("namespace").text("*"),
        name=node.at("name").text("*"),
        labels=node.at("labels").labels(),
        image=node.at("image").text("*"),
        pull=cast(
            "Literal['', 'missing', 'denied', 'slow']",
            node.at("pull").choice(("", "missing", "denied", "slow"), ""),
        ),
        pull_seconds=node.at("pull_takes").duration(1.0),
        start_seconds=node.at("starts_after").duration(1.0),
        ready_seconds=None if never else node.at("ready_after").duration(1.0),
        runs_seconds=node.at("runs_for").duration() if node.has("runs_for") else None,
        exit_code=node.at("exit_code").integer(0, most=255),
        reason=node.at("reason").text(""),
        log=tuple(_line(entry) for entry in node.at("log").each()),
        calls=node.at("calls").texts(),
        on_no_answer=cast(
            "Literal['exit', 'wait']", node.at("on_no_answer").choice(("exit", "wait"), "exit")
        ),
        retry_seconds=node.at("retry_every").duration(5.0),
        unschedulable=node.at("unschedulable").text(""),
        times=node.at("times").integer() if node.has("times") else None,
        serves=node.at("serves").texts(),
        up_seconds=node.at("listens_after").duration(0.0),
        memory=node.at("memory").text(""),
        memory_seconds=node.at("memory_after").duration(3.0),
        image_user=node.at("image_user").text(""),
        live_seconds=node.at("alive_for").duration() if node.has("alive_for") else None,
        probe_output=node.at("probe_says").text(""),
    )


def _line(node: Node) -> LogLine:
    """`- text`, or `- 2s: text` for a later line."""
    if not isinstance(node.value, dict):
        return LogLine(after_seconds=0.0, text=node.text())
    if len(node.value) != 1:
        node.fail(f"{node.name} must be one line, as `2s: text`")
    after = next(iter(node.value))
    seconds = Node(after, node.source, node.pointer).duration()
    return LogLine(after_seconds=seconds, text=node.at(after).text())


def _metric(node: Node) -> Metric:
    """The replicas that an autoscaler's metrics request from a given time."""
    node.mapping("object", "after", "replicas")
    space, _, name = node.at("object").text().partition("/")
    if not name:
        node.at("object").fail("an autoscaler is written as namespace/name")
    return Metric(
        namespace=space,
        name=name,
        after_seconds=node.at("after").duration(0.0),
        replicas=node.at("replicas").integer(most=10_000),
    )


def _webhook(node: Node) -> Webhook:
    node.mapping(*WEBHOOK)
    changes = node.at("changes")
    if changes.value is not None:
        changes.mapping()
    return Webhook(
        name=node.at("name").text(),
        configuration=node.at("configuration").text(node.at("name").text()),
        resources=node.at("resources").texts() or ("pods",),
        service=node.at("service").text(""),
        operations=node.at("operations").texts() or ("CREATE", "UPDATE"),
        namespaces=node.at("namespaces").texts(),
        labels=node.at("labels").labels(),
        changes=changes.value,
        containers=tuple(fields(entry.value) for entry in node.at("containers").each() if entry.mapping()),
        denies=node.at("denies").text("").strip(),
        unless=node.at("unless").text(""),
        unreachable=node.at("unreachable").text("").strip(),
        ignored_when_down=node.at("ignored_when_down").flag(),
    )


def _writer(node: Node) -> Writer:
    node.mapping("name", "object", "namespace", "holds", "after", "starts")
    holds = node.at("holds")
    holds.mapping()
    return Writer(
        name=node.at("name").text(),
        object=node.at("object").text(),
        namespace=node.at("namespace").text(""),
        holds=holds.value,
        after=node.at("after").duration(10.0),
        starts=node.at("starts").duration(0.0),
    )
