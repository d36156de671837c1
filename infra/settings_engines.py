"""Settings of recognizers, decode server and the trained model; part of `Settings`."""

from __future__ import annotations

from pydantic import Field, field_validator

from infra.settings_oidc import OidcSettings

VLLM = "vllm+"
"""Before the scheme of a vLLM server's URL."""


class EngineSettings(OidcSettings):
    """The engines, their addresses, and their limits."""

    whisper_model: str = "faster-whisper-base"
    """A name in the model lock (`faster-whisper-base`, `faster-whisper-tiny.en`), a path, or a hub name."""

    whisper_second: str = "faster-whisper-tiny.en"
    """As `whisper_model`: a second recognizer, used when the first is in doubt (English). Empty: none."""

    denoiser: str = "deepfilternet3.tar.gz"
    """As `whisper_model`: reduces noise for another transcription of a noisy recording when the first is in
    doubt (only as measured: Whisper base on a CPU, English). Empty: none."""

    threads: int = 2
    """CPU threads of one transcription, and of the embedded engine."""

    llm_url: str = ""
    """OpenAI-compatible server with guided decoding: llama.cpp's at `http://HOST:PORT`, vLLM at
    `vllm+http://HOST:PORT`. Empty: the embedded engine (`services.decoding.server`)."""

    llm_model: str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    """A name in the model lock, a path to a GGUF, or the name that an external server serves."""

    llm_api_key: str = ""
    """Sent as a bearer token to `llm_url`, if set. The embedded engine requires it; empty: it gets a new one
    at each start."""

    llm_timeout_s: float = 120.0
    """Timeout of one decode, after which it counts as an outage."""

    order_tokens: int = Field(128, ge=0)
    """Maximum tokens of a customer's words, about 100 words; the trained model's answer may have twice as
    many. The longest of 20,000 test orders has 97, the longest of their carts 151. Longer orders go to a
    person without decoding. 0: any number."""

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
        """`llm_url` without the prefix for its dialect."""
        return self.llm_url.removeprefix(VLLM)

    @property
    def llm_dialect(self) -> str:
        """The dialect of the server at `llm_url`: `llama.cpp` or `vllm`."""
        return "vllm" if self.llm_url.startswith(VLLM) else "llama.cpp"
