"""Environment variables of model servers: how their threads wait, for libgomp, and the API key."""

from __future__ import annotations

QUIET_OPENMP = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
"""For processes that share cores and were not measured with spinning: the workers, and vLLM."""
OPENMP_ENV = {**QUIET_OPENMP, "GOMP_SPINCOUNT": "300"}
"""For llama.cpp. Each token has about 800 barriers. A short spin avoids a wake-up at each; a long one takes
the cores from Whisper. On two idle cores a token of the 1.5B model takes 83 ms without spinning, 42 with 300
and 46 with 20,000; next to one busy process 81, 86 and 481 (2026-11-23)."""
KEY_ENV = "LLAMA_API_KEY"
"""The name in llama.cpp's own server."""
