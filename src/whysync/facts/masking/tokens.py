"""Tokens and keys that are recognized by their prefix or format, anywhere in a text."""

from __future__ import annotations

import re
from typing import Final

from whysync.lazy_pattern import lazy_pattern

# A part of each format, in lower case, for a first look at a text. It does not distinguish digits.
SUSPECT: Final = re.compile(
    r"-----begin|eyj|gh[opsur]_|github_pat_|gl[a-z]{2,6}-|glsa_|a[ks]ia|xox|xapp-|aiza|k_live_|k_test_|sk-|npm_|_v[0-9]_"
    r"|hv[sbr]\.|sg\.|ya[0-9]{2}\.|dckr_|pypi-|age-secret|shp(?:at|ca|pa|ss)_|at[abc]t|lin_api_|dapi|gocspx-|sq[0-9]"
    r"|whsec_"
    r"|pmak-|nrak-|hf_|key-|atlasv[0-9]|\$apr[0-9]\$|\$[0-9][aby]\$|\$[0-9y]\$|\$argon[0-9]"
)
PRIVATE_KEY: Final = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.*?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|.*\Z)",
    re.DOTALL,
)
TOKEN: Final = lazy_pattern(
    r"(?<![A-Za-z0-9_])(?:"
    r"gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|gl(?:pat|dt|rt|rtr|ptt|ft|soat|imt|agent|cbt|ffct|oas)-[A-Za-z0-9_.-]{15,}|glsa_[A-Za-z0-9_]{20,}"
    r"|A[KS]IA[A-Z0-9]{16}|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|AIza[A-Za-z0-9_-]{30,}"
    r"|[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}|sk-[A-Za-z0-9_-]{32,}"
    r"|npm_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{40,}|hv[sbr]\.[A-Za-z0-9_-]{20,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{20,}|dckr_pat_[A-Za-z0-9_-]{20,}"
    r"|pypi-[A-Za-z0-9_-]{16,}|AGE-SECRET-KEY-[A-Za-z0-9]{16,}|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}"
    r"|AT(?:ATT|BTT|CTT|ATB)[A-Za-z0-9_=-]{16,}|lin_api_[A-Za-z0-9]{16,}|dapi[a-f0-9]{32}(?:-\d)?"
    r"|GOCSPX-[A-Za-z0-9_-]{16,}|sq0(?:csp|atp|idp)-[A-Za-z0-9_-]{16,}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}"
    r"|NRAK-[A-Z0-9]{20,}|hf_[A-Za-z0-9]{30,}|key-[a-f0-9]{32}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)"
    # password hashes: bcrypt, Apache, crypt, Argon2
    r"|\$2[aby]\$\d\d\$[./A-Za-z0-9]{20,}|\$(?:apr1|[156y])\$[^\s$\"'<>]{1,40}\$[./A-Za-z0-9]{16,}"
    r"|\$argon2id?\$[^\s\"'<>]{20,}"
)
