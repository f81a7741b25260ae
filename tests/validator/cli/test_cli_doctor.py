"""`validator doctor` as an operator starts it: what it prints, its exit codes, and next to a validator that runs."""

import asyncio
import json
from pathlib import Path

from cli_store import EVIL, EVIL_SHOWN, called, validator, write_config
from daemon_process import Miners, Site, free_port, until

from sssa.protocol.task import Windows

IMAGE = "registry.example/sssa-runner@sha256:" + "ab" * 32


def test_a_fault_exits_with_1_and_says_what_to_do(tmp_path: Path) -> None:
    config = write_config(tmp_path, f"sqlite:///{tmp_path}/nowhere/v.sqlite", f'[wallet]\npath = "{tmp_path}"\n')
    done = validator("doctor", "--only", "wallet", "--only", "database", "--config", str(config))
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert lines[0] == ["status", "about", "seen"]
    assert [line[:2] for line in lines[1:3]] == [["fault", "wallet"], ["fault", "database"]]
    assert f"fault, wallet: set wallet.path; no wallet is in {tmp_path}; in a container: mount it" in done.stdout
    assert done.stdout.splitlines()[-1] == "2 faults"


def test_settings_that_cannot_be_used_are_a_fault_and_never_a_secret(tmp_path: Path) -> None:
    config = write_config(tmp_path, "mysql://v:hunter2@db/x", f"[wallet]\nname = {json.dumps(EVIL)}\n")
    done = called("doctor", "--json", "--config", str(config))
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert report["counts"] == {"fault": 2, "warning": 0, "unknown": 1, "note": 0, "ok": 0}
    assert [one["check"] for one in report["checks"]] == ["settings", "others"]
    assert "hunter2" not in done.stdout
    assert EVIL_SHOWN.partition("[")[0] in done.stdout.replace("\\\\", "\\")


def test_warnings_alone_have_a_code_of_their_own(tmp_path: Path) -> None:
    config = write_config(
        tmp_path,
        f"sqlite:///{tmp_path}/v.sqlite",
        f'[tasks]\ndirectory = "{tmp_path}"\n[scoring.runtime_images]\n"{IMAGE}" = 0\n',
    )
    assert called("doctor", "--only", "tasks", "--config", str(config)).returncode == 6
    assert called("doctor", "--only", "settings", "--config", str(config)).returncode == 0


def test_a_check_that_is_not_there_is_bad_usage(tmp_path: Path) -> None:
    config = write_config(tmp_path, f"sqlite:///{tmp_path}/v.sqlite")
    done = called("doctor", "--only", "walet", "--config", str(config))
    assert (done.returncode, done.stdout) == (2, "")
    assert "`walet`; there are settings, wallet, " in done.stderr


async def test_beside_a_validator_that_runs_all_is_well(tmp_path: Path, sqlite_url: str) -> None:
    miners = Miners(6)
    await miners.start()
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 5), (0, 5)), free_port(), each=1)
    try:
        async with site.forked() as daemon:
            await until(lambda: "round_settled" in site.log.read_text(), site)
            report = json.loads(await _doctor(site))
            screen = json.loads(await site.output_of("status", "--json"))
            await until(lambda: site.log.read_text().count("round_settled") > 2, site)  # it continues
            assert daemon.returncode is None
            assert '"condition": "store' not in site.log.read_text()
    finally:
        await miners.close()
    findings = {finding["about"]: finding for one in report["checks"] for finding in one["findings"]}
    assert report["counts"]["fault"] == 0, report
    assert findings["miners"]["seen"].startswith("6 of 6")
    assert findings["running"]["seen"].startswith(f"http://127.0.0.1:{site.health_port}: a validator answers: ")
    assert findings["writer"]["seen"] == f"process {daemon.pid} writes to it"
    assert findings["chain of the store"]["status"] == "ok"
    assert findings["database write"]["status"] == "ok"
    assert findings["registration"]["seen"] == "uid 0 on netuid 1"
    assert screen["running"]["report"]["version"]
    assert screen["running"]["report"]["started_at"]
    assert (screen["chain"]["me"]["uid"], screen["chain"]["me"]["validator_permit"]) == (0, True)
    assert screen["chain"]["head"]["number"] >= screen["store"]["rounds"][0]["block"]
    assert screen["store"]["miners"]["declaring"] == 6
    assert screen["problems"] == {"wallet": "", "store": "", "chain": ""}


async def _doctor(site: Site) -> str:
    done = await asyncio.to_thread(validator, "doctor", "--json", "--config", str(site.config))
    assert done.returncode in {0, 6}, done.stdout + done.stderr
    return done.stdout
