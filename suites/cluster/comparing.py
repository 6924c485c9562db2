"""What differs between two answers, in words."""

from __future__ import annotations

import json

from whysync.json_tree import Json, Object, fields, items


def differences(real: Object, model: Object) -> list[str]:
    """Each as `where: real …, model …`; empty when the two say the same."""
    if real == model:
        return []
    if real.get("code") == model.get("code") and _same_causes(real, model):
        return []
    if real.get("code") != model.get("code"):
        return [
            f"code: real {real.get('code')} {_message(real)}, model {model.get('code')} {_message(model)}"
        ]
    return list(_walk(real, model, ""))


def _same_causes(real: Object, model: Object) -> bool:
    """Several errors at once come in the order of a Go map, which is random: any order is right."""
    ours, theirs = fields(model.get("status")), fields(real.get("status"))
    causes = [_sorted(fields(item.get("details")).get("causes")) for item in (ours, theirs)]
    if len(causes[0]) < 2 or causes[0] != causes[1]:
        return False
    letters = [sorted(str(item.get("message"))) for item in (ours, theirs)]
    return letters[0] == letters[1]


def _sorted(causes: Json) -> list[str]:
    return sorted(json.dumps(cause, sort_keys=True) for cause in items(causes))


def _message(answer: Object) -> str:
    result = fields(answer.get("status")).get("message") or answer.get("text") or ""
    return _shown(result)


def _walk(real: Json, model: Json, path: str) -> list[str]:
    if isinstance(real, dict) and isinstance(model, dict):
        result: list[str] = []
        for key in sorted({*real, *model}):
            inner = f"{path}.{key}" if path else key
            if key not in model:
                result.append(f"{inner}: only real: {_shown(real[key])}")
            elif key not in real:
                result.append(f"{inner}: only model: {_shown(model[key])}")
            else:
                result.extend(_walk(real[key], model[key], inner))
        return result
    if isinstance(real, list) and isinstance(model, list) and len(real) == len(model):
        return [
            problem
            for at, (real_item, model_item) in enumerate(zip(real, model, strict=True))
            for problem in _walk(real_item, model_item, f"{path}[{at}]")
        ]
    if real == model and isinstance(real, bool) == isinstance(model, bool):
        return []
    return [f"{path}: real {_shown(real)}, model {_shown(model)}"]


def _shown(value: Json, limit: int = 700) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
