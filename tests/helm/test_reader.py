"""The decode servers of the chart, and their adapters."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.settings import REPOSITORY
from infra.weights.adapters import adapter_for
from services.decoding.hosts.embedded import CONTEXT
from services.decoding.server.__main__ import _parser as reader_words
from services.decoding.server.states import MOST_BYTES
from tests.helm.charts import VALUES, Rendered, render
from tests.helm.tools import HELMS
from tests.servers import vllm as vllm_server


@pytest.mark.parametrize(
    ("case", "own"),
    [
        ("smallest", True),
        ("whole", True),
        ("reader", True),
        ("gpu", False),
        ("gpu-reader", False),
        ("external", False),
    ],
)
def test_it_is_the_embedded_decoder(tools_folder: Path, case: str, own: bool) -> None:
    assert ("reader" in made_of(tools_folder, VALUES / f"{case}.yaml").pods) is own


def test_it_is_started_as_the_workers_expect_it(whole: Rendered) -> None:
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
    assert MOST_BYTES < 2 * 2**30


def test_vllm_reads_with_the_adapter_of_the_model_that_it_serves(tools_folder: Path) -> None:
    chart = made_of(tools_folder, VALUES / "gpu-reader.yaml")
    vllm, model = chart.pods["vllm"], chart.settings["SAYCART_LLM_MODEL"]
    (init,) = vllm.spec["initContainers"]
    copy, flag, adapter, there = init["command"]
    assert (copy, flag) == ("cp", "-R")
    # Out of the image that the embedded decoder is in, which alone has it.
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


def made_of(tools_folder: Path, values: Path) -> Rendered:
    return render(tools_folder / f"helm-{list(HELMS)[-1]}", values)
