"""The deployment matches the server: existing settings, probes on routes, time to drain, minimal rights."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.api.app import create_app
from server.settings import Settings
from server.telemetry.metrics import Metrics

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS: list[dict[str, Any]] = [
    manifest
    for path in sorted((DOCKER / "kubernetes/base").glob("*.yaml"))
    if path.name != "kustomization.yaml"
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]
SERVERS = ("ringmt", "replica-a", "replica-b")


def manifest(kind: str, name: str = "ringmt") -> dict[str, Any]:
    return next(item for item in MANIFESTS if (item["kind"], item["metadata"]["name"]) == (kind, name))


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = manifest("Deployment")["spec"]["template"]["spec"]
    return spec


def environment_of_pod() -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in pod()["containers"][0]["env"]}


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


@pytest.mark.parametrize("name", SERVERS)
def test_a_composed_server_has_no_rights_and_time_to_drain(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "mem_limit" in service
    settings = Settings.load(service["environment"])
    assert seconds(service["stop_grace_period"]) > settings.drain_timeout


def test_profiles_are_as_documented() -> None:
    profiles = {name: service.get("profiles", []) for name, service in COMPOSE["services"].items()}
    assert profiles.pop("ringmt") == []
    assert profiles == {
        "replica-a": ["redis"], "replica-b": ["redis"], "redis": ["redis"], "nginx": ["redis"],
        "prometheus": ["observability"], "grafana": ["observability"], "locust": ["loadtest"],
    }  # fmt: skip
    head = (DOCKER / "compose.yaml").read_text(encoding="utf-8").split("name:")[0]
    assert set(re.findall(r"--profile (\w+)", head)) == {"redis", "observability", "loadtest"}


def test_every_mounted_file_exists() -> None:
    sources = [
        volume.split(":")[0] for service in COMPOSE["services"].values() for volume in service.get("volumes", [])
    ]
    paths = [source for source in sources if source.startswith(".")]
    assert len(paths) >= 4
    assert [path for path in paths if not (DOCKER / path).exists()] == []


def test_the_pod_has_no_rights() -> None:
    container = pod()["containers"][0]
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "memory" in container["resources"]["limits"]
    assert pod()["automountServiceAccountToken"] is False
    assert pod()["enableServiceLinks"] is False, "RINGMT_PORT=tcp://... would be read as a setting"


def test_the_pod_has_time_to_drain() -> None:
    [before_stop] = re.findall(r"sleep\((\d+)\)", pod()["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1])
    settings = Settings.load(environment_of_pod())
    assert pod()["terminationGracePeriodSeconds"] > int(before_stop) + settings.drain_timeout


def test_probes_use_existing_routes() -> None:
    paths = create_app(Settings()).openapi()["paths"]
    container = pod()["containers"][0]
    probes = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert probes == {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/livez"}
    assert {*probes.values(), "/metrics"} <= set(paths)
    assert "/readyz" in (DOCKER / "Dockerfile").read_text(encoding="utf-8")


def test_the_autoscaler_and_the_disruption_budget_select_the_deployment() -> None:
    autoscaler, budget = manifest("HorizontalPodAutoscaler")["spec"], manifest("PodDisruptionBudget")["spec"]
    assert autoscaler["scaleTargetRef"]["name"] == "ringmt"
    metric = autoscaler["metrics"][0]["pods"]["metric"]["name"]
    assert metric in {family.name for family in Metrics().registry.collect()}
    labels = manifest("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert budget["selector"]["matchLabels"] == labels
    assert budget["minAvailable"] < autoscaler["minReplicas"] == manifest("Deployment")["spec"]["replicas"]


def test_the_image_for_gpus_serves_on_them() -> None:
    stages = (DOCKER / "Dockerfile").read_text(encoding="utf-8").split("\nFROM ")
    [cuda] = [stage for stage in stages if stage.startswith("server AS cuda")]
    [cpu] = [stage for stage in stages if stage.startswith("server AS cpu")]
    assert Settings.load(dict(re.findall(r"(RINGMT_\w+)=(\S+)", cuda))).engine.device == "cuda"
    assert "RINGMT_DEVICE" not in cpu


def test_own_models_are_mounted_in_the_servers_folder() -> None:
    service = yaml.safe_load((DOCKER / "compose.models.yaml").read_text(encoding="utf-8"))["services"]["ringmt"]
    mounted, bundled = Settings.load(service["environment"]).models
    [volume] = service["volumes"]
    assert volume.endswith(f"}}:{mounted}:ro")
    site_packages, _, rest = str(bundled).partition("/server/")
    assert (site_packages, rest) == ("/app/lib/python3.11/site-packages", "bundled")
    assert f"{site_packages}/nvidia" in (DOCKER / "Dockerfile").read_text(encoding="utf-8")


def test_pods_mount_the_volume_that_models_are_copied_to() -> None:
    folder = DOCKER / "kubernetes/models"
    kustomization, claim, fill = (
        yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
        for name in ("kustomization", "volume", "fill")
    )
    [patch] = kustomization["patches"]
    added = {
        item["path"].removesuffix("/-").rpartition("/")[2]: item["value"] for item in yaml.safe_load(patch["patch"])
    }
    mounted, bundled = Settings.load({added["env"]["name"]: added["env"]["value"]}).models
    mount = added["volumeMounts"]
    assert (mount["name"], mount["mountPath"], mount["readOnly"]) == (added["volumes"]["name"], str(mounted), True)
    compose = yaml.safe_load((DOCKER / "compose.models.yaml").read_text(encoding="utf-8"))["services"]["ringmt"]
    assert bundled == Settings.load(compose["environment"]).models[1]
    [copying], [volume] = fill["spec"]["containers"], fill["spec"]["volumes"]
    assert copying["volumeMounts"] == [{"name": volume["name"], "mountPath": str(mounted)}]
    claims = [
        claim["metadata"]["name"],
        *(source["persistentVolumeClaim"]["claimName"] for source in (volume, added["volumes"])),
    ]
    assert len(set(claims)) == 1
    user = pod()["securityContext"]
    assert {name: fill["spec"]["securityContext"][name] for name in user} == user
    assert copying["securityContext"] == pod()["containers"][0]["securityContext"]


def test_the_kustomization_names_every_manifest() -> None:
    kustomization = yaml.safe_load((DOCKER / "kubernetes/base/kustomization.yaml").read_text(encoding="utf-8"))
    files = {path.name for path in (DOCKER / "kubernetes/base").glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == files


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_builds_all() -> None:
    for overlay in ("base", "cuda", "models"):
        result = subprocess.run(
            ["kubectl", "kustomize", str(DOCKER / "kubernetes" / overlay)], capture_output=True, check=False
        )
        assert result.returncode == 0, result.stderr
        kinds = {item["kind"] for item in yaml.safe_load_all(result.stdout)}
        assert {"Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"} <= kinds
        assert (b"nvidia.com/gpu" in result.stdout) == (overlay == "cuda")
        assert (b"claimName: models" in result.stdout) == (overlay == "models")


def test_copied_paths_are_in_the_build_context() -> None:
    allowed = re.findall(r"^!(.*)$", (DOCKER.parent / ".dockerignore").read_text(encoding="utf-8"), flags=re.M)
    lines = (DOCKER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY") and "--from" not in line]
    assert {path for paths in copied for path in paths} == set(allowed)
