"""The Applications of an ApplicationSet. Mirrors `GenerateApplications`, Argo CD 3.6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whysync.argocd.app_controller.deletion.finalizers import RESOURCES
from whysync.argocd.application_sets.errors import NotExpanded
from whysync.argocd.application_sets.functions import merged_maps
from whysync.argocd.application_sets.generators import Generators
from whysync.argocd.application_sets.inputs import GeneratorInputs
from whysync.argocd.application_sets.render import Renderer, unresolved
from whysync.golang.template.errors import NotEvaluated, TemplateError
from whysync.json_tree import Json, Object, copy_object, fields, items, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.merge.merge_patch import merge_patch

_MAX_APPLICATIONS: Final = 1000


def expanded(body: Object, inputs: GeneratorInputs) -> list[Object]:
    """The Applications of an ApplicationSet; raises `NotExpanded`."""
    try:
        applications = list(_Set(body, inputs).applications())
    except TemplateError as problem:
        raise NotExpanded(f"Argo CD reports an error in its template: {problem}") from problem
    except NotEvaluated as problem:
        raise NotExpanded(str(problem)) from problem
    except RecursionError:
        raise NotExpanded("it is nested too deeply") from None
    names = [text(fields(application.get("metadata")).get("name")) for application in applications]
    left = unresolved(names)
    if left:
        raise NotExpanded(f"no generator has a parameter for {left} in the name of its Applications")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise NotExpanded(f"Argo CD reports: it contains applications with duplicate name: {twice}")
    if not all(names):
        raise NotExpanded("Argo CD reports: it contains an application with no name")
    return applications


class _Set:
    def __init__(self, body: Object, inputs: GeneratorInputs) -> None:
        self._meta = fields(body.get("metadata"))
        self._spec = fields(body.get("spec"))
        options = tuple(text(option) for option in items(self._spec.get("goTemplateOptions")))
        self._renderer = Renderer(is_go=self._spec.get("goTemplate") is True, options=options)
        self._generators = Generators(text(self._meta.get("name")), self._renderer, inputs)

    def applications(self) -> Iterator[Object]:
        count = 0
        for generator in items(self._spec.get("generators")):
            for kind, params in self._generators.results(fields(generator)):
                own = fields(fields(fields(generator).get(kind)).get("template"))
                template = _merged_template(own, fields(self._spec.get("template")))
                for param in params:
                    count += 1
                    if count > _MAX_APPLICATIONS:
                        raise NotExpanded(f"it generates more than {_MAX_APPLICATIONS} Applications")
                    yield self._application(template, param)

    def _application(self, template: Object, params: Object) -> Object:
        filled = fields(self._renderer.value(template, params)) if params else copy_object(template)
        meta = fields(filled.get("metadata"))
        finalizers = self._finalizers(meta) if params else {}
        application: Object = {"metadata": {**meta, **finalizers}, "spec": fields(filled.get("spec"))}
        application = self._patched(application, params)
        return {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Application",
            "metadata": {
                **fields(application.get("metadata")),
                "namespace": text(self._meta.get("namespace")) or "argocd",
            },
            "spec": fields(application.get("spec")),
        }

    def _finalizers(self, meta: Object) -> Object:
        """The finalizer that deletes the objects with the Application, unless the set preserves them or the
        template has finalizers.

        Mirrors the end of `RenderTemplateParams`.
        """
        policy = fields(self._spec.get("syncPolicy"))
        if meta.get("finalizers") or policy.get("preserveResourcesOnDeletion") is True:
            return {}
        return {"finalizers": [RESOURCES]}

    def _patched(self, application: Object, params: Object) -> Object:
        """The Application with the `templatePatch`. Mirrors `applyTemplatePatch`: the project stays.

        Of all lists, only the finalizers are merged.
        """
        template = self._spec.get("templatePatch")
        if not isinstance(template, str):
            return application
        try:
            patch = yaml.load(self._renderer.text(template, params))
        except yaml.Invalid as problem:
            raise NotExpanded(f"its templatePatch is no YAML: {problem}") from None
        if patch is None:
            return application
        if not isinstance(patch, dict) or _has_directives(patch):
            raise NotExpanded("its templatePatch is no object, or has directives of strategic merge patches")
        patched = merge_patch(application, patch)
        finalizers = [
            *items(fields(application.get("metadata")).get("finalizers")),
            *items(fields(patch.get("metadata")).get("finalizers")),
        ]
        if finalizers:
            patched["metadata"] = {
                **fields(patched.get("metadata")),
                "finalizers": [*dict.fromkeys(map(text, finalizers))],
            }
        spec = fields(patched.get("spec"))
        project = fields(application.get("spec")).get("project")
        return {
            **patched,
            "spec": {**spec, "project": project} if project is not None else _without(spec, "project"),
        }


def _merged_template(own: Object, common: Object) -> Object:
    """The template of a generator, completed by that of the set."""
    return merged_maps(copy_object(own), copy_object(common)) if own else common


def _without(value: Object, key: str) -> Object:
    return {name: below for name, below in value.items() if name != key}


def _has_directives(value: Json) -> bool:
    if isinstance(value, dict):
        return any(key.startswith("$") or _has_directives(below) for key, below in value.items())
    return isinstance(value, list) and any(map(_has_directives, value))
