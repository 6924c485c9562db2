"""Mask the objects and texts of one run, so that equal secrets have equal masks everywhere.

Two passes. The first goes by location and format: Secret data, names that indicate a secret, tokens. The
second goes by value, when all secrets are known. Both change the trees in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from typing import Final, cast

import msgspec

from whysync.facts.masking import commands, text_patterns
from whysync.facts.masking.harmless import HarmlessTexts, KnownTexts, without_managed_fields
from whysync.facts.masking.known_secrets import KnownSecrets
from whysync.facts.masking.masks import Masks, from_base64, is_mask
from whysync.facts.masking.secret_names import (
    Secrecy,
    is_literal,
    is_password,
    secrecy_at,
    secrecy_below,
    secrecy_of,
    secrecy_of_path,
)
from whysync.facts.masking.secret_producers import PUBLIC_KEYS, SECRET_PRODUCERS, mask_produced, names_in
from whysync.facts.masking.values import split_literal
from whysync.json_tree import Json, Object, dig, fields, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.encoded_json import escaped
from whysync.kubernetes.merge.last_applied import LAST_APPLIED
from whysync.lazy_pattern import lazy_pattern

# Numbers, addresses, digests and uids, and times: no pattern of `text_patterns` and `tokens` matches them.
_HARMLESS = re.compile(r"[0-9a-f.:-]*|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z")
_START = lazy_pattern(r"\s*(?:[{\[]|---|- |(?:apiVersion|kind|metadata|type|data|stringData):)")
_LARGEST: Final = 2 << 20  # more than an API server accepts; a long log is not a manifest
# `"data": {…}`, in JSON, in JSON inside a text, in YAML's flow style
_BRACES = lazy_pattern(
    r"(?P<lead>\b(?:data|stringData)\\*[\"']?\s{0,4}:\s{0,4}\{)(?P<body>[^{}]*[^{}\s][^{}]*)"
)
_BLOCK = lazy_pattern(
    r"^(?P<lead>(?P<indent>[ \t]*)(?:- )?[\"']?(?:data|stringData)[\"']?:[ \t]*\r?\n)"
    r"(?P<body>(?:(?P=indent)[ \t]+\S[^\n]*\n?|[ \t]*\r?\n)+)",
    re.MULTILINE,
)

SECRET_TYPE_LABEL: Final = "argocd.argoproj.io/secret-type"
_MAX_NESTED_TEXTS: Final = 3
_MOST_TEXTS: Final = 50_000
# Where the value of a `name` is: of a variable, or of a plugin's parameter.
_VALUES: Final = ("value", "string", "array", "map", "default")
# Fields because of which other values of the same map may be secret.
_FIELDS: Final = frozenset({"kind", "stringData", "patch", "command", *_VALUES})


class _SecretFound(Exception):
    """`is_clean` found a value to mask."""


class Masker:
    def __init__(self) -> None:
        self._only_looks = False
        self._masks = Masks()
        self._known = KnownSecrets()
        self._sensitive: set[str] = set()
        self._texts: dict[str, str] = {}
        self._keys: set[str] = set()
        self._hidden: dict[str, str] = {}
        self._nested = 0
        self._harmless = HarmlessTexts()
        self._public = KnownTexts(lambda text: self._known.masked(text) == text)

    # Files as bytes, before they are parsed

    def next_input(self) -> None:
        self._masks.next_input()

    def renumbered(self, data: bytes) -> bytes:
        return self._masks.renumbered(data)

    # Single values

    def mark(self, value: str) -> str:
        """The mask of a secret value; empty values and masks are returned unchanged."""
        if not value or is_mask(value):
            return value
        if self._only_looks:
            raise _SecretFound
        mark = self._masks.mark(value.encode("utf-8", "surrogatepass"))
        self._known.add(value, mark)
        return mark

    def mark_secret(self, value: str) -> str:
        """The mask of a Secret's `stringData` value."""
        mark = self.mark(value)
        if mark is not value:
            self._add_inner_secrets(value)
        return mark

    def mark_base64(self, value: str) -> str:
        """The mask of a Secret's `data` value: the same as that of its decoded bytes."""
        if not value or is_mask(value):
            return value
        data = from_base64(value)
        if data is None:
            return self.mark_secret(value)
        if not data:
            return ""
        if self._only_looks:
            raise _SecretFound
        mark = self._masks.mark(data)
        try:
            plain = data.decode()
        except UnicodeDecodeError:
            self._known.add(value, mark)
            return mark
        self._known.add(plain, mark)
        self._add_inner_secrets(plain)
        return mark

    def _add_inner_secrets(self, plain: str) -> None:
        """Credentials inside a secret file (a docker config, a kubeconfig, a DSN) may also appear alone."""
        text_patterns.masked_lines(plain, self.mark)
        if plain[:1] != "{":
            return
        try:
            inner = yaml.load(plain)
        except yaml.Invalid:
            return
        self.mask_tree(inner)
        for entry in fields(fields(inner).get("auths")).values():
            self.mark(text(fields(entry).get("auth")))

    # The first pass: by location and format

    def add_sensitive_annotations(self, names: Iterable[str]) -> None:
        """Annotations listed in `resource.sensitive.mask.annotations` of argocd-cm."""
        self._sensitive.update(name.strip() for name in names if name.strip())

    @property
    def has_sensitive_annotations(self) -> bool:
        return bool(self._sensitive)

    def is_harmless(self, body: Object, encoded: bytes) -> bool:
        """Do the texts of the object, which is also given as JSON, prove that it is clean?"""
        return not self._sensitive and self._harmless.pass_all(without_managed_fields(body, encoded))

    def are_harmless(self, encoded: Iterable[bytes]) -> bool:
        """Do the texts of all these objects, given as JSON, prove that they are clean?"""
        return not self._sensitive and self._harmless.pass_all(b",".join(encoded))

    def texts_to_look_at(self, alike: set[bytes], files: Iterable[bytes]) -> list[bytes] | None:
        """Of the texts in files of JSON, also in JSON, those because of which an object may not be clean.

        `alike` are all texts with their digits alike. `None`: any object may contain something to mask.
        """
        if self._sensitive:
            return None
        failing = self._harmless.failing_in(alike, files)
        return None if failing is None else [b'"%b"' % escaped(text) for text in failing]

    def is_clean(self, body: Object) -> bool:
        """Does the object contain nothing to mask, apart from values that occur in a Secret elsewhere?

        Nothing is masked yet: masks are numbered in the order of the Snapshot, not of the files.
        """
        self._only_looks = True
        try:
            self.mask_object(body)
        except _SecretFound:
            return False
        finally:
            self._only_looks = False
            self._nested = 0
        if len(self._texts) > _MOST_TEXTS or len(self._keys) > _MOST_TEXTS:
            self.forget_texts()
        return True

    def forget_texts(self) -> None:
        """Forget what was seen by `is_clean`: these objects are searched for known secrets one by one."""
        self._texts.clear()
        self._keys.clear()
        self._harmless.forget()

    def masked_text(self, value: str) -> str:
        """A message or log without secrets that are recognized by their format."""
        masked_value = self._texts.get(value)
        if masked_value is None and _HARMLESS.fullmatch(value):
            masked_value = self._texts[value] = value
        if masked_value is None:
            plain = self._mask_embedded(value) if text_patterns.contains_secret(value) else value
            masked_value = self._texts[value] = text_patterns.masked(plain, self.mark)
            # The second pass has to search for the values that the trees contain now.
            self._texts.setdefault(masked_value, masked_value)
        return masked_value

    def mask_object(self, body: Object) -> Object:
        """Mask one Kubernetes object in place."""
        self._mask_annotations(body, is_secret=body.get("kind") == "Secret")
        if body.get("kind") == "ConfigMap":
            self._mask_config_map(body)
        return cast("Object", self.mask_tree(body))

    def mask_tree(self, value: Json) -> Json:
        if isinstance(value, dict):
            self._mask_dict(value, Secrecy.NONE)
            return value
        if isinstance(value, list):
            self._mask_list(value, Secrecy.NONE)
            return value
        return self.masked_text(value) if isinstance(value, str) else value

    def _mask_dict(self, body: Object, below: Secrecy, *, is_schema: bool = False) -> None:
        """`below` is what a name further up indicates for the values in here."""
        if not body.keys().isdisjoint(_FIELDS):
            self._mask_fields(body)
        # This runs for every map of every object: calls and lookups are kept out of it where possible.
        texts, none = self._texts, Secrecy.NONE
        if not self._only_looks:
            self._keys.update(body)
        for key, value in body.items():
            if isinstance(value, dict):
                if not value:
                    continue
                if key == "helm":
                    self._mask_helm(value)
                # In a schema the keys are field names, and what is below describes the fields.
                inner = secrecy_below(key) if below is none else secrecy_at(key, below)
                self._mask_dict(value, none if is_schema else inner, is_schema=key == "properties")
            elif isinstance(value, list):
                if key != "managedFields":
                    self._mask_list(value, max(secrecy_of(key), secrecy_at(key, below)))
                elif not self._only_looks:
                    self._keys.update(names_in(value))
            elif value is not None and value is not True and value is not False:
                secrecy = secrecy_of(key)
                if below is not none:
                    secrecy = max(secrecy, secrecy_at(key, below))
                if (
                    secrecy is not none
                    and (isinstance(value, str) or is_password(key) or below is Secrecy.SURE)
                    and not _names_key(key, body)
                ):
                    value = body[key] = self._by_name(value, secrecy)
                if isinstance(value, str):
                    known = texts.get(value)
                    if known is not value:
                        body[key] = self.masked_text(value) if known is None else known

    def _mask_fields(self, body: Object) -> None:
        """Values that are secret because of other fields of the same map."""
        self._mask_kinds(body)
        if not body.keys().isdisjoint(_VALUES):
            self._mask_named_values(body)
        if type(body.get("patch")) is str:
            self._mask_patch(body)
        command, arguments = body.get("command"), body.get("args")
        if isinstance(command, list) and isinstance(arguments, list) and command:
            self._mask_arguments(arguments, text(command[0]))

    def _mask_kinds(self, body: Object) -> None:
        """Secrets, and objects from which Secrets are created."""
        kind = body.get("kind")
        if type(kind) is str and "Secret" in kind:
            if kind == "Secret":
                if "data" in body or "stringData" in body:
                    self._mask_annotations(body, is_secret=True)
                    self._mask_secret(body)
            elif kind.endswith(SECRET_PRODUCERS):
                mask_produced(fields(body.get("spec")), self._by_name)
        elif kind == "Fake":  # a generator of External Secrets
            mask_produced(fields(body.get("spec")), self._by_name)
        if kind != "Secret" and isinstance(body.get("stringData"), dict):
            self._mask_values(fields(body["stringData"]), self.mark_secret)

    def _mask_list(self, values: list[Json], secrecy: Secrecy) -> None:
        for value in values:
            if isinstance(value, str) and (value[:1] == "-" or value == "login"):
                self._mask_arguments(values)
                break
        for at, value in enumerate(values):
            if isinstance(value, dict):
                self._mask_dict(value, min(secrecy, Secrecy.HINT))
            elif isinstance(value, list):
                self._mask_list(value, secrecy)
            elif isinstance(value, str):
                if secrecy is not Secrecy.NONE:
                    lead, literal = split_literal(value)
                    value = values[at] = f"{lead}{self._by_name(literal, secrecy)}"
                values[at] = self.masked_text(value)

    def _mask_arguments(self, values: list[Json], program: str = "") -> None:
        """Passwords in a list of arguments: `["--password", "x"]`, `["redis-cli", "-a", "x"]`."""
        arguments = [value if isinstance(value, str) else "" for value in values]
        for at, offset in commands.secret_items(arguments, program):
            values[at] = f"{arguments[at][:offset]}{self.mark(arguments[at][offset:])}"

    def _by_name(self, value: Json, secrecy: Secrecy) -> Json:
        if secrecy is Secrecy.NONE or value is None or isinstance(value, bool):
            return value
        if isinstance(value, dict):
            self._mask_dict(value, secrecy)
            return value
        if isinstance(value, list):
            self._mask_list(value, secrecy)
            return value
        if isinstance(value, str):
            return self.mark(value) if is_literal(value, secrecy) else value
        return self.mark(str(value)) if secrecy > Secrecy.HINT else value

    def _mask_secret(self, body: Object) -> None:
        public = PUBLIC_KEYS if self._is_argocd_credential(body) else frozenset[str]()
        for field, mark in (("data", self.mark_base64), ("stringData", self.mark_secret)):
            values = body.get(field)
            if values is None:
                continue
            if not isinstance(values, dict):
                body[field] = self.mark(_as_text(values))
                continue
            self._mask_values(
                values,
                mark,
                keep={key for key in values if key in public and self._is_public(values[key], field)},
            )

    def _mask_values(
        self, values: Object, mark: Callable[[str], str], *, keep: Set[str] = frozenset()
    ) -> None:
        for key, value in values.items():
            if value is not None and key not in keep:
                values[key] = mark(value if isinstance(value, str) else _as_text(value))

    def _mask_named_values(self, body: Object) -> None:
        """`{name: DB_PASSWORD, value: …}`, a plugin's parameter, or one step of a JSON patch."""
        name = body.get("name", body.get("key"))
        if type(name) is not str and "op" in body:
            name = body.get("path")
        secrecy = secrecy_of_path(name) if type(name) is str else Secrecy.NONE
        if secrecy is Secrecy.NONE:
            return
        for field in _VALUES:  # in this order, because masks are numbered
            if field in body:
                body[field] = self._by_name(body[field], secrecy)

    def _mask_patch(self, body: Object) -> None:
        """A Kustomize patch: text that contains YAML."""
        patch = text(body["patch"])
        if dig(body, "target", "kind") == "Secret":
            body["patch"] = self.mark(patch)
        elif not is_mask(patch):
            body["patch"] = self._mask_file(patch, whole_if_broken=True)

    def _is_argocd_credential(self, body: Object) -> bool:
        return bool(text(fields(fields(body.get("metadata")).get("labels")).get(SECRET_TYPE_LABEL)))

    def _is_public(self, value: Json, field: str) -> bool:
        """A URL with a password in it is not public."""
        if not isinstance(value, str):
            return False
        if field == "stringData":
            return self.masked_text(value) == value
        data = from_base64(value)
        if data is None:
            return False
        plain = data.decode("utf-8", "replace")
        return self.masked_text(plain) == plain

    def _mask_annotations(self, body: Object, *, is_secret: bool) -> None:
        annotations = fields(fields(body.get("metadata")).get("annotations"))
        for name, value in annotations.items():
            if not isinstance(value, str) or is_mask(value):
                continue
            if name in self._sensitive:
                annotations[name] = self.mark(value)
            elif name == LAST_APPLIED and (is_secret or self._is_suspect(value)):
                annotations[name] = self._mask_json(value)

    def _is_suspect(self, value: str) -> bool:
        """May the text contain a secret? If not, that is remembered, so that it is not searched again."""
        if text_patterns.is_suspect(value):
            return True
        if not text_patterns.contains_secret(value):
            self._texts.setdefault(value, value)
        return False

    def _mask_json(self, text: str) -> str:
        """An object inside text: masked and written again, or masked completely if it cannot be parsed."""
        try:
            inner = yaml.load(text)
        except yaml.Invalid:
            return self.mark(text)
        if not isinstance(inner, dict):
            return self.mark(text)
        before = msgspec.json.encode(inner)
        self.mask_object(inner)
        after = msgspec.json.encode(inner)
        return text if after == before else after.decode()

    def _mask_config_map(self, body: Object) -> None:
        """Configuration files: by their keys if they can be parsed, otherwise line by line."""
        labels = fields(fields(body.get("metadata")).get("labels"))
        for field in ("data", "binaryData"):
            values = fields(body.get(field))
            for key, value in values.items():
                if not isinstance(value, str) or is_mask(value):
                    continue
                if key == "release" and labels.get("owner") == "helm":
                    values[key] = self.mark(value)  # a packed Helm release, rendered Secrets included
                elif field == "data" and ("\n" in value or value[:1] in "{["):
                    values[key] = self._mask_file(value, whole_if_broken=False)

    def _mask_helm(self, helm: Object) -> None:
        """`helm.values` of a source, wherever an Application repeats it: spec, operation, history."""
        values = helm.get("values")
        if isinstance(values, str) and not is_mask(values):
            helm["values"] = self._mask_file(values, whole_if_broken=True)

    def _mask_file(self, text: str, *, whole_if_broken: bool) -> str:
        if not self._is_suspect(text):
            return text
        bodies = self._read(text)
        if bodies is not None and all(isinstance(body, (dict, list)) for body in bodies):
            return self._mask_bodies(text, bodies)
        broken = bodies is None and self._nested < _MAX_NESTED_TEXTS
        return self.mark(text) if broken and whole_if_broken else text_patterns.masked_lines(text, self.mark)

    def _mask_embedded(self, text: str) -> str:
        """Text that contains a Secret's manifest: as an object if it is nothing else, otherwise by its
        format.
        """
        bodies = self._read(text) if _may_be_an_object(text) else None
        if bodies is not None and all(isinstance(body, (dict, list)) for body in bodies):
            return self._mask_bodies(text, bodies)
        return _masked_data(text, self.mark)

    def _read(self, text: str) -> list[Json] | None:
        """The documents of a text; `None` if one of them cannot be parsed."""
        documents = list(yaml.documents(text)) if self._nested < _MAX_NESTED_TEXTS else []
        bodies = [document.body for document in documents if isinstance(document, yaml.Document)]
        return bodies if bodies and len(bodies) == len(documents) else None

    def _mask_bodies(self, text: str, bodies: list[Json]) -> str:
        """The text with its objects masked; unchanged if nothing had to be masked."""
        before = [msgspec.json.encode(body) for body in bodies]
        self._nested += 1
        for body in bodies:
            if isinstance(body, dict):
                self.mask_object(body)
            else:
                self.mask_tree(body)
        self._nested -= 1
        after = [msgspec.json.encode(body) for body in bodies]
        if after == before:
            return text
        if len(bodies) == 1 and text.lstrip()[:1] in ("{", "["):
            return after[0].decode()
        return "---\n".join(map(yaml.dump, bodies))

    # The second pass: by value

    @property
    def knows_secrets(self) -> bool:
        return bool(self._known)

    def finish_first_pass(self, names: Iterable[str]) -> bool:
        """The set of secrets is complete; `names` are public. Does any secret occur anywhere else?

        Every distinct text is checked once, which usually is all that is needed.
        """
        self._public.forget()  # the secrets of another instance may have been added
        if self._known:
            self._known.forget_names(names)
            for value in self._keys.union(self._texts.values()):
                masked_value = self._known.masked(value)
                if masked_value is not value:
                    self._hidden[value] = masked_value
        self._texts = {}
        return bool(self._hidden)

    def hide_known(self, value: Json) -> Json:
        """The tree without secrets found in the first pass; keys of maps are checked too."""
        hidden = self._hidden
        if isinstance(value, str):
            return hidden.get(value, value)
        if isinstance(value, dict):
            for key, item in value.items():
                if item and type(item) is not bool:
                    value[key] = self.hide_known(item)
            if not hidden.keys().isdisjoint(value):
                entries = list(value.items())
                value.clear()
                value.update((hidden.get(key, key), item) for key, item in entries)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                value[at] = self.hide_known(item)
        return value

    def may_contain_known(self, encoded: bytes) -> bool:
        """May this JSON contain a secret found in the first pass?"""
        return not self._public.pass_all(encoded)

    def contains_known(self, value: Json) -> bool:
        """Does the tree contain a secret found in the first pass? If so, `hide_known` hides it."""
        texts = set(names_in(value))
        for known in texts:
            masked_value = self._known.masked(known)
            if masked_value is not known:
                self._hidden[known] = masked_value
        return not self._hidden.keys().isdisjoint(texts)

    def hidden_text(self, value: str) -> str:
        """A text that is not part of a tree."""
        return self._known.masked(value)


def _names_key(key: str, body: Object) -> bool:
    """Is it the name of a key, as in `{secretKey: PASSWORD, remoteRef: …}` of an ExternalSecret?"""
    return key == "secretKey" and ("remoteRef" in body or "sourceRef" in body)


def _as_text(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def _may_be_an_object(text: str) -> bool:
    """Is it worth parsing?"""
    return len(text) <= _LARGEST and _START.match(text) is not None


def _masked_data(text: str, mark: Callable[[str], str]) -> str:
    """Mask everything below `data` and `stringData`, each value as one mask."""
    text = _BRACES.sub(lambda match: f"{match['lead']}{_marked(match['body'], mark)}", text)
    return _BLOCK.sub(
        lambda match: f"{match['lead']}{match['indent']}  {_marked(match['body'], mark)}\n", text
    )


def _marked(body: str, mark: Callable[[str], str]) -> str:
    return mark(body.strip())
