"""Shared libraries inside the wheels of the default install, which no lock names.

Read from an installed environment, x86-64 Linux. A library that `LIBRARIES` does not have is refused, so that
a new version of a wheel can't bring another licence unseen.
"""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

_LGPL_OR_GPL = "LGPL-3.0-or-later OR GPL-2.0-or-later"
_GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"
# The SPDX licence of each library's project.
LIBRARIES: dict[str, str] = {
    **dict.fromkeys(("avcodec", "avdevice", "avfilter", "avformat", "avutil"), "LGPL-3.0-or-later"),
    **dict.fromkeys(("swresample", "swscale"), "LGPL-3.0-or-later"),
    **dict.fromkeys(("x264", "x265"), "GPL-2.0-or-later"),
    **dict.fromkeys(("asound", "gnutls", "crypt", "keyutils"), "LGPL-2.1-or-later"),
    **dict.fromkeys(("gmp", "hogweed", "nettle", "unistring"), _LGPL_OR_GPL),
    **dict.fromkeys(("gfortran", "gomp"), _GCC),
    **dict.fromkeys(("Xau", "drm", "vpl", "xcb", "xcb-shape", "xcb-shm", "xcb-xfixes"), "MIT"),
    **dict.fromkeys(("com_err", "gssapi_krb5", "k5crypto", "krb5", "krb5support"), "MIT"),
    **dict.fromkeys(("opus", "sharpyuv", "vpx", "webp", "webpmux", "scipy_openblas64_"), "BSD-3-Clause"),
    **dict.fromkeys(("ecpg", "pgtypes", "pq"), "PostgreSQL"),
    **dict.fromkeys(("crypto", "ssl", "opencore-amrnb", "opencore-amrwb"), "Apache-2.0"),
    **dict.fromkeys(("lber", "ldap"), "OLDAP-2.8"),
    "SvtAv1Enc": "BSD-3-Clause-Clear",
    "ctranslate2": "MIT",
    "dav1d": "BSD-2-Clause",
    "mp3lame": "LGPL-2.0-or-later",
    "quadmath": "LGPL-2.1-or-later",
    "readline": "GPL-3.0-or-later",
    "sasl2": "BSD-Attribution-HPND-disclaimer",
    "tinfo": "X11",
}  # fmt: skip


def site() -> Path:
    """Return this environment's site-packages."""
    return Path(sysconfig.get_path("platlib"))


def libraries(folder: Path) -> dict[str, list[str]]:
    """Return the shared libraries in `.libs` by wheel, without the hashes that auditwheel adds."""
    found: dict[str, list[str]] = {}
    for libs in sorted(folder.glob("*.libs")):
        names = {plain(file.name) for file in libs.iterdir()}
        found[libs.name.removesuffix(".libs").replace("_", "-")] = sorted(names, key=str.lower)
    return found


def plain(file: str) -> str:
    """Return a shared library's name without `lib`, hash and extension."""
    return re.sub(r"^lib|(-[0-9a-f]{8})+\.so.*$|-?\.so.*$", "", file)
