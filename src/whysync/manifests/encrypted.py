"""Recognize encrypted files and values: only what is readable in them can be checked.

SOPS encrypts single values and adds its own field to each document; git-crypt, Ansible Vault and age encrypt
whole files. A SealedSecret is an ordinary custom resource.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Missing, Object

_SOPS: Final = "sops"
_SOPS_FIELDS: Final = frozenset({"mac", "lastmodified"})
_SOPS_VALUE: Final = "ENC["
_WHOLE_FILE: Final = (
    (b"\0GITCRYPT\0", "git-crypt"),
    (b"$ANSIBLE_VAULT;", "Ansible Vault"),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", "age"),
    (b"age-encryption.org/", "age"),
    (b"-----BEGIN PGP MESSAGE-----", "PGP"),
)
_VAULT_VALUE: Final = "$ANSIBLE_VAULT;"


def encryption_of(data: bytes) -> str:
    """The program that encrypted the whole file; empty if it is readable."""
    start = data[:256].lstrip(b" \r\n\t\xef\xbb\xbf")
    return next((program for mark, program in _WHOLE_FILE if start.startswith(mark)), "")


def has_vault_values(content: str) -> bool:
    """Does it contain values of Ansible Vault (`!vault`), a tag that only Ansible reads?"""
    return _VAULT_VALUE in content


def is_sops(body: Json) -> bool:
    """Did SOPS encrypt this document? Its field has a checksum and the time of the change."""
    sops = body.get(_SOPS) if isinstance(body, dict) else None
    return isinstance(sops, dict) and not _SOPS_FIELDS.isdisjoint(sops)


def without_sops(body: Object) -> Object:
    """The document without the field that SOPS removes when it decrypts."""
    return {key: value for key, value in body.items() if key != _SOPS}


def is_encrypted(value: Json | Missing) -> bool:
    """Is it a value that SOPS or Ansible Vault encrypted?"""
    if not isinstance(value, str):
        return False
    return (value.startswith(_SOPS_VALUE) and value.endswith("]")) or value.startswith(_VAULT_VALUE)
