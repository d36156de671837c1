"""The compose file, checked by parsing, which needs no engine. `make test-containers` starts it."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.settings import REPOSITORY, Settings
from infra.weights.adapters import CONFIG, adapter_for
from infra.weights.lock import lock
from services.cli.main import app
from services.cli.version import COMMIT_ENV
from services.decoding.hosts.embedded import CONTEXT
from services.decoding.server.__main__ import _parser as reader_words
from services.pipeline.flow import BY_NAME
from services.workers.worker import WORKERS, worker_argv
from tests.servers import vllm as vllm_server

TEXT = (REPOSITORY / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("saycart")]
DOCKERFILE = (REPOSITORY / "infra/docker/Dockerfile").read_text()
PARTS = [name for name in OURS if name not in ("weights", "reader")]
# Set by the images, not by an operator.
NOT_SETTINGS = {"SAYCART_READY_FILE"}
# Settings that are fixed in containers, with the reason.
FIXED = {
    "database_url": "the service postgres",
    "redis_url": "the service redis",
    "home": "a place in the image",
    "models_dir": "a place in the image",
    "api_host": "every address of its container; the ports say who reaches it",
    "api_port": "of its container; the published one is SAYCART_API_PORT",
    "key": "of commands, which are given it",
}
VARIABLE = re.compile(r"\$\{(\w+):?([-?])([^}]*)\}")

OWNED = {"uid": "10001", "gid": "10001", "mode": "0700"}


def arguments(service: str) -> list[str]:
    command = SERVICES[service]["command"]
    assert isinstance(command, list), "a list needs no shell"
    return command


def with_defaults(words: list[str]) -> list[str]:
    """Return a command's words with default values."""
    return [VARIABLE.sub(lambda found: found[3], word) for word in words]


def mounted(service: str) -> dict[str, dict[str, str]]:
    """Return the tmpfs folders of a service, with their options."""
    found = {}
    for mount in SERVICES[service]["tmpfs"]:
        folder, _, options = mount.partition(":")
        found[folder] = dict(option.split("=") for option in options.split(","))
    return found


@pytest.mark.parametrize("service", OURS)
def test_commands_name_modules_that_exist(service: str) -> None:
    words = arguments(service)
    assert words[:2] == ["python", "-m"]
    assert find_spec(words[2])
    if words[2] == "services.cli.main":
        assert words[3] in {command.name for command in app.registered_commands} | {
            group.name for group in app.registered_groups
        }


def test_variables_are_settings() -> None:
    known = {f"SAYCART_{name.upper()}" for name in Settings.model_fields} | NOT_SETTINGS
    overrides = sorted((REPOSITORY / "infra/docker").glob("*.yml"))
    files = ("docker-compose.yml", *overrides)
    text = "".join((REPOSITORY / file).read_text() for file in files) + DOCKERFILE
    assert set(re.findall(r"SAYCART_[A-Z_]+", text)) <= known | {COMMIT_ENV}
    for name in NOT_SETTINGS:
        assert f'"{name}"' in (REPOSITORY / "infra/processes/ready_file.py").read_text()
    for service in OURS:
        for variable in SERVICES[service]["environment"]:
            assert variable in known | {"DATABASE_URL", "REDIS_URL"} or variable.startswith("AWS_")


def test_every_setting_reaches_every_part() -> None:
    wanted = {f"SAYCART_{name.upper()}" for name in Settings.model_fields if name not in FIXED}
    for part in PARTS:
        given = SERVICES[part]["environment"]
        assert wanted - set(given) == set(), (
            "add them to x-settings of docker-compose.yml, by their names alone"
        )
        for name in wanted:
            # Passed through from the environment, or with a default for containers.
            assert given[name] is None or given[name].startswith((f"${{{name}:-", f"${{{name}-")), name
    assert set(FIXED) <= set(Settings.model_fields)


def test_default_values_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVICES["api"]["environment"].items():
        if value is not None:
            monkeypatch.setenv(name, VARIABLE.sub(lambda m: m[3] if m[2] == "-" else "secret", value))
    settings = Settings()
    assert settings.llm_url == "http://reader:8090"
    assert settings.llm_model in lock().names
    assert settings.home == Path("/data")


def test_the_ready_file_has_a_folder_that_the_user_may_write_to() -> None:
    file = re.findall(r"^ENV SAYCART_READY_FILE=(\S+)$", DOCKERFILE, re.MULTILINE)[0]
    folder = Path(file).parent
    assert f'CMD ["test", "-e", "{file}"]' in DOCKERFILE
    assert f" {folder}\n" in DOCKERFILE
    for part in PARTS:
        assert mounted(part)[str(folder)] == {**OWNED, "size": "1m"}


def test_parts_write_to_volumes_and_to_nothing_else() -> None:
    for service in OURS:
        parts = SERVICES[service]
        assert parts["read_only"] is True
        writable = {*mounted(service), *(mount.split(":")[1] for mount in parts.get("volumes", ()))}
        # The blob store creates its folder in the home, in every part.
        assert {"/tmp", "/data"} <= writable
        assert all(options.get("mode", "0700") == "0700" for options in mounted(service).values())


def test_parts_are_bounded_and_may_do_little() -> None:
    for name, parts in SERVICES.items():
        assert parts["security_opt"] == ["no-new-privileges:true"], name
        assert parts["logging"]["options"].keys() >= {"max-size", "max-file"}
        assert parts["mem_limit"], name
        assert parts["pids_limit"], name
    for name in OURS:
        assert SERVICES[name]["cap_drop"] == ["ALL"]
        assert "user" not in SERVICES[name]
    for name in ("redis", "postgres"):  # their images start as root and drop privileges
        assert (SERVICES[name]["read_only"], SERVICES[name]["cap_drop"]) == (True, ["ALL"])
        assert not {"DAC_OVERRIDE", "NET_RAW", "MKNOD", "SYS_CHROOT"} & set(SERVICES[name]["cap_add"])
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[-1] == "10001:10001"


def test_who_needs_no_secret_has_none() -> None:
    for name in ("reader", "weights"):
        assert not {"DATABASE_URL", "REDIS_URL", "SAYCART_SECRET"} & set(SERVICES[name]["environment"])


def test_every_stage_has_a_worker_that_is_started_as_the_stack_starts_it() -> None:
    started = {name: arguments(name)[2:] for name in OURS if name.startswith("worker-")}
    assert started == {f"worker-{name}": ["services.workers.worker", name] for name in WORKERS}
    served = [queue for queues in WORKERS.values() for queue in queues.split(",")]
    assert sorted(served) == sorted(BY_NAME)


def test_a_worker_has_the_pool_that_the_settings_say() -> None:
    def pool(name: str, threads: int) -> list[str]:
        argv = worker_argv(name, Settings(decode_concurrency=threads))
        return [word for word in argv if word.startswith(("--pool", "--concurrency"))]

    assert pool("decode", 1) == ["--pool=prefork", "--concurrency=1"]
    assert pool("decode", 32) == ["--pool=threads", "--concurrency=32"]
    assert pool("transcribe", 32) == ["--pool=prefork", "--concurrency=1"]


def test_volumes_are_declared_and_hosts_are_not_mounted() -> None:
    users: dict[str, list[str]] = {}
    for service, parts in SERVICES.items():
        for mount in parts.get("volumes", ()):
            source = mount["source"] if isinstance(mount, dict) else mount.split(":")[0]
            users.setdefault(source, []).append(service)
    # vLLM's weights and PostgreSQL's init script; the rest are volumes.
    for host in ("${VLLM_WEIGHTS:-./safetensors}", "./infra/adapters", "./infra/docker/postgres-role.sh"):
        del users[host]
    assert set(users) == set(COMPOSE["volumes"])
    assert users["recordings"] == ["api", "worker-transcribe", "sweeper"]
    # The recordings' folder is the one that the settings name.
    blobs = Settings(home=Path("/data")).blobs
    for service in users["recordings"]:
        assert f"recordings:{blobs}" in SERVICES[service]["volumes"]
    # It has the secret that signs customers' links, which must survive an upgrade.
    assert "home:/data" in SERVICES["api"]["volumes"]


def test_only_the_api_is_published_and_on_loopback() -> None:
    published = {name: parts["ports"] for name, parts in SERVICES.items() if "ports" in parts}
    assert published == {"api": ["127.0.0.1:${SAYCART_API_PORT:-8420}:8420"]}


def as_one_word_each(model: str, name: str, adapter: Path | None = None) -> set[str]:
    """Return vLLM's options from our own starter for a GPU, without the address."""
    host, port = "HOST", 0
    argv = vllm_server.command(Path("python"), model, name, port, host=host, device="cuda", adapter=adapter)
    words = " ".join(argv[argv.index("--model") :]).replace(" --", "\n--").splitlines()
    return {word.replace(" ", "=", 1) for word in words if not word.startswith(("--host", "--port"))}


def test_vllm_is_started_as_our_starter_does_it_with_the_adapter() -> None:
    service = SERVICES["vllm"]
    adapter = adapter_for(Settings.model_fields["llm_model"].default)
    assert adapter is not None
    command = service["command"]
    assert len(command) == len(set(command))
    assert set(command) == as_one_word_each(
        "/weights", Settings.model_fields["llm_model"].default, Path("/adapters", adapter.name)
    )
    assert {"--enable-lora", f"--lora-modules={adapter.name}=/adapters/{adapter.name}"} <= set(command)
    rank = next(word for word in command if word.startswith("--max-lora-rank=")).partition("=")[2]
    assert json.loads((adapter / CONFIG).read_text())["r"] <= int(rank)
    assert vllm_server.STRUCTURED["backend"] == "guidance"
    assert service["profiles"] == ["gpu"]
    assert service["environment"] == vllm_server.environment("cuda", 1) | {"HF_HUB_OFFLINE": "1"}
    weights, adapters = service["volumes"]
    assert (weights["target"], weights["read_only"]) == ("/weights", True)
    assert adapters == f"./{adapter.parent.relative_to(REPOSITORY)}:/adapters:ro"


def test_a_model_of_a_hub_is_started_the_same_without_an_adapter() -> None:
    service = SERVICES["vllm-hub"]
    model = "${SAYCART_LLM_MODEL:-Qwen/Qwen2.5-Coder-7B-Instruct}"
    # Served under the name that it is loaded from.
    assert set(service["command"]) == as_one_word_each(model, "NAME") - {"--served-model-name=NAME"}
    assert service["environment"] == vllm_server.environment("cuda", 1)
    assert service["profiles"] == ["gpu-hub"]


def test_the_reader_is_started_as_the_workers_expect_it() -> None:
    args = reader_words().parse_args(with_defaults(arguments("reader")[3:]))
    assert (args.host, args.port) == ("0.0.0.0", 8090)
    assert f"127.0.0.1:{args.port}/health" in DOCKERFILE
    assert args.model.name == Settings.model_fields["llm_model"].default
    assert REPOSITORY / args.adapter == adapter_for(args.model.name)
    assert args.context == CONTEXT
    # Survives a restart, in a volume on a folder that the image's user owns.
    assert f"reader:{args.states}" in SERVICES["reader"]["volumes"]
    assert f" {args.states} " in DOCKERFILE


EXTERNAL = REPOSITORY / "infra/docker/external.yml"


def test_a_database_and_a_redis_of_ones_own_reach_every_part_that_asks_them() -> None:
    changed: dict[str, Any] = yaml.safe_load(EXTERNAL.read_text())["services"]
    for name in ("postgres", "redis"):
        nothing = changed.pop(name)
        assert (nothing["entrypoint"], nothing["command"]) == (["sleep"], ["infinity"])
        assert nothing["image"] == SERVICES["api"]["image"], "built here, so that nothing is fetched for it"
        assert nothing["healthcheck"]["test"] == ["CMD", "true"], "parts wait until it is healthy"
    asked = {name for name in SERVICES if "DATABASE_URL" in SERVICES[name].get("environment", {})}
    assert set(changed) == asked
    for name in asked:
        assert list(changed[name]) == ["environment"]
        given = changed[name]["environment"]
        assert {key: value.partition(":?")[0] for key, value in given.items()} == {
            "DATABASE_URL": "${DATABASE_URL", "REDIS_URL": "${REDIS_URL"
        }  # fmt: skip


def test_each_role_has_its_image() -> None:
    targets = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    built = {name: SERVICES[name]["build"]["target"] for name in OURS}
    assert set(built.values()) <= targets
    for name, target in built.items():
        assert SERVICES[name]["image"] == f"saycart-{target}:${{TAG:-local}}"
    assert built["worker-transcribe"] == "hearing"
    assert {built[name] for name in ("worker-decode", "sweeper", "courier")} == {"worker"}
