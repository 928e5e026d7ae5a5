"""compose.yaml and the Containerfile have the protections that docs/team-dashboard.md describes."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8")
PAGE = (ROOT / "docs" / "team-dashboard.md").read_text("utf-8")


def test_the_server_is_read_only_without_capabilities_and_reachable_from_this_machine_only():
    sgi = COMPOSE["services"]["sgi"]
    assert sgi["read_only"] is True
    assert sgi["cap_drop"] == ["ALL"]
    assert sgi["ports"] == ["127.0.0.1:8765:8765"]
    assert sgi["volumes"] == ["data:/data"]
    assert [entry.partition(":")[0] for entry in sgi["tmpfs"]] == ["/tmp"]
    assert sgi["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_only_the_server_reaches_the_database():
    assert COMPOSE["networks"]["database"] == {"internal": True}
    users = {name for name, service in COMPOSE["services"].items() if "database" in service["networks"]}
    postgres = COMPOSE["services"]["postgres"]
    assert users == {"sgi", "postgres"}
    assert "ports" not in postgres
    assert postgres["networks"] == ["database"]
    assert "pg_isready" in postgres["healthcheck"]["test"]
    assert postgres["image"].endswith("postgres:18")


def test_no_service_gets_more_rights_and_secrets_come_from_outside():
    for name, service in COMPOSE["services"].items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "userns_mode"} & set(service)
    required = set(re.findall(r"\$\{([A-Z_]+):\?", str(COMPOSE)))
    assert required == {"SGI_SERVE_TOKEN", "POSTGRES_PASSWORD"}
    assert all(f"{name}=" in PAGE for name in required)
    environments = [service["environment"] for service in COMPOSE["services"].values()]
    secrets = [value for each in environments for name, value in each.items() if name in required]
    assert len(secrets) == 2
    assert all(value.startswith("${") for value in secrets)


def test_the_image_has_the_user_the_base_and_the_health_check_of_the_page():
    assert re.findall(r"^USER (.*)$", CONTAINERFILE, re.MULTILINE) == ["10001:10001"]
    base = re.search(r"^ARG PYTHON=(\S+)$", CONTAINERFILE, re.MULTILINE)
    assert base
    assert f"docker://{base[1]}" in PAGE
    health = re.search(r"^HEALTHCHECK --interval=(\d+)s .*'/healthz'", CONTAINERFILE, re.MULTILINE)
    assert health
    assert f"every {health[1]} seconds" in PAGE
