"""`whysync fix` for objects that Helm and Kustomize render: the file, the line, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.situations import application, bundle, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.errors import Refused
from whysync.facts.checkout import Checkout
from whysync.fixes.files import FileChange, file_change
from whysync.json_tree import Json, Object, fields
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.yaml import dump

pytestmark = pytest.mark.usefixtures("options")

CHART = "charts/shop"
FILES = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
    "values.yaml": """\
# defaults
logLevel: info
image:
  repository: registry.example.com/shop
  tag: "1.0"
replicaCount: 2
region: north
resources: {}
podAnnotations:
  team: shop
""",
    "values-prod.yaml": """\
# production
image:
  tag: "2.0"   # bumped by the release job
logLevel: warn
""",
    "templates/all.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  level: {{ .Values.logLevel | quote }}
  mode: fast   # fixed
  region: {{ .Values.region }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: {{ .Values.replicaCount }}
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web, region: {{ .Values.region }}}
      annotations: {{- toYaml .Values.podAnnotations | nindent 8 }}
    spec:
      containers:
      - name: web
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
        resources: {{- toYaml .Values.resources | nindent 10 }}
""",
}
SETTINGS = Ref(version="v1", kind="ConfigMap", namespace="shop", name="settings")
WEB = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")
CONTAINER = "/spec/template/spec/containers/0"


def desired(body: Object) -> Object:
    meta: Object = {
        **fields(body["metadata"]),
        "namespace": "shop",
        "annotations": {"whysync.dev/role": "desired"},
    }
    return {**body, "metadata": meta}


def config_map(*, level: str = "warn") -> Object:
    data: Object = {"level": level, "mode": "fast", "region": "north"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


def deployment(*, tag: str = "2.0") -> Object:
    container: Object = {"name": "web", "image": f"registry.example.com/shop:{tag}", "resources": {}}
    meta: Object = {"labels": {"app": "web", "region": "north"}, "annotations": {"team": "shop"}}
    spec: Object = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": meta, "spec": {"containers": [container]}},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def app(helm: Object | None = None, *, name: str = "shop") -> Object:
    body = application(
        name, sync="OutOfSync", status={"resources": [row("ConfigMap", "settings", "OutOfSync")]}
    )
    source: Object = {"repoURL": "https://git.example.com/shop.git", "path": CHART, "targetRevision": "main"}
    fields(body["spec"])["source"] = {**source, "helm": helm or {"valueFiles": ["values-prod.yaml"]}}
    return body


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for name, content in FILES.items():
        file = tmp_path / CHART / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return Checkout(str(tmp_path))


def case_with(helm: Object | None = None, *more: Object, level: str = "warn", tag: str = "2.0") -> Case:
    objects = (desired(config_map(level=level)), desired(deployment(tag=tag)))
    return case_of(app(helm), *objects, *more)


def changed(ref: Ref, edit: Edit, case: Case, checkout: Checkout) -> FileChange:
    return file_change(Fix.change(ref, edit, title="t"), case, checkout)


@pytest.mark.parametrize(
    ("ref", "edit", "place", "old", "new"),
    [
        (
            SETTINGS,
            Set(pointer="/data/level", value="debug"),
            f"set logLevel in {CHART}/values-prod.yaml:4",
            "logLevel: warn",
            "logLevel: debug",
        ),
        (
            WEB,
            Set(pointer=f"{CONTAINER}/image", value="registry.example.com/shop:1.9"),
            f"set image.tag in {CHART}/values-prod.yaml:3",
            'tag: "2.0"   # bumped',
            'tag: "1.9"   # bumped',
        ),
        (
            WEB,
            Set(pointer="/spec/replicas", value=5),
            f"set replicaCount in {CHART}/values-prod.yaml",
            "logLevel: warn\n",
            "logLevel: warn\nreplicaCount: 5\n",
        ),
        (
            WEB,
            Set(pointer=f"{CONTAINER}/resources/limits/memory", value="1Gi"),
            f"set resources.limits.memory in {CHART}/values-prod.yaml",
            "logLevel: warn\n",
            "logLevel: warn\nresources:\n  limits:\n    memory: 1Gi\n",
        ),
        (
            SETTINGS,
            Set(pointer="/data/mode", value="slow"),
            f"change mode in {CHART}/templates/all.yaml:7",
            "mode: fast   # fixed",
            "mode: slow   # fixed",
        ),
        (
            WEB,
            Remove(pointer="/spec/replicas"),
            f"remove replicas in {CHART}/templates/all.yaml:15",
            "  replicas: {{ .Values.replicaCount }}\n",
            "",
        ),
    ],
    ids=["value", "part-of-a-value", "default-only", "new-field", "template", "template-line-removed"],
)
def test_the_place_that_sets_a_field(
    ref: Ref, edit: Edit, place: str, old: str, new: str, checkout: Checkout
) -> None:
    change = changed(ref, edit, case_with(), checkout)
    assert change.place == place
    assert change.after == (change.before or "").replace(old, new)
    assert change.check == f"rendered again with Helm: only {edit.pointer} of {ref} changes"


def test_a_value_that_feeds_other_fields_is_refused_with_their_names(checkout: Checkout) -> None:
    with pytest.raises(Refused) as caught:
        changed(SETTINGS, Set(pointer="/data/region", value="south"), case_with(), checkout)
    assert caught.value.what == (
        f"region ({CHART}/values.yaml:7) sets /data/region, "
        "but also changes /spec/template/metadata/labels/region of Deployment web"
    )


def test_a_field_that_nothing_sets_names_the_template(checkout: Checkout) -> None:
    with pytest.raises(Refused, match=f"it has to be added to the template {CHART}/templates/all.yaml"):
        changed(WEB, Set(pointer=f"{CONTAINER}/imagePullPolicy", value="Always"), case_with(), checkout)


@pytest.mark.parametrize(
    ("helm", "pointer"),
    [
        (
            {"valueFiles": ["values-prod.yaml"], "valuesObject": {"logLevel": "error"}},
            "valuesObject/logLevel",
        ),
        (
            {"valueFiles": ["values-prod.yaml"], "parameters": [{"name": "logLevel", "value": "error"}]},
            "parameters/0/value",
        ),
    ],
    ids=["valuesObject", "parameter"],
)
def test_the_application_overrides_the_files(helm: Object, pointer: str, checkout: Checkout) -> None:
    """Argo CD's order: values files, inline values, parameters."""
    body = app(helm)
    written = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
    written += "metadata: {name: shop, namespace: argocd}\nspec:\n  source:\n    helm:\n"
    written += (
        "      valuesObject:\n        logLevel: error   # loud\n"
        if "valuesObject" in helm
        else "      parameters:\n      - name: logLevel\n        value: error   # loud\n"
    )
    (checkout.root / "apps.yaml").write_text(written)
    case = case_of(body, desired(config_map(level="error")), desired(deployment()))
    change = changed(SETTINGS, Set(pointer="/data/level", value="debug"), case, checkout)
    assert change.path == "apps.yaml"
    line = 8 if "valuesObject" in helm else 9
    expected = f"set logLevel in apps.yaml:{line} (/spec/source/helm/{pointer} of Application argocd/shop)"
    assert change.place == expected
    assert change.after == written.replace("error   # loud", "debug   # loud")


def test_inline_values_are_a_text_of_which_one_line_changes(checkout: Checkout) -> None:
    helm: Object = {"valueFiles": ["values-prod.yaml"], "values": "# inline\nlogLevel: error   # loud\n"}
    written = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
    written += "metadata: {name: shop, namespace: argocd}\nspec:\n  source:\n    helm:\n"
    written += "      values: |\n        # inline\n        logLevel: error   # loud\n"
    (checkout.root / "apps.yaml").write_text(written)
    case = case_of(app(helm), desired(config_map(level="error")), desired(deployment()))
    change = changed(SETTINGS, Set(pointer="/data/level", value="debug"), case, checkout)
    assert change.after == written.replace("error   # loud", "debug   # loud")
    assert change.place.startswith("set logLevel in apps.yaml:9 ")


def test_other_parameters_than_simple_ones_stay_in_effect(checkout: Checkout) -> None:
    parameters: list[Json] = [
        {"name": "podAnnotations.example\\.com/size", "value": "8m"},
        {"name": "podAnnotations.list", "value": "{a,b}"},
    ]
    helm: Object = {"valueFiles": ["values-prod.yaml"], "parameters": parameters}
    case = case_of(app(helm), desired(config_map()), desired(deployment()))
    change = changed(SETTINGS, Set(pointer="/data/level", value="debug"), case, checkout)
    assert change.place == f"set logLevel in {CHART}/values-prod.yaml:4"


def test_a_source_of_plain_files_next_to_a_chart(checkout: Checkout) -> None:
    """An app with several sources: each object is edited in the one that declares it."""
    extra = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata:\n  a: x   # why\n"
    (checkout.root / "plain").mkdir()
    (checkout.root / "plain/extra.yaml").write_text(extra)
    body = app()
    spec = fields(body["spec"])
    chart = fields(spec.pop("source"))
    helm: Object = {"valueFiles": [f"$values/{CHART}/values-prod.yaml"]}
    reference: Object = {"repoURL": chart["repoURL"], "ref": "values"}
    plain: Object = {"repoURL": chart["repoURL"], "path": "plain"}
    spec["sources"] = [{**chart, "helm": helm}, reference, plain]
    ref = Ref(version="v1", kind="ConfigMap", namespace="shop", name="extra")
    there: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extra"},
        "data": {"a": "x"},
    }
    case = case_of(body, desired(config_map()), desired(there))
    change = changed(SETTINGS, Set(pointer="/data/level", value="debug"), case, checkout)
    assert change.place == f"set logLevel in {CHART}/values-prod.yaml:4"
    change = changed(ref, Set(pointer="/data/a", value="z"), case, checkout)
    assert (change.path, change.after) == ("plain/extra.yaml", extra.replace("x   #", "z   #"))


def test_the_set_that_generates_the_application_is_named(checkout: Checkout) -> None:
    body = app({"parameters": [{"name": "logLevel", "value": "error"}]})
    fields(body["metadata"])["ownerReferences"] = [{"kind": "ApplicationSet", "name": "shops"}]
    case = case_of(body, desired(config_map(level="error")), desired(deployment(tag="1.0")))
    with pytest.raises(Refused) as caught:
        changed(SETTINGS, Set(pointer="/data/level", value="debug"), case, checkout)
    assert caught.value.next == "change the template or the generator of ApplicationSet shops"


def test_other_applications_that_read_the_file_are_named(checkout: Checkout) -> None:
    other = app({"valueFiles": ["values-staging.yaml"]}, name="shop-staging")
    edit = Set(pointer="/data/mode", value="slow")
    change = changed(SETTINGS, edit, case_with(None, other), checkout)
    assert change.check.endswith("changes; it is also read by argocd/shop-staging")
    level = Set(pointer="/data/level", value="debug")
    assert "also read" not in changed(SETTINGS, level, case_with(None, other), checkout).check


def test_another_commit_is_refused(checkout: Checkout) -> None:
    with pytest.raises(Refused, match="differs at /data/level from the manifest that was diagnosed"):
        changed(SETTINGS, Set(pointer="/data/level", value="debug"), case_with(level="trace"), checkout)


def test_from_the_command_line(checkout: Checkout, tmp_path_factory: pytest.TempPathFactory) -> None:
    writer: Object = {
        "manager": "kubectl-edit",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-03-01T10:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:level": {}}},
    }
    meta: Object = {"name": "settings", "namespace": "shop", "managedFields": [writer]}
    live: Object = {**config_map(level="debug"), "metadata": meta}
    facts = bundle(
        tmp_path_factory.mktemp("facts"), app(), desired(config_map()), desired(deployment()), live
    )
    command = [
        sys.executable,
        "-m",
        "whysync",
        "fix",
        "shop",
        "--bundle",
        facts,
        "--checkout",
        str(checkout.root),
    ]
    shown = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, check=False)
    assert "values-prod.yaml" in shown.stdout, shown.stderr
    done = subprocess.run([*command, "--write"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"# set logLevel in {CHART}/values-prod.yaml:4\n" in done.stdout
    assert "# rendered again with Helm: only /data/level of ConfigMap shop/settings changes\n" in done.stdout
    after = (checkout.root / CHART / "values-prod.yaml").read_text()
    assert after == FILES["values-prod.yaml"].replace("warn", "debug")


# --- Kustomize ---------------------------------------------------------------------------------------

OVERLAY = "overlays/prod"
KUSTOMIZATION = """\
# production
resources:
- ../../base
- extra.yaml
namePrefix: prod-
images:
- name: registry.example.com/shop
  newTag: "2.0"   # bumped by the release job
replicas:
- name: web
  count: 2
patches:
- path: level.yaml
"""
OVERLAYS = {
    "base/kustomization.yaml": "resources: [all.yaml]\n",
    "base/all.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  minReadySeconds: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "registry.example.com/shop:1.0"}]
""",
    f"{OVERLAY}/kustomization.yaml": KUSTOMIZATION,
    f"{OVERLAY}/extra.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n",
    f"{OVERLAY}/level.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  revisionHistoryLimit: 3
""",
    "overlays/canary/kustomization.yaml": "resources: [../prod]\n",
}
PROD_WEB = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="prod-web")


@pytest.fixture
def overlays(tmp_path: Path) -> Checkout:
    for name, content in OVERLAYS.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return Checkout(str(tmp_path))


def overlay_app(name: str = "shop", path: str = OVERLAY) -> Object:
    body = application(name)
    source: Object = {"repoURL": "https://git.example.com/shop.git", "path": path, "targetRevision": "main"}
    fields(body["spec"])["source"] = source
    return body


def overlay_case(*more: Object) -> Case:
    container: Object = {"name": "web", "image": "registry.example.com/shop:2.0"}
    spec: Object = {
        "replicas": 2,
        "minReadySeconds": 5,
        "revisionHistoryLimit": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
    }
    web: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "prod-web"},
        "spec": spec,
    }
    return case_of(overlay_app(), desired(web), *more)


NEW_PATCH = """\
patches:
- target:
    group: apps
    kind: Deployment
    name: web
  patch: |
    - op: replace
      path: /spec/minReadySeconds
      value: 9
"""


@pytest.mark.parametrize(
    ("edit", "place", "old", "new"),
    [
        (
            Set(pointer=f"{CONTAINER}/image", value="registry.example.com/shop:1.9"),
            f"set newTag of image registry.example.com/shop in {OVERLAY}/kustomization.yaml:8",
            'newTag: "2.0"',
            'newTag: "1.9"',
        ),
        (
            Set(pointer="/spec/replicas", value=5),
            f"set count of replicas web in {OVERLAY}/kustomization.yaml:11",
            "count: 2",
            "count: 5",
        ),
    ],
    ids=["image", "replicas"],
)
def test_the_overlay_is_edited_and_not_its_base(
    edit: Edit, place: str, old: str, new: str, overlays: Checkout
) -> None:
    change = changed(PROD_WEB, edit, overlay_case(), overlays)
    assert change.place == place
    assert change.path == f"{OVERLAY}/kustomization.yaml"
    assert change.after == KUSTOMIZATION.replace(old, new)
    assert change.check == f"rendered again with Kustomize: only {edit.pointer} of {PROD_WEB} changes"


def test_a_field_of_the_base_gets_a_patch_in_the_overlay(overlays: Checkout) -> None:
    without = KUSTOMIZATION.partition("patches:")[0]
    (overlays.root / OVERLAY / "kustomization.yaml").write_text(without)
    (overlays.root / OVERLAY / "level.yaml").unlink()
    edit = Set(pointer="/spec/minReadySeconds", value=9)
    change = changed(PROD_WEB, edit, overlay_case(), overlays)
    assert change.place == f"add a patch of Deployment web in {OVERLAY}/kustomization.yaml"
    assert change.after == without + NEW_PATCH


def test_a_patch_of_the_overlay_that_sets_the_field_is_edited(overlays: Checkout) -> None:
    change = changed(PROD_WEB, Set(pointer="/spec/revisionHistoryLimit", value=7), overlay_case(), overlays)
    assert change.place == f"change /spec/revisionHistoryLimit in {OVERLAY}/level.yaml:5"
    assert change.after == OVERLAYS[change.path].replace("Limit: 3", "Limit: 7")


@pytest.mark.parametrize(
    ("options", "edit", "old", "new"),
    [
        (
            {"replicas": [{"name": "web", "count": 2}]},
            Set(pointer="/spec/replicas", value=5),
            "count: 2",
            "count: 5",
        ),
        (
            {"images": ["registry.example.com/shop:2.0"]},
            Set(pointer=f"{CONTAINER}/image", value="registry.example.com/shop:1.9"),
            "shop:2.0",
            "shop:1.9",
        ),
    ],
    ids=["replicas", "image"],
)
def test_options_of_the_application_override_the_overlay(
    options: Object, edit: Edit, old: str, new: str, overlays: Checkout
) -> None:
    case = overlay_case()
    body = overlay_app()
    fields(fields(body["spec"])["source"])["kustomize"] = options
    written = dump({key: body[key] for key in ("apiVersion", "kind", "metadata", "spec")})
    (overlays.root / "app.yaml").write_text(written)
    case = case_of(body, *(manifest.body for manifest in case.desired))
    change = changed(PROD_WEB, edit, case, overlays)
    assert (change.path, change.after) == ("app.yaml", written.replace(old, new))


def test_what_nothing_in_the_overlay_can_change_is_refused(overlays: Checkout) -> None:
    case = overlay_case()
    body = overlay_app()
    patch = "- {op: add, path: /spec/minReadySeconds, value: 5}"
    options: Object = {"patches": [{"target": {"kind": "Deployment"}, "patch": patch}]}
    fields(fields(body["spec"])["source"])["kustomize"] = options
    case = case_of(body, *(manifest.body for manifest in case.desired))
    with pytest.raises(Refused) as caught:
        changed(PROD_WEB, Set(pointer="/spec/minReadySeconds", value=9), case, overlays)
    assert caught.value.why.endswith("spec.source.kustomize of the Application sets patches")


INLINE = """\
resources: [../../base]
configMapGenerator:
- name: tuning
  literals:
  - POOL=10   # per pod
  - MODE=fast
  files: [app.properties]
generatorOptions: {disableNameSuffixHash: true}
patches:
- target: {kind: Deployment}
  patch: |-
    - op: replace
      path: /spec/minReadySeconds
      value: 5   # slow start
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      template:
        spec:
          containers:
          - name: web
            imagePullPolicy: Always   # a moving tag
"""
TUNING = Ref(version="v1", kind="ConfigMap", namespace="shop", name="tuning")
WEB_OF_BASE = Ref(group="apps", version="v1", kind="Deployment", namespace="shop", name="web")


@pytest.mark.parametrize(
    ("ref", "edit", "line", "old", "new"),
    [
        (WEB_OF_BASE, Set(pointer="/spec/minReadySeconds", value=9), 14, "value: 5 ", "value: 9 "),
        (WEB_OF_BASE, Set(pointer=f"{CONTAINER}/imagePullPolicy", value="Never"), 24, "Always ", "Never "),
        (TUNING, Set(pointer="/data/POOL", value="20"), 5, "POOL=10 ", "POOL=20 "),
        (TUNING, Set(pointer="/data/app.properties", value="a=2\n"), 1, "a=1", "a=2"),
    ],
    ids=["json-patch", "merge-patch", "literal", "file"],
)
def test_patches_and_generators_of_the_overlay(
    ref: Ref, edit: Edit, line: int, old: str, new: str, overlays: Checkout
) -> None:
    folder = overlays.root / "overlays/inline"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(INLINE)
    (folder / "app.properties").write_text("a=1\n")
    container: Object = {
        "name": "web",
        "image": "registry.example.com/shop:1.0",
        "imagePullPolicy": "Always",
    }
    spec: Object = {
        "replicas": 1,
        "minReadySeconds": 5,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
    }
    web: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    data: Object = {"POOL": "10", "MODE": "fast", "app.properties": "a=1\n"}
    tuning: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tuning"}, "data": data}
    case = case_of(overlay_app(path="overlays/inline"), desired(web), desired(tuning))
    change = changed(ref, edit, case, overlays)
    assert change.place.endswith(f" in {change.path}:{line}")
    assert change.after == (change.before or "").replace(old, new)
    assert change.path == f"overlays/inline/{'app.properties' if line == 1 else 'kustomization.yaml'}"


def test_overlays_on_the_edited_one_are_named(overlays: Checkout) -> None:
    case = overlay_case(overlay_app("shop-canary", "overlays/canary"), overlay_app("shop-x", "overlays/x"))
    change = changed(PROD_WEB, Set(pointer="/spec/replicas", value=5), case, overlays)
    assert change.check.endswith("changes; it is also read by argocd/shop-canary")
