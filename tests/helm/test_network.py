"""Network policies, and that every selector, port and name refers to a pod."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from infra.settings import REPOSITORY, Settings
from services.api.gate.origin import Own
from services.workers.worker import WORKERS
from tests.helm.charts import CHART, COMPONENT, VALUES, Rendered, selects

# Exactly what each part may connect to. `callers` and `scrapers` are ingress, the rest is egress.
REACHES: dict[str, set[str]] = {
    "api": {"database", "redis", "decoder", "recordings", "webhook"},
    "transcribe": {"database", "redis", "recordings"},
    "decode": {"database", "redis", "decoder"},
    "sweeper": {"database", "redis", "recordings"},
    "courier": {"database", "webhook"},
    "migrate": {"database"},
    "weights": {"weights"},
    "vllm": set(),
    "reader": set(),
}
SERVERS = {"vllm": 8000, "reader": 8090}


def policies(chart: Rendered, part: str) -> list[dict[str, Any]]:
    labels = chart.pods[part].labels
    return [p["spec"] for p in chart.of("NetworkPolicy") if selects(p["spec"]["podSelector"], labels)]


def goes_out(chart: Rendered, part: str) -> list[tuple[Any, list[Any]]]:
    """Return the peers and ports of every egress rule."""
    return [
        (rule.get("to"), [one["port"] for one in rule["ports"]])
        for policy in policies(chart, part)
        for rule in policy.get("egress", ())
    ]


def test_every_pod_has_a_default_of_nothing(chart: Rendered) -> None:
    for part in chart.pods:
        bare = [p for p in policies(chart, part) if not {"ingress", "egress"} & set(p)]
        assert any(p["policyTypes"] == ["Ingress", "Egress"] for p in bare), part
        assert all(set(p["policyTypes"]) == {"Ingress", "Egress"} for p in policies(chart, part))


def test_parts_reach_what_they_need_and_nothing_else(chart: Rendered, case: str) -> None:
    given = {**yaml.safe_load((CHART / "values.yaml").read_text())["networkPolicy"]}
    given |= yaml.safe_load((VALUES / f"{case}.yaml").read_text()).get("networkPolicy", {})
    there = {
        name: given[name]["ports"]
        for name in ("database", "redis", "objectStore", "decoder", "webhook", "weights")
    }
    dns = [53, 53]
    more = [[4318]] if given["extraEgress"] else []
    own = next((name for name in SERVERS if name in chart.pods), None)
    for part in chart.pods:
        expected = []
        for need in REACHES[part]:
            if need == "recordings":
                expected += [there["objectStore"]] if "SAYCART_RECORDINGS_URL" in chart.settings else []
            elif need == "webhook" and "courier" not in chart.pods:
                continue  # shops have no endpoints
            elif need == "decoder":
                expected += [[SERVERS[own]]] if own else [there["decoder"]]
            else:
                expected += [there[need]]
        found = [ports for _, ports in goes_out(chart, part)]
        assert sorted(found) == sorted(expected + ([dns] if expected else []) + more), part


def test_a_server_lets_in_who_asks_it(chart: Rendered) -> None:
    for name in set(SERVERS) & set(chart.pods):
        (rule,) = [rule for policy in policies(chart, name) for rule in policy.get("ingress", ())]
        (open_port,) = [one["port"] for one in rule["ports"]]
        assert open_port == chart.pods[name].main["ports"][0]["name"]
        askers = {
            part
            for part, pod in chart.pods.items()
            for peer in rule["from"]
            if selects(peer["podSelector"], pod.labels)
        }
        assert askers == {part for part, needs in REACHES.items() if "decoder" in needs}


def test_who_comes_in(whole: Rendered) -> None:
    def open_to(part: str) -> str:
        return json.dumps([rule for policy in policies(whole, part) for rule in policy.get("ingress", ())])

    assert '"ingress"' in open_to("api")
    for part in ("api", "courier", "sweeper", *WORKERS):
        assert '"monitoring"' in open_to(part), part
    for part in ("migrate", "weights"):
        assert open_to(part) == "[]"


def test_services_lead_to_ports_of_pods(chart: Rendered) -> None:
    for service in chart.of("Service"):
        pods = [pod for pod in chart.pods.values() if selects(service["spec"]["selector"], pod.labels)]
        assert len(pods) == 1, service["metadata"]["name"]
        named = {port["name"] for port in pods[0].main["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= named


def test_decode_servers_are_asked_by_their_service(chart: Rendered) -> None:
    for service in chart.of("Service"):
        name, part = service["metadata"]["name"], service["metadata"]["labels"][COMPONENT]
        if part in SERVERS:
            (port,) = service["spec"]["ports"]
            assert port["port"] == chart.pods[part].main["ports"][0]["containerPort"] == SERVERS[part]
            kind = "vllm+" if part == "vllm" else ""
            assert chart.settings["SAYCART_LLM_URL"] == f"{kind}http://{name}:{port['port']}"
            assert service["spec"]["sessionAffinity"] == ("None" if part == "vllm" else "ClientIP")


def test_selectors_are_their_own_pods(chart: Rendered) -> None:
    """No workload, budget or monitor selects another's pods."""
    for kind in ("Deployment", "PodDisruptionBudget"):
        for one in chart.of(kind):
            found = [p for p in chart.pods.values() if selects(one["spec"]["selector"], p.labels)]
            assert [pod.part for pod in found] == [one["metadata"]["labels"][COMPONENT]]
    serving = {part for part, pod in chart.pods.items() if pod.owner["kind"] != "Job"}
    budgets = {one["metadata"]["labels"][COMPONENT] for one in chart.of("PodDisruptionBudget")}
    assert budgets == serving


def test_monitors_find_ports(whole: Rendered) -> None:
    (pods,) = whole.of("PodMonitor")
    found = [pod for pod in whole.pods.values() if selects(pods["spec"]["selector"], pod.labels)]
    assert {pod.part for pod in found} == {"sweeper", "courier", *WORKERS}
    for pod in found:
        assert [str(port["containerPort"]) for port in pod.main["ports"]] == [
            whole.settings["SAYCART_METRICS_PORT"]
        ]
    (services,) = whole.of("ServiceMonitor")
    selected = [
        s for s in whole.of("Service") if selects(services["spec"]["selector"], s["metadata"]["labels"])
    ]
    assert [s["spec"]["ports"][0]["name"] for s in selected] == [services["spec"]["endpoints"][0]["port"]]


def test_scalers_name_deployments_that_leave_their_number_open(whole: Rendered) -> None:
    scaled = {
        *(one["spec"]["scaleTargetRef"]["name"] for one in whole.of("ScaledObject")),
        *(one["spec"]["scaleTargetRef"]["name"] for one in whole.of("HorizontalPodAutoscaler")),
    }
    assert scaled == {f"shop-saycart-{part}" for part in ("api", *WORKERS)}
    for deployment in whole.of("Deployment"):
        assert ("replicas" in deployment["spec"]) is (deployment["metadata"]["name"] not in scaled)
    queries = {
        one["metadata"]["name"]: one["spec"]["triggers"][0]["metadata"]["query"]
        for one in whole.of("ScaledObject")
    }
    for part, queues in WORKERS.items():
        stages = queues.replace(",", "|")
        assert queries[f"shop-saycart-{part}"] == f'max(saycart_queue_oldest_seconds{{stage=~"{stages}"}})'


def test_the_ingress_is_the_proxys_list(whole: Rendered) -> None:
    (ingress,) = whole.of("Ingress")
    paths = {one["path"]: one["pathType"] for one in ingress["spec"]["rules"][0]["http"]["paths"]}
    proxy = (REPOSITORY / "infra/caddy/Caddyfile").read_text()
    lines = re.findall(r"^\t@(?:customers|staff|api) path (.+)$", proxy, re.MULTILINE)
    assert set(paths) == {path.removesuffix("/*") or "/" for line in lines for path in line.split()}
    assert paths.pop("/") == "Exact"
    assert ingress["spec"]["tls"][0]["hosts"] == ["order.example"]
    own = Own.of(Settings(public_url=whole.settings["SAYCART_PUBLIC_URL"]))
    assert own.public is not None
    assert own.public.scheme == "https"
