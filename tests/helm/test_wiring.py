"""The settings and secrets that each part reads, and where they come from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.settings import REPOSITORY, Settings
from infra.weights.adapters import adapter_for
from services.decoding.hosts.embedded import CONTEXT
from services.decoding.server.__main__ import _parser as reader_words
from services.decoding.server.state_folder import MAX_BYTES
from tests.helm.charts import CHART, VALUES, Rendered, render
from tests.helm.tools import HELMS
from tests.servers import vllm as vllm_server

KNOWN = {f"SAYCART_{field.upper()}" for field in Settings.model_fields}
NOT_SETTINGS = {"SAYCART_READY_FILE"}
SECRETS: dict[str, set[str]] = {
    "DATABASE_URL": {"api", "transcribe", "decode", "sweeper", "courier", "migrate"},
    "REDIS_URL": {"api", "transcribe", "decode", "sweeper"},
    "SAYCART_SECRET": {"api"},
    "SAYCART_LLM_API_KEY": {"api", "decode"},
    "SAYCART_LIMITS_URL": {"api"},
    "SAYCART_OIDC_CLIENT_SECRET": {"api"},
}


def test_names_in_the_charts_text_are_settings() -> None:
    for file in CHART.rglob("*"):
        if file.is_file():
            assert set(re.findall(r"SAYCART_[A-Z_]+[A-Z]", file.read_text())) <= KNOWN | NOT_SETTINGS, (
                file.name
            )


def test_the_settings_are_taken(chart: Rendered, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(chart.settings) <= KNOWN
    for name, value in chart.settings.items():
        monkeypatch.setenv(name, value)
    wanted = Settings()
    assert str(wanted.home) == "/data"


def test_no_secret_stands_where_everybody_reads(whole: Rendered) -> None:
    for manifest in whole.manifests:
        if manifest["kind"] != "Secret":
            assert "tell-nobody" not in json.dumps(manifest), manifest["metadata"]["name"]
    shown = json.dumps(whole.of("Secret"))
    planted = set(re.findall(r"tell-nobody-\d", (VALUES / "whole.yaml").read_text()))
    assert planted == set(re.findall(r"tell-nobody-\d", shown))


def test_each_part_reads_the_secrets_that_it_needs(whole: Rendered) -> None:
    readers: dict[str, set[str]] = {}
    for part, pod in whole.pods.items():
        for variable, (_, key) in pod.secrets(pod.main).items():
            assert variable == key
            readers.setdefault(key, set()).add(part)
        assert not any(pod.secrets(one) for one in pod.spec.get("initContainers", ()))
    assert readers == SECRETS


def test_what_is_read_by_reference_is_made(whole: Rendered) -> None:
    made = {one["metadata"]["name"]: set(one["stringData"]) for one in whole.of("Secret")}
    maps = {one["metadata"]["name"] for one in whole.of("ConfigMap")}
    for pod in whole.pods.values():
        for name, key in pod.secrets(pod.main).values():
            assert key in made[name]
        assert {source["configMapRef"]["name"] for source in pod.main.get("envFrom", ())} <= maps


def test_the_migration_comes_first_and_brings_what_it_reads(whole: Rendered) -> None:
    """During an install only earlier hooks exist when a hook runs."""
    hooks = {
        (one["kind"], one["metadata"]["name"]): int(one["metadata"]["annotations"]["helm.sh/hook-weight"])
        for one in whole.manifests
        if "helm.sh/hook" in one["metadata"].get("annotations", {})
    }
    job = whole.pods["migrate"]
    weight = hooks["Job", "shop-saycart-migrate"]
    for source in job.main["envFrom"]:
        assert hooks["ConfigMap", source["configMapRef"]["name"]] < weight
    for secret, _ in job.secrets(job.main).values():
        assert hooks["Secret", secret] < weight
    assert "serviceAccountName" not in job.spec
    assert not any("persistentVolumeClaim" in volume for volume in job.spec["volumes"])
    assert whole.settings["SAYCART_MIGRATE_AT_START"] == "false"


def test_recordings_outlive_the_release(whole: Rendered) -> None:
    kept = {
        one["metadata"]["name"]
        for one in whole.of("PersistentVolumeClaim")
        if one["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"
    }
    assert kept == {"shop-saycart-recordings"}


def test_recordings_are_where_api_hearing_and_sweeper_find_them(chart: Rendered) -> None:
    users = {"api", "transcribe", "sweeper"}
    for part in set(chart.pods) - {"vllm", "reader", "weights"}:
        main = chart.pods[part].main
        mounted = any(mount["mountPath"] == "/data/recordings" for mount in main["volumeMounts"])
        keys = any(source.get("secretRef") for source in main["envFrom"])
        s3 = "SAYCART_RECORDINGS_URL" in chart.settings
        assert (mounted, keys) == ((part in users and not s3), (part in users and s3)), part


def test_the_chart_has_the_decode_server_where_nothing_else_decodes(chart: Rendered, case: str) -> None:
    assert ("reader" in chart.pods) is (case in ("smallest", "whole", "reader"))


def test_the_reader_is_started_as_the_workers_expect_it(whole: Rendered) -> None:
    reader = whole.pods["reader"]
    assert reader.main["command"] == ["python", "-m", "services.decoding.server"]
    args = reader_words().parse_args(reader.main["args"])
    assert (args.host, args.port) == ("0.0.0.0", reader.main["ports"][0]["containerPort"])
    assert args.model.name == whole.settings["SAYCART_LLM_MODEL"]
    assert REPOSITORY / args.adapter == adapter_for(args.model.name)
    assert args.context == CONTEXT
    assert reader.main["image"].startswith("saycart-llm:")
    (mount,) = [one for one in reader.main["volumeMounts"] if one["mountPath"] == str(args.states)]
    (volume,) = [one for one in reader.spec["volumes"] if one["name"] == mount["name"]]
    assert volume["emptyDir"]["sizeLimit"] == "2Gi"
    assert MAX_BYTES < 2 * 2**30


def test_vllm_reads_with_the_adapter_of_the_model_that_it_serves(tools_folder: Path) -> None:
    chart = render(tools_folder / f"helm-{list(HELMS)[-1]}", VALUES / "gpu-reader.yaml")
    vllm, model = chart.pods["vllm"], chart.settings["SAYCART_LLM_MODEL"]
    (init,) = vllm.spec["initContainers"]
    copy, flag, adapter, there = init["command"]
    assert (copy, flag) == ("cp", "-R")
    # From the image of the embedded decoder, the only one that has it.
    assert init["image"].startswith("saycart-llm:")
    assert REPOSITORY / adapter == adapter_for(model)
    (mount,) = [one for one in vllm.main["volumeMounts"] if one["name"] == "adapters"]
    assert f"{mount['mountPath']}/" == there
    started = vllm_server.command(
        Path("python"), "/weights", model, 8000, host="0.0.0.0", device="cuda",
        adapter=Path(there, Path(adapter).name),
    )  # fmt: skip
    args = [part for word in vllm.main["args"] for part in word.split("=", 1)]
    assert sorted(args) == sorted(started[started.index("--model") :])
