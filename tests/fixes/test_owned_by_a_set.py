from __future__ import annotations

import pytest

from tests.rules.bench import HERE, load_case
from whysync import app
from whysync.argocd.api.application import Application
from whysync.diagnosis.case import Case
from whysync.diagnosis.fix import FixKind
from whysync.fixes.formats import as_commands
from whysync.fixes.patches import patch_text
from whysync.json_tree import copy_object, fields
from whysync.kubernetes.api.decode import decode


@pytest.mark.parametrize("owned", [True, False])
def test_a_change_of_an_app_that_a_set_makes_says_who_will_revert_it(owned: bool) -> None:
    case = load_case(HERE / "drift" / "replicas_owned_by_autoscaler" / "autoscaled_deployment")
    body = copy_object(case.application.body)
    if owned:
        fields(body["metadata"])["ownerReferences"] = [{"kind": "ApplicationSet", "name": "shops"}]
    typed, _ = decode(body, Application)
    assert typed is not None
    report = app.diagnose([Case(case.index, case.application.with_body(body), typed)])
    fixes = [fix for finding in report.apps[0].findings for fix in finding.fixes]
    changed = [fix.risk for fix in fixes if fix.kind is FixKind.APPLICATION]
    assert changed
    assert all(("ApplicationSet shops" in risk) is owned for risk in changed)
    after_fix = report.apps[0].case
    for fix in fixes:
        if fix.kind is FixKind.APPLICATION:
            texts = (patch_text(fix, after_fix).splitlines()[0], as_commands(fix, after_fix)[0])
            assert all(("spec.template of ApplicationSet shops" in text) is owned for text in texts)
            assert all(("kubectl" in text) is not owned for text in texts)
    assert not any("ApplicationSet" in fix.risk for fix in fixes if fix.kind is not FixKind.APPLICATION)
