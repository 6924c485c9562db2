"""Texts of the ApplicationSet controller."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ErrorOccurred",
        "",
        (
            ("appset-error", "error generating params from git: failed to get params"),
            (
                "appset-error",
                "failed to execute go template {{.path.basename}}: template: :1:2: executing "
                '"" at <.path.basename>: map has no entry for key "path"',
            ),
            (
                "appset-error",
                "application destination spec is invalid: application destination can't have "
                "both name and server defined: in-cluster https://kubernetes.default.svc",
            ),
            (
                "appset-error project-denied",
                "application spec for shop is invalid: InvalidSpecError: application "
                "destination server 'x' and namespace 'y' do not match any of the allowed "
                "destinations in project 'z'",
            ),
            (
                "appset-error",
                "unable to process file 'apps/a/config.json' from repository "
                "'https://git.example.com/x.git': unable to parse file: error unmarshaling "
                "JSON: while decoding JSON: json: cannot unmarshal string into Go value of "
                "type map[string]interface {}",
            ),
            (
                "appset-error",
                "scm provider not allowed: scm provider https://github.example.com not "
                "allowed; must use one of the following",
            ),
            (
                "appset-error",
                'error fetching Github token: error fetching secret argocd/gh: Secret "gh" not found',
            ),
            (
                "appset-error",
                'failed to parse template {{ .x | foo }}: template: :1: function "foo" not defined',
            ),
        ),
    ),
)
