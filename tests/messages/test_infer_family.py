"""Texts that no pattern knows: the family comes from what is around the words."""

from __future__ import annotations

import pytest

from whysync.messages.failed_step import EVENT_FAMILIES, Family
from whysync.messages.failure import Unknown
from whysync.messages.infer_family import Component, FamilyFailure
from whysync.messages.parse import Reading, understand
from whysync.messages.patterns.apply import SizeLimit, TooLarge
from whysync.messages.patterns.git import RepoUnreachable

COMPARE = "ComparisonError: "
TARGET = COMPARE + "Failed to load target state: "
SOURCE = COMPARE + "Failed to load target state: failed to generate manifest for source 1 of 1: "
RPC = SOURCE + "rpc error: code = Unknown desc = "
CACHE = COMPARE + 'Failed to load live state: failed to get cluster info for "https://10.0.0.1": '
APPLY = "one or more objects failed to apply, reason: "
LOG = 'time="2026-01-01T00:00:00Z" level=error '
NEW = "the moon is in the wrong phase"

ROWS: list[tuple[str, Family]] = [
    (RPC + f"`git fetch origin --tags` failed exit status 128: {NEW}", Family.GIT),
    (RPC + f"`git checkout --force 4f1c2a9e` failed exit status 1: {NEW}", Family.REVISION),
    (RPC + f"`git clean -ffdx` failed exit status 1: {NEW}", Family.REPO_COPY),
    (RPC + f"`git verify-commit 4f1c2a9e` failed exit status 1: {NEW}", Family.SIGNATURE),
    (RPC + "`git fetch origin` failed exit status 128:", Family.GIT),
    (RPC + "`helm depe", Family.HELM_DEPENDENCY),
    (RPC + "`kustomize build /tmp/x --ena", Family.KUSTOMIZE),
    (RPC + f"unable to get changed files for repo git@github.com:acme/shop: {NEW}", Family.REVISION),
    (RPC + f"unable to find the revision v2 in the index: {NEW}", Family.REVISION),
    (RPC + f"failed to list refs: {NEW}", Family.REPOSITORY),
    (RPC + f"failed to list refs: {NEW}: HTTP 403", Family.REPOSITORY_ACCESS),
    (RPC + f"failed to list refs: {NEW}: status code: 502", Family.REPOSITORY_NETWORK),
    (RPC + f"failed to get tags: {NEW}: HTTP 404", Family.REPOSITORY),
    (RPC + "Manifest generation error (cached)", Family.CACHED),
    (RPC + f"Manifest generation error (cached): {NEW}", Family.CACHED),
    ("manifest generation error (cached)", Family.CACHED),
    (RPC + f"fork/exec /usr/local/bin/helm: {NEW}", Family.OWN_PROCESS),
    (SOURCE + "rpc error: code = Canceled desc = context canceled", Family.GENERATION_TIMEOUT),
    (SOURCE + f"rpc error: code = ResourceExhausted desc = {NEW}", Family.OWN_PROCESS),
    (COMPARE + 'strconv.ParseBool: parsing "yes\\n": invalid syntax', Family.SECRET_MALFORMED),
    (COMPARE + "asn1: structure error", Family.SECRET_MALFORMED),
    (COMPARE + "json: cannot unmarshal string into Go value of type []string", Family.UNWRAPPED),
    (COMPARE + 'strconv.Atoi: parsing "80,": invalid syntax', Family.UNWRAPPED),
    (COMPARE + "Secret db, which database.existingSecret names, not found", Family.UNWRAPPED),
    (COMPARE + f"the chart needs a newer Kubernetes: {NEW}", Family.HELM_TEMPLATE),
    (TARGET + "json: cannot unmarshal string into Go value of type []string", Family.SETTINGS),
    (COMPARE + 'secret "creds" not found', Family.CREDENTIAL_SECRET),
    (COMPARE + 'parse "https://git example": net/url: invalid character', Family.SPEC_URL),
    (
        COMPARE + f"failed to convert *unstructured.Unstructured to *v1.Ingress: {NEW}",
        Family.HEALTH_CONVERSION,
    ),
    (CACHE + NEW, Family.CLUSTER),
    (CACHE + "unable to load in-cluster configuration", Family.CLUSTER_CONFIG),
    (CACHE + f"failed to load initial state of resource Widget.acme.io: {NEW}", Family.AGGREGATED_API),
    (CACHE + f"apiserver not ready: {NEW}", Family.API_SERVER),
    (f"FATA[0004] 3 resources require pruning: {NEW}", Family.PRUNING),
    (CACHE + f"{NEW}: HTTP 500", Family.API_SERVER),
    (APPLY + f"Error from server (BadRequest): {NEW}", Family.INVALID_MANIFEST),
    (APPLY + f"Error from server (ServiceUnavailable): {NEW}", Family.API_SERVER),
    (APPLY + f"Error from server (Unauthorized): {NEW}", Family.CLUSTER_LOGIN),
    (APPLY + f"admission policy says: {NEW}", Family.ADMISSION),
    ("DeletionError: Failed to delete resource:", Family.DELETION),
    (LOG + f'msg="Error constructing app status patch: {NEW}"', Family.OWN_STATUS),
    (LOG + f'msg="Recovered from panic: {NEW}"', Family.OWN_PANIC),
    (LOG + f'msg="Failed to cache app resources: {NEW}"', Family.OWN_CACHE),
    (LOG + f'msg="manifest cache set error web: {NEW}"', Family.OWN_CACHE),
    (LOG + f'msg="Cannot init sharding. {NEW}"', Family.SHARDS),
    (LOG + f'msg="Failed to unmarshall nested matrix generator: {NEW}"', Family.APPLICATION_SET),
    (LOG + f'msg="Could not get installation ID: {NEW}"', Family.OWN_STATE),
    (LOG + f'msg="Unable to get destination cluster: {NEW}"', Family.CLUSTER),
    (LOG + f'msg="Get \\"https://id/.well-known/openid-configuration\\": {NEW}"', Family.LOGIN),
    # gpg manages the keyring at startup; Git verifies signatures
    (LOG + f'msg="`gpg --batch --gen-key /tmp/recipe1` failed exit status 2: {NEW}"', Family.KEYRING),
    (LOG + 'msg="stat /app/config/gpg/keys: not a directory"', Family.KEYRING),
    (LOG + f'msg="ARGOCD_GNUPGHOME at /keys: {NEW}"', Family.KEYRING),
    ("[FATAL tini (7)] exec argocd-repo-server failed: Permission denied", Family.OWN_PROCESS),
    ("[FATAL tini (7)] exec argocd-server failed: No such file or directory", Family.OWN_START),
    # the repo-server runs git and helm by itself; a plugin runs anything else
    (LOG + 'msg="x" error="fork/exec /usr/bin/bash: no such file or directory"', Family.PLUGIN),
    (LOG + 'msg="x" error="fork/exec /usr/bin/git: no such file or directory"', Family.OWN_PROCESS),
    (LOG + f'msg="Failed to watch Pod on https://10.0.0.1: {NEW}, retrying in 1s"', Family.WATCH),
    (RPC + f"`git submodule update --init` failed exit status 128: {NEW}", Family.SUBMODULE),
    (RPC + "runtime error: invalid memory address or nil pointer dereference", Family.REPO_SERVER_PANIC),
    (COMPARE + "rpc error: code = Unknown desc = unknown error: remote:", Family.REPOSITORY_ACCESS),
    (CACHE + "failed to load initial state of resource Role: roles is forbidden: User", Family.PERMISSION),
    (COMPARE + "wrong type for value; expected string; got int64", Family.HELM_TEMPLATE),
    (APPLY + "`kubectl apply` failed signal: killed", Family.OWN_KUBECTL),
    # etcd's error, which the API server passes on
    (APPLY + "rpc error: code = Unavailable desc = transport is closing", Family.API_SERVER),
    (
        COMPARE
        + "error converting live state from unstructured to policy/v1beta1, Kind=PodDisruptionBudget: no "
        'kind "PodDisruptionBudget" is registered for version "policy/v1beta1" in scheme "x.go:1"',
        Family.SCHEME,
    ),
    ("UnknownError: error unmarshalling excluded resources yaml: line 4: x", Family.SETTINGS),
    # cut off after the path
    (COMPARE + "rpc error: code = Unknown desc = clusters/eu/sho", Family.SOURCE_FILES),
    (COMPARE + "rpc error: code = Unknown desc = lstat /tmp/helm8921", Family.SOURCE_FILES),
    (
        "Unable to generate manifests in us-east/shop: rpc error: code = Unknown desc = Manifest generation"
        " error (cached): us",
        Family.SOURCE_FILES,
    ),
]


@pytest.mark.parametrize(("text", "family"), ROWS)
def test_the_family_of_a_text_without_a_known_phrase(text: str, family: Family) -> None:
    message = understand(text)
    (failure,) = message.failures
    assert isinstance(failure, FamilyFailure), failure
    assert failure.family is family
    assert failure.text in text
    assert message.reading is Reading.FAMILY


@pytest.mark.parametrize(
    "text", [NEW, COMPARE + NEW, APPLY + NEW, RPC + NEW, RPC + f"{NEW}: signature mismatch"]
)
def test_a_text_without_any_sign_has_no_family(text: str) -> None:
    message = understand(text)
    assert not any(isinstance(failure, FamilyFailure) for failure in message.failures)
    assert message.reading is Reading.UNKNOWN


def test_a_family_carries_the_command_the_code_and_the_component() -> None:
    (failure,) = understand(RPC + f"`git fetch origin --tags` failed exit status 128: {NEW}").failures
    assert isinstance(failure, FamilyFailure)
    assert (failure.command, failure.code, failure.words) == (
        "git fetch origin --tags",
        "exit status 128",
        NEW,
    )
    assert failure.component is Component.REPO_SERVER


@pytest.mark.parametrize(
    ("text", "by_words"),
    [
        (RPC + f"the keyring of the commit: {NEW}", True),
        (RPC + f"the kustomization: {NEW}", True),
        (RPC + f"looking for credentials: {NEW}", True),
        (RPC + f"access denied: {NEW}", False),
        (RPC + f"`git verify-commit 4f1c2a9e` failed exit status 1: {NEW}", False),
        (COMPARE + f"the installation id: {NEW}", True),
    ],
)
def test_words_that_name_a_subject_are_marked(text: str, by_words: bool) -> None:
    (failure,) = understand(text).failures
    assert isinstance(failure, FamilyFailure)
    assert failure.by_words is by_words


@pytest.mark.parametrize(("reason", "family"), sorted(EVENT_FAMILIES.items()))
def test_the_reason_of_an_event_tells_the_family(reason: str, family: Family) -> None:
    (failure,) = understand(NEW, reason=reason).failures
    assert isinstance(failure, FamilyFailure)
    assert (failure.family, failure.code) == (family, reason)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("http: server gave HTTP response to HTTPS client", Family.IMAGE),
        ("the registry is in maintenance", Family.IMAGE),
        ("the command has no execute permission", Family.CONTAINER_START),
    ],
)
def test_failed_is_the_pull_of_an_image_if_a_request_failed(text: str, family: Family) -> None:
    (failure,) = understand(text, reason="Failed").failures
    assert isinstance(failure, FamilyFailure)
    assert failure.family is family


@pytest.mark.parametrize("text", ['Error: configmap "shop-settings', 'secret "shop-d'])
def test_the_kubelet_names_a_missing_object_in_the_singular(text: str) -> None:
    (failure,) = understand(text, reason="Failed").failures
    assert isinstance(failure, FamilyFailure)
    assert failure.family is Family.DEPENDENCY


def test_a_log_line_that_reports_a_failure_without_a_reason_is_not_lost() -> None:
    text = 'level=info msg="Sync operation to 4f1c failed: one or more objects failed to apply" type=Warning'
    (failure,) = understand(text).failures
    assert type(failure) is Unknown
    assert failure.text == "one or more objects failed to apply"


def test_a_known_phrase_counts_for_more_than_the_reason() -> None:
    message = understand(
        "Liveness probe failed: HTTP probe failed with statuscode: 500", reason="FailedMount"
    )
    assert message.reading is Reading.EXACT


def test_a_panic_of_argo_cd_is_no_error_of_jsonnet() -> None:
    text = "Recovered from panic: runtime error: invalid memory address or nil pointer dereference"
    assert understand(text).reading is Reading.UNKNOWN


@pytest.mark.parametrize(
    ("limit", "limit_of"), [(2 * 1024 * 1024, SizeLimit.ETCD), (100 * 1024 * 1024, SizeLimit.GRPC)]
)
def test_whose_limit_a_message_exceeds_is_told_by_the_limit(limit: int, limit_of: SizeLimit) -> None:
    text = (
        f"rpc error: code = ResourceExhausted desc = trying to send message larger than max (1 vs. {limit})"
    )
    failure = understand(text).first(TooLarge)
    assert failure is not None
    assert failure.limit_of is limit_of


def test_the_words_of_a_tool_are_read_without_quotes_before_any_error_of_the_tool() -> None:
    text = RPC + (
        "`helm pull shop --repo https://charts.example.com` failed exit status 1: Error: looks like"
        " https://charts.example.com is not a valid chart repository or cannot be reached"
    )
    message = understand(text)
    assert message.reading is Reading.FOLDED
    assert message.first(RepoUnreachable) is not None
