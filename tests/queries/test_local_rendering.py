"""The command that renders a source on the user's machine: the chart, values and folder of Argo CD."""

from __future__ import annotations

import pytest

from tests.situations import application, case_of
from whysync.json_tree import Object
from whysync.messages.parse import understand
from whysync.queries.local_rendering import folder_of, helm_template, render_to_file, tool_of

GIT: Object = {"repoURL": "https://git.example.com/shop.git", "targetRevision": "main", "path": "charts/shop"}
APPLICATION = "kubectl -n argocd get application.argoproj.io shop -o"


def rendered(source: Object) -> list[str]:
    case = case_of(application(spec={"source": source}))
    return list(helm_template(case, case.app.sources[0]))


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        (GIT, "charts/shop"),
        (
            {**GIT, "helm": {"valueFiles": ["values.yaml", "../prod.yaml", "/all.yaml", "$env/a.yaml"]}},
            "charts/shop -f charts/shop/values.yaml -f charts/prod.yaml -f all.yaml -f ENV_CHECKOUT/a.yaml",
        ),
        (
            {**GIT, "helm": {"parameters": [{"name": "a.b", "value": "x y"}]}},
            "charts/shop --set 'a.b=x y'",
        ),
        (
            {**GIT, "helm": {"parameters": [{"name": "a", "value": "1", "forceString": True}]}},
            "charts/shop --set-string a=1",
        ),
        (
            {"repoURL": "https://charts.example.com", "chart": "web", "targetRevision": "1.2.3"},
            "web --repo https://charts.example.com --version 1.2.3",
        ),
        (
            {"repoURL": "ghcr.io/acme", "chart": "web", "targetRevision": "1.2.3"},
            "oci://ghcr.io/acme/web --version 1.2.3",
        ),
    ],
)
def test_helm_template(source: Object, arguments: str) -> None:
    assert rendered(source) == [f"helm template shop {arguments} -n shop"]


def test_values_of_the_application_come_after_its_files() -> None:
    values: Object = {"valueFiles": ["a.yaml"], "valuesObject": {"x": 1}, "values": "x: 2"}
    assert rendered({**GIT, "helm": values}) == [
        f"{APPLICATION} 'jsonpath={{.spec.source.helm.valuesObject}}' > app-values.yaml",
        "helm template shop charts/shop -f charts/shop/a.yaml -f app-values.yaml -n shop",
    ]


@pytest.mark.parametrize(
    ("source", "status", "tool"),
    [
        (GIT, {}, ""),
        (GIT, {"sourceType": "Kustomize"}, "Kustomize"),
        ({**GIT, "helm": {"releaseName": "a"}}, {}, "Helm"),
        ({**GIT, "kustomize": {"namePrefix": "a"}}, {}, "Kustomize"),
        ({"repoURL": "ghcr.io/acme", "chart": "web"}, {}, "Helm"),
    ],
)
def test_which_tool_renders_it(source: Object, status: Object, tool: str) -> None:
    case = case_of(application(spec={"source": source}, status=status))
    assert tool_of(case, case.app.sources[0]) == tool
    commands = " ".join(render_to_file(case, case.app.sources[0], "charts/shop"))
    assert ("helm template" in commands) == (tool in ("Helm", ""))
    assert ("kustomize build" in commands) == (tool in ("Kustomize", ""))


def test_the_folder_of_the_message_comes_first() -> None:
    case = case_of(application(spec={"source": GIT}))
    source = case.app.sources[0]
    message = understand("Unable to generate manifests in helm/Dev: rpc error: code = Unknown desc = broken")
    assert folder_of(message, source) == "helm/Dev"
    assert folder_of(understand("broken"), source) == "charts/shop"
