"""Settings of recognisers, decode server and the learned reader; part of `Settings`."""

from __future__ import annotations

from pydantic import Field, field_validator

from infra.settings_oidc import OidcSettings

VLLM = "vllm+"
"""Before the scheme of a vLLM server's URL."""


class EngineSettings(OidcSettings):
    """Which engines there are, where they serve, and which orders they are asked about."""

    whisper_model: str = "faster-whisper-base"
    """A name in the model lock (`faster-whisper-base`, `faster-whisper-tiny.en`), a path, or a hub name."""

    whisper_second: str = "faster-whisper-tiny.en"
    """As `whisper_model`: a second recogniser, asked where the first is in doubt (English). Empty: none."""

    denoiser: str = "deepfilternet3.tar.gz"
    """As `whisper_model`: what turns noise down for one more hearing, where the first leaves doubt and there
    is noise (where it was measured: Whisper base on a CPU, English). Empty: none."""

    threads: int = 2
    """CPU threads of one transcription, and of the embedded engine."""

    whisper_device: str = "cpu"
    """`cpu` (int8) or `cuda` (float16)."""

    llm_url: str = ""
    """OpenAI-compatible server with guided decoding: llama.cpp's at `http://HOST:PORT`, vLLM at
    `vllm+http://HOST:PORT`. Empty: the embedded engine (`services.decoding.server`)."""

    llm_model: str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    """A name in the model lock, a path to a GGUF, or the name that an external server serves."""

    llm_api_key: str = ""
    """Sent as a bearer token to `llm_url`, if set. The embedded engine asks for it; empty: for a new one at
    each start."""

    llm_timeout_s: float = 120.0
    """One decode; past it the attempt counts as an outage."""

    order_tokens: int = Field(128, ge=0)
    """Tokens of the model that a customer's words may take, some 100 words; the learned reader's answer may
    take twice as many. The longest of 20,000 test orders takes 97, the longest of their carts 151. Past it no
    model is asked, and a person takes the order. 0: any number."""

    @field_validator("llm_url")
    @classmethod
    def _one_address(cls, url: str) -> str:
        if "," in url:
            raise ValueError(
                "takes one address; put several servers behind one: "
                "a Kubernetes Service, HAProxy or vLLM's router"
            )
        return url.strip()

    @property
    def llm_base(self) -> str:
        """`llm_url` as it is asked, without what says its kind."""
        return self.llm_url.removeprefix(VLLM)

    @property
    def llm_dialect(self) -> str:
        """How the server of `llm_url` takes a grammar: `llama.cpp` or `vllm`."""
        return "vllm" if self.llm_url.startswith(VLLM) else "llama.cpp"
