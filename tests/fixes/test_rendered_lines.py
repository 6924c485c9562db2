"""Where a field of a rendered object is written: template, base, patch or kustomization."""

from __future__ import annotations

import pytest

from whysync.fixes.lines import Position
from whysync.fixes.rendered_lines import KustomizedLines, in_template
from whysync.json_tree import Object
from whysync.manifests.configuration import Configuration
from whysync.manifests.files import File, Item
from whysync.manifests.read_files import Reader, tree_of

TEMPLATE = """\
{{- if .Values.enabled }}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    {{- include "labels" . | nindent 4 }}
  ports:
    - name: http
      port: 80000
    - name: grpc
      port: {{ .Values.port }}
      prot: TCP
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
dta:
  a: b
"""
SERVICE: Object = {
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"ports": [{"name": "http", "port": 80000}, {"name": "grpc", "port": 9, "prot": "TCP"}]},
}


@pytest.mark.parametrize(
    ("pointer", "line", "column", "literal"),
    [
        ("/spec/ports/0/port", 11, 7, True),
        ("/spec/ports/1/port", 13, 7, False),
        ("/spec/ports/1/prot", 14, 7, True),
        ("/spec/type", 6, 1, False),
        ("/metadata/name", 5, 3, False),
    ],
)
def test_a_field_of_a_template(pointer: str, line: int, column: int, literal: bool) -> None:
    position = in_template(TEMPLATE, SERVICE, pointer)
    assert (position.line, position.column, position.is_literal) == (line, column, literal)
    assert not position.is_fixed, "the document uses values"


def test_a_document_without_values_is_fixed() -> None:
    body: Object = {"kind": "ConfigMap", "metadata": {"name": "settings"}, "dta": {"a": "b"}}
    position = in_template(TEMPLATE, body, "/dta")
    assert (position.line, position.is_literal, position.is_fixed) == (20, True, True)


def test_an_object_that_a_helper_writes_is_at_the_first_line() -> None:
    position = in_template('{{ include "all" . }}\n', SERVICE, "/spec/ports/0/port")
    assert (position.line, position.is_literal) == (1, False)


FILES = {
    "base/kustomization.yaml": "resources: [web.yaml]\n",
    "base/web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: LoadBalancr\n",
    "prod/kustomization.yaml": (
        "resources: [../base]\nnamePrefix: my-\npatches:\n  - path: patch.yaml\n"
        "  - target: {kind: Service}\n    patch: |\n      - {op: add, path: /spec/typo, value: 1}\n"
    ),
    "prod/patch.yaml": "kind: Service\napiVersion: v1\nmetadata: {name: web}\nspec:\n  clusterIp: a\n",
}
RENDERED: Object = {
    "kind": "Service",
    "metadata": {"name": "my-web"},
    "spec": {"type": "LoadBalancr", "clusterIp": "a", "typo": 1},
}


@pytest.mark.parametrize(
    ("pointer", "path", "position"),
    [
        ("/spec/type", "base/web.yaml", Position(5, 3)),
        ("/spec/clusterIp", "prod/patch.yaml", Position(5, 3)),
        ("/spec/typo", "prod/kustomization.yaml", Position(7, 31)),
        ("/spec/missing", "base/web.yaml", Position(4, 1)),
    ],
)
def test_a_field_of_a_kustomization(pointer: str, path: str, position: Position) -> None:
    reader = Reader(Configuration())
    files = [reader.read(name, content.encode()) for name, content in FILES.items()]
    tree = tree_of(files, Configuration())
    items: dict[str, list[Item]] = {}
    for item in tree.items:
        items.setdefault(item.file.path, []).append(item)
    by_path: dict[str, File] = {file.path: file for file in files}
    lines = KustomizedLines(by_path, items)
    kustomizations = ["prod/kustomization.yaml", "base/kustomization.yaml"]
    place = lines.position(RENDERED, pointer, "base/web.yaml", ["prod/patch.yaml"], kustomizations)
    assert place == (path, position)
