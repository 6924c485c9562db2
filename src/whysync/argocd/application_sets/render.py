"""Fill templates of ApplicationSets with parameters.

Mirrors `Render` of applicationset/utils, Argo CD 3.6: Go templates, or else fasttemplate, which replaces
`{{name}}` by a parameter of that name and leaves unknown names as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from whysync.argocd.application_sets.functions import FUNCTIONS
from whysync.golang.template.errors import TemplateError
from whysync.golang.template.execute import execute
from whysync.golang.template.values import from_json
from whysync.json_tree import Json, Object

_TEMPLATED: Final = re.compile(r"\{\{.*\}\}")
_TAG: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_MISSING_KEY: Final = "missingkey="
_MISSING_KEYS: Final = {"default": "default", "invalid": "default", "zero": "zero", "error": "error"}


class Renderer(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.goTemplate` and `spec.goTemplateOptions`."""

    is_go: bool = False
    options: tuple[str, ...] = ()

    def text(self, template: str, params: Object, *, missing_key: str = "") -> str:
        """One string. Raises `TemplateError`, `NotEvaluated`."""
        if not self.is_go:
            return _fast_template(template, params)
        if "{{" not in template:
            return template
        return execute(template, params, FUNCTIONS, missing_key=missing_key or self._missing_key())

    def value(self, template: Json, params: Object) -> Json:
        """All strings and keys below a value."""
        if isinstance(template, str):
            return self.text(template, params)
        if isinstance(template, dict):
            return {
                self.text(key, params): self.value(below, params)
                for key, below in template.items()
                if below is not None
            }
        return [self.value(below, params) for below in template] if isinstance(template, list) else template

    def values(self, templates: Object, params: Object) -> Object:
        """The `values` of a generator in a matrix: what is not a parameter yet is left for later.

        Mirrors the filter of `RenderGeneratorParams`.
        """
        resolved: Object = {}
        for key, template in templates.items():
            if not isinstance(template, str):
                resolved[key] = template
                continue
            try:
                resolved[key] = self.text(template, params, missing_key="error")
            except TemplateError as problem:
                if not problem.is_missing_key:
                    raise
                resolved[key] = template
        return resolved

    def _missing_key(self) -> str:
        chosen = "default"
        for option in self.options:
            name = option.removeprefix(_MISSING_KEY)
            if not option.startswith(_MISSING_KEY) or name not in _MISSING_KEYS:
                raise TemplateError(f"unrecognized option: {option}")
            chosen = _MISSING_KEYS[name]
        return chosen


def _fast_template(template: str, params: Object) -> str:
    if _TEMPLATED.search(template) is None:
        return template
    if template.rfind("{{") > template.rfind("}}"):
        raise TemplateError("invalid template: Cannot find end tag")

    def replacement(tag: re.Match[str]) -> str:
        value = params.get(tag[1].strip())
        return value if isinstance(value, str) and tag[1].strip() else tag[0]

    return _TAG.sub(replacement, template)


def go_params(params: Object) -> Object:
    """Parameters with the number types that Go templates get."""
    return {key: from_json(value) for key, value in params.items()}


def unresolved(texts: Sequence[str]) -> str:
    """The first `{{name}}` that is left in one of the texts."""
    return next((tag[0] for text in texts for tag in _TAG.finditer(text)), "")
