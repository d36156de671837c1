"""Variables of the environment that model servers are started with: how their threads wait for each other,
which libgomp reads when it loads, and the key that they ask for."""

from __future__ import annotations

QUIET_OPENMP = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
"""For what shares the cores with others and was not measured with more: the workers, and vLLM."""
OPENMP_ENV = {**QUIET_OPENMP, "GOMP_SPINCOUNT": "300"}
"""For llama.cpp. A token has some 800 barriers: a short spin saves waking at each, a long one takes the cores
from Whisper. On two idle cores a token of the 1.5B takes 83 ms without spinning, 42 with 300 and 46 with
20,000; next to one busy process 81, 86 and 481 (2026-11-23)."""
KEY_ENV = "LLAMA_API_KEY"
"""As llama.cpp's own program calls it."""
