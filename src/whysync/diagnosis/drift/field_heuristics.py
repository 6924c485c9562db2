"""What a differing field looks like: an injected sidecar, a default, a generated value.

These are readings, not proofs: a finding that rests on them says so by its confidence.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from whysync.argocd.diff.remarshal import remarshal, scheme_type
from whysync.facts.masking.masks import is_mask
from whysync.json_tree import Json, Missing, Object, fields, items
from whysync.kubernetes.api.pointer import index_of, join, resolve, split, within
from whysync.kubernetes.api.ref import Ref, group_of
from whysync.kubernetes.schema import Field, kinds, type_of
from whysync.kubernetes.schema.defaults import with_defaults
from whysync.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.diagnosis.drift import Drift

_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod"})
_DIGEST = lazy_pattern(r"@sha256:[0-9a-f]{6,}")
_STAMP = lazy_pattern(r"\d{10,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_HEX = lazy_pattern(r"[0-9a-f]{32,}")
_OWN_SECRET = "argocd-secret"  # Argo CD's API server keeps its signing key and the first password in it
_CONVERSION = "/spec/conversion"
_CONVERSION_CLIENT = "/spec/conversion/webhook/clientConfig"
# Annotations that ask a webhook for a mutation; those of Vault's webhook name the server to read from.
_RESOLVES = lazy_pattern(r"/[\w-]*(?:mutat|inject)[\w-]*$|/vault-(?:addr|path|role)$")
_RELOADER = ("STAKATER_", "reloader.stakater.com/last-reloaded", "reloader.stakater.com~1last-reloaded")
_TIME = (
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?|"
    r"\w{3},? \d\d? \w{3} \d{4} \d\d:\d\d:\d\d|\w{3} \w{3} +\d\d? \d\d:\d\d:\d\d|"
    r"(?<!\d)1\d{9}(?:\d{3})?(?!\d)"
)
_TOKEN = lazy_pattern(rf"(<masked \d{{1,9}}>|{_TIME}|[A-Za-z0-9+/=_-]{{16,}})")
_INSTANT = lazy_pattern(_TIME)
_GENERATED_KEYS = ("checksum/", "rollme", "timestamp", "random", "deploy-id", "build-id", "date")

_PLAIN_SOURCES = frozenset({"Directory"})  # Kustomize may inflate a chart that generates values
# Prefixes of Kubernetes' own controllers, of Argo CD and Helm; `<class>.ingress.kubernetes.io` has settings.
_RECORDING = (
    "argocd.argoproj.io",
    "autoscaling.alpha.kubernetes.io",
    "batch.kubernetes.io",
    "control-plane.alpha.kubernetes.io",
    "deployment.kubernetes.io",
    "endpoints.kubernetes.io",
    "meta.helm.sh",
    "pv.kubernetes.io",
    "volume.beta.kubernetes.io",
    "volume.kubernetes.io",
)
_RECORD = lazy_pattern(
    r"(?i)status|revision|generation|observed|(^|[-.])last([-.]|[A-Z]|$)|hash|checksum|uid$|[-.]id$|time$|"
    r"timestamp|instance$|managed-by|version|snapshot|leader|bound|[-.]at$|[a-z]At$|job-name"
)
# Labels by which controllers tell the Pods of one revision from those of another.
_HASH_LABELS = frozenset({"pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash"})
_OF_PLATFORMS = (
    "authz.management.cattle.io/",
    "field.cattle.io/",
    "lifecycle.cattle.io/",
    "networking.gke.io/",
    "openshift.io/sa.scc.",
    "rollout.argoproj.io/",
)
_OWN_RECORD = lazy_pattern(r"/(?:status|revision|observed-?[gG]eneration|last-[a-z-]+)$")
_UNSET: tuple[Json, ...] = (None, "", [], {}, 0, False)

# Addresses and ports that the API server allocates, and fields that follow from them.
_ALLOCATED = frozenset(
    {
        "clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy",
        "internalTrafficPolicy", "serviceAccount",
    }
)  # fmt: skip
# Those of which each object gets its own: in Git they would be wrong for the next object or cluster.
_OWN_OF_THE_OBJECT = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"})


# Fields that admission, the scheduler or a controller of the API server itself fills in.
_ADMITTED: dict[str, tuple[str, ...]] = {
    "Pod": ("serviceAccountName", "priority", "preemptionPolicy", "enableServiceLinks", "nodeName"),
    "CustomResourceDefinition": ("listKind", "singular"),
}


def is_builtin(ref: Ref) -> bool:
    """A kind that Kubernetes itself serves: it is in the pack of its API description."""
    return ref.kind in _builtin_kinds().get(ref.group, frozenset())


@cache
def _builtin_kinds() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for api_version, names in kinds().items():
        found.setdefault(group_of(api_version), set()).update(names)
    return {group: frozenset(names) for group, names in found.items()}


def is_bookkeeping(name: str) -> bool:
    """Is a label or annotation of this name some program's own record, not a setting that people make?"""
    prefix, _, rest = name.rpartition("/")
    return prefix.endswith(_RECORDING) or bool(_RECORD.search(rest))


def is_allocated(drift: Drift) -> bool:
    """Does the API server give each object a value of its own here?"""
    keys = drift.pointer.split("/")
    return drift.ref.kind == "Service" and not _OWN_OF_THE_OBJECT.isdisjoint(keys)


def is_ca_bundle(drift: Drift) -> bool:
    return drift.last_key == "caBundle"


_INJECTED_LISTS = (
    "containers", "initContainers", "volumes", "volumeMounts", "env", "tolerations", "imagePullSecrets",
)  # fmt: skip


def is_injected(drift: Drift) -> bool:
    """A container, volume, variable or annotation that only the cluster has, or an image pinned by digest."""
    parts = split(drift.pointer)
    if (
        drift.last_key == "image"
        and isinstance(drift.desired_value, str)
        and isinstance(drift.live_value, str)
    ):
        return bool(_DIGEST.search(drift.live_value)) and not _DIGEST.search(drift.desired_value)
    if drift.only_live and drift.ref.kind.endswith("WebhookConfiguration"):
        # selectors that a platform's own admission adds to every webhook
        return parts[-1].isdecimal() or any(part.endswith("Selector") for part in parts)
    if (
        drift.only_live
        and not is_builtin(drift.ref)
        and parts[-1].isdecimal()
        and isinstance(drift.live_value, dict)
    ):
        return True  # an element that the webhook of a custom resource adds to its lists
    if drift.only_live and drift.ref.kind == "Service" and drift.last_key == "loadBalancerClass":
        return True  # the webhook of a cloud's controller selects it for new Services
    if drift.ref.kind not in _WORKLOADS:
        return False
    if drift.desired_value is None and parts[-1] in _INJECTED_LISTS:
        return bool(drift.live_value)  # a template printed the key of a list without elements
    if not drift.only_live:
        return False
    added = len(parts) >= 2 and parts[-1].isdecimal() and parts[-2] in _INJECTED_LISTS
    noted = len(parts) >= 2 and parts[-2] in ("annotations", "labels")
    # An injector leaves a record of what it did in the template.
    is_record = noted and "template" in parts and drift.pointer.endswith("~1status")
    return added or is_record or (noted and "inject" in drift.pointer) or _is_admitted_to_pod(drift)


def _is_admitted_to_pod(drift: Drift) -> bool:
    """A list that admission adds to every Pod: tolerations, the token of its service account."""
    return drift.ref.kind == "Pod" and drift.last_key in _INJECTED_LISTS


def is_filled_in_by_controller(drift: Drift) -> bool:
    """Content that only the cluster has, where a controller of Kubernetes or an operator puts it."""
    parts = split(drift.pointer)
    if len(parts) == 3 and parts[0] == "metadata" and parts[2].startswith(_OF_PLATFORMS):
        return True  # also where Git has a copy of it
    if not drift.only_live and drift.desired_value not in (None, "", [], {}):
        return False
    if not is_builtin(drift.ref) and parts[-1].isdecimal() and isinstance(drift.live_value, str):
        return True  # a program that registers itself adds its name to a list of a custom resource
    if drift.only_live and (parts[-1] in _HASH_LABELS or _is_of_platform(parts)):
        return True
    if drift.only_live and _is_of_kind(drift, parts):
        return True
    if parts[:2] == ("metadata", "finalizers"):
        return True  # who wants to clean up before an object goes puts its own mark on it
    if drift.ref.kind == "ServiceAccount":
        return parts[0] in ("secrets", "imagePullSecrets")
    if drift.ref.kind in ("Secret", "ConfigMap"):
        filled = drift.ref.name == _OWN_SECRET or not drift.desired.at(f"/{parts[0]}")
        return parts[0] in ("data", "binaryData") and filled
    return drift.last_key == "replicas"


# Fields below these, per kind, that controllers of Kubernetes write.
_OF_KINDS: dict[str, tuple[str, ...]] = {
    "Job": ("/spec/selector", "/spec/template/metadata"),
    "Namespace": ("/spec",),
    "PersistentVolume": ("/spec/claimRef",),
}
# Prefixes of settings that people and deployment tools write.
_SETTINGS = ("kubectl.kubernetes.io", "app.kubernetes.io", "argocd.argoproj.io", "helm.sh", "meta.helm.sh")


def _is_of_kind(drift: Drift, parts: tuple[str, ...]) -> bool:
    """A field that a controller writes to every object of the kind, or a note on a custom resource.

    The annotation of an operator has the domain of the API group of its kind, or the name of a record.
    """
    if is_builtin(drift.ref):
        return any(within(drift.pointer, place) for place in _OF_KINDS.get(drift.ref.kind, ()))
    if len(parts) != 3 or parts[:2] != ("metadata", "annotations"):
        return False
    prefix = parts[2].rpartition("/")[0]
    own = bool(prefix) and _domain(prefix) == _domain(drift.ref.group)
    return own or (is_bookkeeping(parts[2]) and prefix not in _SETTINGS)


def is_setting(drift: Drift) -> bool:
    """Is it an annotation or label whose prefix is for settings, which people and deployment tools write?"""
    parts = split(drift.pointer)
    return parts[:1] == ("metadata",) and parts[-1].rpartition("/")[0] in _SETTINGS


def _domain(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def is_traffic_weight(drift: Drift) -> bool:
    """The share of a route between two versions: a rollout controller shifts it step by step."""
    both = (drift.desired_value, drift.live_value)
    shares = all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100 for value in both
    )
    return drift.last_key == "weight" and shares and any(p.isdecimal() for p in split(drift.pointer))


def is_resolved_by_trigger(drift: Drift) -> bool:
    """OpenShift's image trigger replaces the name in a DeploymentConfig by what the image stream has."""
    return drift.ref.kind == "DeploymentConfig" and drift.last_key == "image"


def is_adjusted_resource(drift: Drift) -> bool:
    """GKE Autopilot rounds requests and limits at admission, and records it in an annotation."""
    adjusted = any(name.startswith("autopilot.gke.io/resource-adjustment") for name in drift.live.annotations)
    return adjusted and ("resources" in split(drift.pointer) or drift.last_key.startswith("autopilot"))


def _is_of_platform(parts: tuple[str, ...]) -> bool:
    """A label or annotation of the object that a platform or its controller keeps for itself."""
    if len(parts) != 3 or parts[0] != "metadata" or parts[1] not in ("annotations", "labels"):
        return False
    return (
        parts[2] == "cloud.google.com/neg"
        or parts[2].startswith(_OF_PLATFORMS)
        or bool(_OWN_RECORD.search(parts[2]))
    )


def is_late_initialized(drift: Drift) -> bool:
    """Git leaves a field of a custom resource empty, and its operator writes what it found or chose.

    Crossplane's providers write what the cloud chose next to what `forProvider` declares.
    """
    if drift.only_live and split(drift.pointer)[:2] == ("spec", "forProvider"):
        return True
    return not is_builtin(drift.ref) and drift.desired_value == "" and bool(drift.live_value)


def is_replaced_by_ca_bundle(drift: Drift) -> bool:
    """The API server accepts a CA or a switch that turns verification off: who writes the CA removes it."""
    return (
        drift.ref.kind == "APIService"
        and drift.last_key == "insecureSkipTLSVerify"
        and bool(drift.live.at("/spec/caBundle"))
        and not isinstance(drift.live.at("/spec/caBundle"), Missing)
    )


def is_written_by_reloader(drift: Drift) -> bool:
    """Reloader restarts Pods by a variable or an annotation of their template, after a config changed."""
    return any(mark in f"{drift.pointer} {drift.live_value}" for mark in _RELOADER)


def is_resolved_at_admission(drift: Drift) -> bool:
    """The object asks a webhook to put in the values that its placeholders name."""
    data = drift.ref.kind in ("ConfigMap", "Secret") and split(drift.pointer)[0] in ("data", "stringData")
    marks = {*drift.desired.annotations} & {*drift.live.annotations}
    return data and not drift.only_live and any(_RESOLVES.search(mark) for mark in marks)


def is_set_by_webhook_owner(drift: Drift) -> bool:
    """Programs that serve a webhook switch its failure policy, and fill in its CA, once they are ready.

    In a CRD they also put their own Service in the place of the one that the file names. Some write the
    webhook's rules too, out of the list of types that they were built with.
    """
    if drift.ref.kind == "CustomResourceDefinition":
        added = drift.only_live and fields(drift.live.at("/spec/conversion")).get("strategy") == "Webhook"
        switched = drift.pointer == f"{_CONVERSION}/strategy" and drift.live_value == "Webhook"
        below = within(drift.pointer, _CONVERSION_CLIENT) or (added and within(drift.pointer, _CONVERSION))
        return below or switched
    if not drift.ref.kind.endswith("WebhookConfiguration"):
        return False
    return drift.last_key == "failurePolicy" or _is_of_added_rules(drift)


def _is_of_added_rules(drift: Drift) -> bool:
    """The cluster's webhook listens to more than Git's: a rule more, or more in one of them."""
    parts = split(drift.pointer)
    if parts[:1] != ("webhooks",) or parts[2:3] != ("rules",):
        return False
    mine, theirs = (items(side.at(join(parts[:3]))) for side in (drift.desired, drift.live))
    return len(theirs) > len(mine) or (drift.only_live and parts[-1].isdecimal())


def is_known_default(drift: Drift) -> bool:
    """A field of a built-in kind that the API server fills in whenever Git leaves it out (or empty)."""
    if not is_builtin(drift.ref):
        return False
    if not (drift.only_live or drift.desired_value in _UNSET):
        return False
    parts = split(drift.pointer)
    claim = "volumeClaimTemplates" in parts and parts[-1] in ("apiVersion", "kind", "status", "volumeMode")
    admitted = parts[:1] == ("spec",) and parts[-1] in _ADMITTED.get(drift.ref.kind, ())
    unconverted = drift.pointer == _CONVERSION and drift.live_value == {"strategy": "None"}
    return (
        claim
        or admitted
        or unconverted
        or parts[-1] in _ALLOCATED
        or _is_own_namespace(drift, parts)
        or is_filled_in_by_api_server(drift)
        or _is_written_for_unset(drift, parts)
    )


def _is_own_namespace(drift: Drift, parts: tuple[str, ...]) -> bool:
    """A reference without a namespace is to the object's own; clients write it out before they send it."""
    return len(parts) > 2 and parts[-1] == "namespace" and drift.live_value == drift.ref.namespace


def _is_written_for_unset(drift: Drift, parts: tuple[str, ...]) -> bool:
    """Go writes an unset quantity as 0 (`divisor`), because its type is a struct, which is never omitted."""
    field = _field_at(drift, parts)
    if field is None or not drift.only_live or field.type.pointer or field.omit_zero:
        return False
    return field.type.kind == "quantity" and drift.live_value in ("0", 0)


def is_of_wrong_type(drift: Drift) -> bool:
    """Is it an entry of a map of strings, such as an annotation, to which Git gives another type?"""
    parts = split(drift.pointer)
    around = _field_at(drift, parts[:-1])
    strings = around is not None and around.type.kind == "map" and around.type.of.kind == "string"
    return strings and not isinstance(drift.desired_value, str | Missing | None)


def _field_at(drift: Drift, parts: tuple[str, ...]) -> Field | None:
    """The field of a built-in kind in Kubernetes' API description."""
    kind = type_of(drift.ref.api_version, drift.ref.kind)
    field: Field | None = None
    for part in parts:
        if kind is None:
            return None
        if kind.kind == "struct":
            field = kind.struct.fields.get(part)
            kind = field.type if field is not None else None
        else:
            field, kind = None, kind.of if kind.kind in ("list", "map") else None
    return field


def is_filled_in_by_api_server(drift: Drift) -> bool:
    """Does the live object get this very value when it is sent with Git's value, or without the field?

    The zero value of a Go field that is no pointer counts as unset: `timeoutSeconds: 0` becomes 1, but
    `replicas: 0` stays 0.
    """
    parts = split(drift.pointer)
    if drift.only_git or index_of(parts[-1]) is not None:
        return False
    sent = _replaced(drift.live.body, parts, drift.desired_value)
    return resolve(completed(fields(sent)), drift.pointer) == drift.live_value


def completed(body: Object) -> Object:
    """An object of a built-in kind with the defaults of the API server, in its notation."""
    kind = scheme_type(body)
    return body if kind is None else with_defaults(remarshal(body), kind)


def _replaced(tree: Json, parts: tuple[str, ...], value: Json | Missing) -> Json:
    """A copy of the tree with another value for one field, or without the field."""
    first, rest = parts[0], parts[1:]
    if isinstance(tree, list):
        at = index_of(first)
        if at is None or at >= len(tree):
            return tree
        return [*tree[:at], _replaced(tree[at], rest, value), *tree[at + 1 :]]
    below = fields(tree)
    if rest:
        return {**below, first: _replaced(below.get(first), rest, value)}
    without = {key: item for key, item in below.items() if key != first}
    return without if isinstance(value, Missing) else {**without, first: value}


_BOUND = ("storageClassName", "volumeName")  # filled in when a claim is admitted and bound


def is_bound_volume(drift: Drift) -> bool:
    """The volume that the controller of claims chose."""
    return drift.ref.kind == "PersistentVolumeClaim" and drift.pointer == "/spec/volumeName"


_CHOICES = (
    *("Policy", "Strategy", "Mode", "Interval", "Kind", "Type", "Scheme", "Protocol"),
    *("policy", "strategy", "mode", "interval", "kind", "type", "scheme", "protocol", "group", "apiVersion"),
)


def looks_defaulted(drift: Drift) -> bool:
    """Only the cluster has it, and its value is one that a schema would fill in: a word, a number, a flag."""
    bound = drift.ref.kind == "PersistentVolumeClaim" and drift.last_key in _BOUND
    if is_builtin(drift.ref) and not bound and not _is_empty(drift.live_value):
        return False  # the other defaults of built-in kinds are known
    return (
        (drift.only_live or drift.desired_value is None)
        and (_is_empty(drift.live_value) or _is_plain(drift.live_value))
        and not split(drift.pointer)[-1].isdecimal()
        and not _under_metadata(drift.pointer)
        and drift.ref.kind not in ("Secret", "ConfigMap")
    )


def _is_empty(value: object) -> bool:
    """A shell without content, as a program leaves it that reads into types and writes back."""
    if isinstance(value, dict):
        return all(_is_empty(item) for item in fields(value).values())  # pyright: ignore[reportUnknownArgumentType]
    return value == []


def is_probable_default(drift: Drift) -> bool:
    """A likely default of a custom resource whose CRD is not known, by its place or its name.

    Schemas fill in fields next to declared ones in the elements of lists, and fields that choose among a few
    words: a kind, a policy, a strategy.
    """
    if is_builtin(drift.ref) or not looks_defaulted(drift):
        return False
    parts = split(drift.pointer)
    in_element = any(part.isdecimal() for part in parts[:-1])
    declared = isinstance(drift.desired.at(join(parts[:-1])), dict)
    return (in_element and declared) or parts[-1].endswith(_CHOICES)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        elements: list[object] = value  # pyright: ignore[reportUnknownVariableType]  # the type of JSON
        return len(elements) == 1 and isinstance(elements[0], dict) and _is_plain(fields(elements[0]))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict):
        return bool(value) and all(_is_plain(item) for item in fields(value).values())  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, str | int | float | bool) and len(str(value)) <= 40


def _under_metadata(pointer: str) -> bool:
    return pointer.startswith("/metadata/") or "/metadata/" in pointer


def is_filled_placeholder(drift: Drift) -> bool:
    """Git has an empty entry of a Secret, and a program has filled it in: no rendering has made it up."""
    parts = split(drift.pointer)
    is_entry = drift.ref.kind == "Secret" and len(parts) == 2 and parts[0] in ("data", "stringData")
    return is_entry and drift.desired_value == "" and not drift.only_git


def may_be_generated_secret(case: Case, drift: Drift) -> bool:
    """A value of a Secret differs, which is masked, so only its source tells whether it can be generated."""
    if drift.only_live or drift.only_git or drift.ref.kind != "Secret" or is_filled_placeholder(drift):
        return False
    if split(drift.pointer)[:1] not in (("data",), ("stringData",)):
        return False
    return may_be_rendered_differently(case, drift) and not _is_managed_secret(drift)


def looks_generated(drift: Drift) -> bool:
    """Git is at the revision that was synced, and yet a value that charts like to make up differs."""
    if drift.only_live or drift.only_git:
        return False
    key = drift.last_key.lower()
    parts = split(drift.pointer)
    if drift.ref.kind == "ConfigMap" and parts[:1] == ("data",):
        return _differ_in_random_words(drift.desired_value, drift.live_value)
    if parts[-1] == "value" and "env" in parts:
        return _are_instants(drift)
    annotated = len(parts) >= 2 and parts[-2] == "annotations"
    if annotated and key.startswith(_GENERATED_KEYS):
        return True
    return annotated and _is_stamp(drift.desired_value) and _is_stamp(drift.live_value)


def _are_instants(drift: Drift) -> bool:
    return all(
        isinstance(value, str) and _INSTANT.fullmatch(value)
        for value in (drift.desired_value, drift.live_value)
    )


def _differ_in_random_words(wanted: Json | object, found: Json | object) -> bool:
    """The same text except for random words, times or masked values, which a template generates in a file."""
    if not isinstance(wanted, str) or not isinstance(found, str):
        return False
    mine, theirs = _TOKEN.split(wanted), _TOKEN.split(found)
    if len(mine) != len(theirs) or mine[::2] != theirs[::2]:
        return False
    return all(
        desired == live
        or all(is_mask(word) or _is_random(word) for word in (desired, live))
        or all(_INSTANT.fullmatch(word) for word in (desired, live))
        for desired, live in zip(mine[1::2], theirs[1::2], strict=True)
    )


def _is_random(word: str) -> bool:
    """Capitals, small letters and digits, mixed: no word of a language, no path, no sum in hexadecimal."""
    mixed = any(map(str.isdigit, word)) and any(map(str.isupper, word)) and any(map(str.islower, word))
    return mixed and "/" not in word and len(set(word)) > len(word) // 3


def _is_stamp(value: Json | object) -> bool:
    return isinstance(value, str) and bool(_STAMP.fullmatch(value) or _HEX.fullmatch(value))


def may_be_rendered_differently(case: Case, drift: Drift) -> bool:
    """Content of a ConfigMap or Secret, of a source that can generate values: not of plain files."""
    data = split(drift.pointer)[:1] in (("data",), ("stringData",), ("binaryData",))
    if drift.ref.kind not in ("ConfigMap", "Secret") or not data:
        return False
    status = case.app.status
    kinds_of_source = set(status.source_types or (status.source_type,))
    return not kinds_of_source <= _PLAIN_SOURCES


def is_source_known(case: Case) -> bool:
    """Does the app's status tell the kind of its sources? It does after every successful comparison."""
    return bool(case.app.status.source_type or case.app.status.source_types)


def _is_managed_secret(drift: Drift) -> bool:
    """Another program fills this Secret: its owner, or an annotation, says so."""
    marks = [*drift.live.annotations, *drift.desired.annotations]
    return bool(drift.live.meta.get("ownerReferences")) or any("reflect" in mark for mark in marks)
