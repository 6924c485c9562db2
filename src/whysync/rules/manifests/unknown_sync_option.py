"""A sync option of an Application that Argo CD does not know.

## Why
Options are whole words, upper and lower case included: what is misspelt is passed over without a word.

## Bad
```yaml
syncPolicy:
  syncOptions:
    - CreateNamespaces=true
```

## Good
```yaml
syncPolicy:
  syncOptions:
    - CreateNamespace=true
```
"""

from __future__ import annotations

from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Set
from whysync.json_tree import dig, items, text
from whysync.manifests.argocd_annotations import SYNC_OPTIONS, in_right_letters
from whysync.manifests.check import Found, Layer, check
from whysync.manifests.remark import AutoFix, Remark
from whysync.manifests.similar_names import near
from whysync.manifests.tree import Tree


@check(Layer.ARGOCD, Severity.WARNING)
def unknown_sync_option(tree: Tree) -> Found:
    for app in tree.app_specs:
        for number, raw in enumerate(items(dig(app.spec, "syncPolicy", "syncOptions"))):
            option = text(raw)
            if not option or option in SYNC_OPTIONS or "{{" in option:
                continue
            meant = in_right_letters(option, SYNC_OPTIONS) or near(option, SYNC_OPTIONS)
            pointer = f"{app.at}/syncPolicy/syncOptions/{number}"
            mend = (
                AutoFix(title=f"Write {meant}", edits=(Set(pointer=pointer, value=meant),)) if meant else None
            )
            yield (
                app.item,
                Remark(
                    message=f"Argo CD knows no sync option {option}: it is passed over",
                    field=pointer,
                    hint=f"did you mean {meant}?" if meant else "",
                    mend=mend,
                ),
            )
