"""`tools/schemas.py` reads Go types."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]

TYPES = """package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const BoxOpen BoxState = "Open"

type BoxState string

type Amounts map[BoxState]resource.Quantity

// Lid closes a box.
// +structType=atomic
type Lid struct {
	// +default=ref(BoxOpen)
	State *BoxState `json:"state,omitempty" protobuf:"bytes,1,opt,name=state"`
}

type Common struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Common            `json:",inline"`
	// +patchMergeKey=name
	// +listType=map
	// +listMapKey=name
	// +listMapKey=kind
	Inner []Common `json:"inner,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	Lid   Lid      `json:"lid,omitempty"`
	Amounts Amounts `json:"amounts,omitempty"`
	Tags []string `json:"tags,omitempty" patchStrategy:"merge"`
	Hidden string `json:"-"`
}
"""
META = """package v1

type TypeMeta struct {
	Kind string `json:"kind,omitempty"`
}

type ObjectMeta struct {
	Created Time `json:"created,omitempty,omitzero"`
	Raw []byte `json:"raw,omitempty"`
}
"""
REGISTER = """package v1

const GroupName = "toys"

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Box{},
	)
}
"""
SCHEME = 'import toysv1 "k8s.io/api/toys/v1"\n'


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schemas_generator", ROOT / "tools" / "schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)

    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def test_tables_from_go_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = generator()
    base = tmp_path / "staging/src/k8s.io"
    sources = {
        "api/toys/v1/types.go": TYPES,
        "api/toys/v1/register.go": REGISTER,
        "apimachinery/pkg/apis/meta/v1/types.go": META,
        "apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go": "package v1\n",
        "kube-aggregator/pkg/apis/apiregistration/v1/types.go": "package v1\n",
        "client-go/kubernetes/scheme/register.go": SCHEME,
    }
    for name, text in sources.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)
    out = tmp_path / "out"
    monkeypatch.setattr(module, "OUT", out)
    module.main(tmp_path)
    index = json.loads((out / "index.json").read_text())
    assert index["toys/v1"] == {"package": "toys/v1", "scheme": True, "kinds": ["Box"]}
    table = json.loads((out / "toys.v1.json").read_text())
    assert table["atomic"] == ["Lid"]
    assert table["types"]["Lid"] == {"state": '*string|o|d="Open"'}
    assert table["types"]["Box"] == {
        "kind": "string|o",
        "metadata": "meta/v1.ObjectMeta|o",
        "name": "string",
        "inner": "[]Common|o|p=merge,retainKeys|k=name|l=name,kind",
        "lid": "Lid|o",
        "amounts": "{}quantity|o",
        "tags": "[]string|o|p=merge|set",
    }
    meta = json.loads((out / "meta.v1.json").read_text())
    assert meta["types"]["ObjectMeta"] == {"created": "time|o|z", "raw": "bytes|o"}
