"""Every pod: no root, read-only images, limits, probes, and enough time to stop."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path

import yaml

from infra.settings import REPOSITORY, Settings
from infra.webhooks import TOTAL_S
from infra.weights.lock import lock
from services.api.__main__ import GRACE_S, QUIET_S
from services.api.gate.origin import Own
from services.workers.drain import DRAIN_S
from services.workers.worker import WORKERS
from tests.helm.charts import VALUES, Rendered, render
from tests.helm.tools import HELMS

FINISHES = {"migrate", "weights"}
# Third-party commands, which have their own tests.
NOT_OURS = {"vllm"}


def test_no_container_is_root_or_writes_to_its_image(chart: Rendered) -> None:
    for pod in chart.pods.values():
        assert pod.spec["securityContext"]["runAsUser"] == 10001
        assert pod.spec["securityContext"]["runAsNonRoot"] is True
        assert pod.spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod.spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod.spec)
        for container in pod.containers:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "privileged": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            }
        assert not any("hostPath" in volume for volume in pod.spec.get("volumes", ()))
    for account in chart.of("ServiceAccount"):
        assert account["automountServiceAccountToken"] is False
    assert "--uid 10001 saycart" in (REPOSITORY / "infra/docker/Dockerfile").read_text()


def test_every_container_has_limits_and_a_pinned_image(chart: Rendered) -> None:
    for pod in chart.pods.values():
        for container in pod.containers:
            assert container["resources"]["limits"]["memory"], pod.part
            assert {"cpu", "memory"} <= set(container["resources"]["requests"]), pod.part
            image = container["image"]
            assert "@sha256:" in image or image.rpartition(":")[2] not in ("", "latest", image)


def test_what_is_mounted_is_there_and_what_is_written_to_has_a_bound(chart: Rendered) -> None:
    claims = {claim["metadata"]["name"] for claim in chart.of("PersistentVolumeClaim")}
    outside = {"qwen", "weights", "safetensors"}  # named in the values
    for pod in chart.pods.values():
        volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
        mounted = {mount["name"] for container in pod.containers for mount in container["volumeMounts"]}
        own = {one["metadata"]["name"] for one in pod.owner["spec"].get("volumeClaimTemplates", ())}
        assert mounted == set(volumes) | own, pod.part
        for volume in volumes.values():
            if "emptyDir" in volume:
                assert volume["emptyDir"]["sizeLimit"]
            else:
                assert volume["persistentVolumeClaim"]["claimName"] in claims | outside
        for container in pod.containers:
            assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_who_serves_has_probes(chart: Rendered) -> None:
    for part, pod in chart.pods.items():
        probes = {name for name in pod.main if name.endswith("Probe")}
        if part in FINISHES:
            assert probes == set()
        elif part in ("api", "vllm", "reader"):
            assert probes == {"startupProbe", "readinessProbe", "livenessProbe"}
        else:
            assert probes == {"startupProbe", "readinessProbe"}
            file = pod.variables(pod.main)["SAYCART_READY_FILE"]
            assert pod.main["readinessProbe"]["exec"]["command"] == ["test", "-e", file]
            folders = {mount["mountPath"] for mount in pod.main["volumeMounts"]}
            assert file.rpartition("/")[0] in folders


def test_the_api_answers_its_probes_and_its_names(chart: Rendered) -> None:
    """Requests for other hosts are refused, and the kubelet uses the pod's address by default."""
    api = chart.pods["api"]
    hosts = api.variables(api.main)["SAYCART_HOSTS"].replace("$(POD_IP)", "10.1.2.3")
    names = [one["name"] for one in api.main["env"]]
    assert names.index("POD_IP") < names.index("SAYCART_HOSTS")
    own = Own.of(Settings(hosts=hosts, api_host="0.0.0.0"))
    assert own.hosts is not None
    for service in chart.of("Service"):
        if service["spec"]["selector"]["app.kubernetes.io/component"] == "api":
            name = service["metadata"]["name"]
            assert {name, f"{name}.shops", f"{name}.shops.svc", "10.1.2.3"} <= own.hosts
    for probe in ("startupProbe", "readinessProbe"):
        asked = api.main[probe]["httpGet"]
        assert asked["path"] == "/readyz"
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
    assert api.main["livenessProbe"]["httpGet"]["path"] == "/livez"


def test_pods_are_given_the_time_that_their_part_takes_to_end(chart: Rendered) -> None:
    for part, pod in chart.pods.items():
        given = pod.spec.get("terminationGracePeriodSeconds", 30)
        if part == "api":
            pause = float(pod.main["lifecycle"]["preStop"]["exec"]["command"][1])
            assert given >= pause + QUIET_S + GRACE_S + 2
        elif part in WORKERS:
            assert given >= math.ceil(DRAIN_S) + 5
        elif part == "courier":
            assert given >= TOTAL_S + 5


def test_an_upgrade_leaves_as_many_api_pods_as_there_were(chart: Rendered) -> None:
    api = chart.pods["api"].owner["spec"]
    assert api["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    for pod in chart.pods.values():
        if any("nvidia.com/gpu" in json.dumps(one["resources"]) for one in pod.containers):
            rolling = pod.owner["spec"].get("strategy", {}).get("rollingUpdate", {})
            assert rolling.get("maxSurge", 0) == 0, "there may be no second GPU"


def test_pods_roll_when_their_settings_change(whole: Rendered, chart: Rendered) -> None:
    for part in {"api", "sweeper", "courier", *WORKERS} & set(chart.pods):
        notes = chart.pods[part].owner["spec"]["template"]["metadata"]["annotations"]
        assert "checksum/settings" in notes
        mine = whole.pods[part].owner["spec"]["template"]["metadata"]["annotations"]
        assert chart is whole or notes["checksum/settings"] != mine["checksum/settings"]


def test_commands_are_modules_of_ours(chart: Rendered) -> None:
    for pod in chart.pods.values():
        for container in pod.containers:
            if pod.part in NOT_OURS:
                continue
            python, flag, module, *words = container["command"]
            assert [python, flag] == ["python", "-m"]
            assert find_spec(module), module
            if pod.part in WORKERS and container is pod.main:
                assert [module, *words] == ["services.workers.worker", pod.part]


def test_a_courier_runs_where_there_is_somebody_to_tell(chart: Rendered, case: str) -> None:
    allowed = "SAYCART_WEBHOOK_ENDPOINTS" in chart.settings
    assert ("courier" in chart.pods) == allowed == (case in ("whole", "external"))


def test_the_weights_that_are_waited_for_are_fetched(chart: Rendered) -> None:
    waiting = [
        one
        for pod in chart.pods.values()
        for one in pod.spec.get("initContainers", ())
        if one["name"] == "weights"
    ]
    if "weights" not in chart.pods:
        assert waiting == []
        return
    fetched = chart.pods["weights"].main["args"]
    assert "saycart-weights:" in chart.pods["weights"].main["image"], "the image that has pip"
    awaited = [name for one in waiting for name in one["args"]]
    assert sorted(set(awaited)) == sorted(fetched)
    assert set(fetched) <= set(lock().names)
    for pod in chart.pods.values():
        if pod.part != "weights":
            mounts = [m for one in pod.containers for m in one["volumeMounts"] if m["mountPath"] == "/models"]
            assert all(mount["readOnly"] for mount in mounts)


def test_a_job_that_would_change_is_another(whole: Rendered, tools_folder: Path, tmp_path: Path) -> None:
    """Kubernetes refuses changes to a job, and then the upgrade fails."""
    values = yaml.safe_load((VALUES / "whole.yaml").read_text())
    values["weights"]["resources"] = {"limits": {"memory": "2Gi"}}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    other = render(tools_folder / f"helm-{list(HELMS)[-1]}", tmp_path / "values.yaml").pods["weights"].owner
    mine = whole.pods["weights"].owner
    assert other["spec"] != mine["spec"]
    assert other["metadata"]["name"] != mine["metadata"]["name"]
