"""A field that its kind does not have.

## Why
Argo CD asks the API server for strict validation: the sync fails with `unknown field`. Where validation is
off, the field is dropped, and what it was meant to say never happens.

## Bad
```yaml
kind: Deployment
spec:
  replica: 3
```

## Good
```yaml
kind: Deployment
spec:
  replicas: 3
```
"""

from __future__ import annotations

from whysync.contracts.pointer import resolve
from whysync.contracts.tree import Missing
from whysync.diagnosis.finding import Severity
from whysync.diagnosis.fix import Remove, Set
from whysync.lint.check import Found, Layer, check
from whysync.lint.item import Item
from whysync.lint.remark import Mend, Remark
from whysync.lint.schemas.misfit import How, Misfit
from whysync.lint.tree import Tree


@check(Layer.SCHEMA, Severity.CRITICAL)
def unknown_field(tree: Tree) -> Found:
    for item, misfit in tree.misfits:
        if misfit.how is How.UNKNOWN:
            yield (
                item,
                Remark(
                    message=f"{item.ref.kind} has {misfit.text.replace('unknown field', 'no field')}",
                    field=misfit.pointer,
                    hint=f"did you mean {misfit.better}?" if misfit.better else "",
                    mend=_mend(item, misfit),
                ),
            )


def _mend(item: Item, misfit: Misfit) -> Mend | None:
    """Another spelling only where upper and lower case is all that differs."""
    above, _, name = misfit.pointer.rpartition("/")
    value = resolve(item.body, misfit.pointer)
    if not misfit.better or misfit.better.lower() != name.lower() or isinstance(value, Missing):
        return None
    edits = (Remove(pointer=misfit.pointer), Set(pointer=f"{above}/{misfit.better}", value=value))
    return Mend(title=f"Call it {misfit.better}", edits=edits, safe=True)
