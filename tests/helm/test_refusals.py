"""Invalid values are refused before anything is created, by name and without secrets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helm.charts import CHART, Refused, helm
from tests.helm.tools import HELMS

# Refused by the schema, all at once.
MISSHAPEN = """
replicaCount: 3
api: { replicas: two, proxies: ['*'], replica: 1 }
workers:
  heard: {}
  sweeper: { keda: { enabled: true } }
  transcribe: { threads: 0 }
  decode: { concurrency: 1000, resources: { limits: { memory: lots } } }
settings: { SAYCART_MAX_BACKLOG: 20000, LOG_LEVEL: DEBUG }
reader: { replicas: 0 }
images: { worker: { digest: 'sha256:12' } }
decoder: { kind: gpt, url: 'http://one:8000,http://two:8000' }
recordings: { url: 'https://bucket', accessModes: [ReadOnlyMany] }
networkPolicy: { callers: [{}] }
secrets: { create: { SAYCART_SECRET: 12345678901234567890123456789012, PASSWORD: hush } }
"""
NAMED = [
    "replicaCount", "api.replicas", "api.proxies.0", "replica", "heard", "keda", "workers.transcribe.threads",
    "workers.decode.concurrency", "workers.decode.resources.limits.memory", "settings.SAYCART_MAX_BACKLOG",
    "LOG_LEVEL", "images.worker.digest", "decoder.kind", "decoder.url", "recordings.url",
    "reader.replicas", "recordings.accessModes.0", "networkPolicy.callers.0",
    "secrets.create.SAYCART_SECRET", "PASSWORD",
]  # fmt: skip

# Each is valid alone, but contradicts or requires another.
UNFIT = [
    (
        """
        secrets: { existing: saycart }
        settings: { SAYCART_LLM_URL: 'http://x', SAYCART_SECRET: hush, SAYCART_KEY: hush }
        images: { api: { tag: latest } }
        api: { autoscaling: { enabled: true, minReplicas: 9, maxReplicas: 3 } }
        workers: { decode: { keda: { enabled: true, minReplicas: 30 } } }
        decoder: { kind: vllm, url: 'http://x' }
        reader: { adapter: '' }
        recordings: { kind: s3 }
        weights: { from: volume }
        ingress: { enabled: true, paths: [/metrics] }
        monitoring: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } }
        """,
        [
            "settings.SAYCART_LLM_URL: the chart sets it itself; use decoder.url",
            "settings.SAYCART_SECRET: a secret does not belong in a ConfigMap",
            "settings.SAYCART_KEY: a secret does not belong in a ConfigMap",
            "images.api.tag: latest is another release tomorrow",
            "api.autoscaling: minReplicas is over maxReplicas",
            "workers.decode.keda requires keda.serverAddress",
            "workers.decode.keda: minReplicas is over maxReplicas",
            "decoder.url is for decoder.kind external, and it is vllm",
            "decoder.model qwen2.5-coder-1.5b-instruct-q4_k_m.gguf: vLLM loads no GGUF",
            "is served by vLLM with its adapter, and reader.adapter names none",
            "recordings.url names no bucket",
            "weights.existingClaim names none",
            "ingress.enabled requires ingress.host",
            "ingress.enabled requires ingress.tlsSecret",
            "ingress.enabled requires networkPolicy.callers",
            "ingress.paths: /metrics is for the cluster alone",
            "monitoring.serviceMonitor requires keySecret",
            "monitoring.prometheusRule requires files: --set-file",
        ],
    ),
    (
        """
        decoder: { kind: external, model: Qwen/Qwen2.5-Coder-7B-Instruct }
        """,
        [
            "name a Secret in secrets.existing, or set secrets.create.DATABASE_URL",
            "or set secrets.create.REDIS_URL",
            "or set secrets.create.SAYCART_SECRET",
            "decoder.url names no server",
        ],
    ),
    (
        """
        secrets: { create: { DATABASE_URL: 'sqlite:///hush', REDIS_URL: 'redis://hush', SAYCART_SECRET: a } }
        decoder: { apiKey: true }
        limits: { shared: true }
        """,
        [
            "secrets.create.DATABASE_URL: several machines need PostgreSQL",
            "secrets.create.SAYCART_SECRET: each secret has 32 characters or more; openssl rand -hex 32",
            "decoder.apiKey requires secrets.create.SAYCART_LLM_API_KEY",
            "limits.shared requires secrets.create.SAYCART_LIMITS_URL",
        ],
    ),
    (
        """
        secrets: { existing: saycart }
        decoder: { kind: vllm, model: qwen2.5-coder-0.5b-instruct-q4_k_m.gguf, vllm: { existingClaim: some } }
        """,
        ["reader.adapter qwen2.5-coder-1.5b-orders was not made for decoder.model qwen2.5-coder-0.5b"],
    ),
]


def refusal(binary: Path, values: str, folder: Path) -> str:
    file = folder / "values.yaml"
    file.write_text(values)
    with pytest.raises(Refused) as caught:
        helm(binary, "template", "shop", str(CHART), "-f", str(file))
    # Helm 4 names places as /api/replicas, Helm 3 as api.replicas.
    return re.sub(r"'/([^' ]*)'", lambda found: found[1].replace("/", "."), str(caught.value))


def test_misshapen_values_are_refused_by_name(helm_binary: Path, tmp_path: Path) -> None:
    said = refusal(helm_binary, MISSHAPEN, tmp_path)
    assert [name for name in NAMED if not re.search(rf"\b{re.escape(name)}\b", said)] == []
    assert "hush" not in said
    assert "1234567890" not in said


@pytest.mark.parametrize(("values", "says"), UNFIT)
def test_conflicting_values_are_refused_with_what_they_require(
    tools_folder: Path, tmp_path: Path, values: str, says: list[str]
) -> None:
    said = refusal(tools_folder / f"helm-{list(HELMS)[-1]}", values, tmp_path)
    assert [words for words in says if words not in said] == []
    assert said.count("\n- ") == len(says), said
    assert "hush" not in said
