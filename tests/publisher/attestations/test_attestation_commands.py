"""`validator attestation …`, as operators and consumers start it."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from attested import BUNDLE, OTHER, PURL, SETTINGS, play
from cli_store import called
from world import VALIDATOR, few_tasks

from sssa.attestation.verify import parse_receipt

POLICY = """
agree = 1
[[validators]]
url = "{url}"
hotkey = "{hotkey}"
"""
PACKAGE = {
    "name": "some-skill",
    "source": "./some_skill.whl",
    "package": "pypi:some_skill==1.0.0",
    "version": None,
    "artifact": None,
    "bundle_sha256": BUNDLE,
    "skill_type": "declarative",
    "canary": None,
    "windows": None,
}


class Site(NamedTuple):
    """A validator's folder, whose store has a round of two bundles; one of them is retired."""

    folder: Path

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run a command of the group with the settings; return what it printed, in which stream it may be."""
        done = called("attestation", *arguments, "--config", str(self.folder / "validator.toml"))
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Site:
    play(tmp_path)
    (tmp_path / "validator.toml").write_text(SETTINGS.format(folder=tmp_path))
    (tmp_path / "packages.json").write_text(json.dumps({"manifest_version": "1.0", "packages": [PACKAGE]}))
    return Site(tmp_path)


def alone(*arguments: str, code: int = 0) -> str:
    """Run a command of the group that needs no settings."""
    done = called("attestation", *arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_a_key_is_made_replaced_and_revoked(site: Site) -> None:
    file = site.folder / "store.sqlite.attestation-key"
    assert "there is no key" in site.run("key", code=1)
    site.run("key", "--new")
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    first = json.loads(site.run("key", "--json"))
    secret = file.read_text()
    assert first["fault"] is None
    second = json.loads(site.run("key", "--new", "--days", "30", "--json"))
    assert second["statement"]["replaces"] == first["statement"]["public_key"]
    assert file.read_text() != secret
    assert "no such key" in site.run("revoke", "--key", "0" * 64, "--reason", "lost", code=1)
    assert "revoked by receipt" in site.run("revoke", "--key", second["statement"]["public_key"], "--reason", "lost")
    assert json.loads(site.run("key", "--json", code=1))["fault"] == "revoked"
    assert "its key was revoked" in site.run("show", BUNDLE, code=1)
    log = site.folder / "log"
    assert called("audit", "export", "--out", str(log), "--config", str(site.folder / "validator.toml")).returncode == 0
    told = called("audit", "verify", str(log)).stdout
    assert "publishing keys, each in the place of the one before: 2" in told
    assert "revocations of attestations: 1" in told


def test_a_key_that_others_can_read_signs_nothing(site: Site) -> None:
    site.run("key", "--new")
    (site.folder / "store.sqlite.attestation-key").chmod(0o644)
    assert "lets others at it" in site.run("show", BUNDLE, code=1)


def test_no_key_is_made_that_the_log_does_not_have(site: Site) -> None:
    site.run("key", "--new")
    file = site.folder / "store.sqlite.attestation-key"
    before = file.read_text()
    settings = site.folder / "validator.toml"
    settings.write_text(
        settings.read_text()
        .replace('uri = "//Validator"', 'path = "nowhere"')
        .replace("simulated", "bittensor")
        .replace('chain.state = "chain.json"\n', "")
    )
    site.run("key", "--new", code=11)
    assert file.read_text() == before


def test_an_attestation_is_shown_exported_and_verified(site: Site) -> None:
    assert "there is no key" in site.run("show", BUNDLE, code=1)
    site.run("key", "--new")
    shown = site.run("show", PURL)
    assert f"{BUNDLE}: ALLOW, risk 0.1000" in shown
    assert json.loads(site.run("show", BUNDLE, "--json"))["predicate"]["verdict"] == "ALLOW"
    assert "it may be dispatched again" in site.run("show", OTHER, code=1)
    assert "names no bundle of it" in site.run("show", "pkg:pypi/other@1", code=1)
    files = {form: site.folder / form for form in ("document", "envelope", "key", "pem")}
    for form, file in files.items():
        site.run("export", BUNDLE, "--format", form, "--out", str(file))
    parse_receipt(files["key"].read_bytes().rstrip())
    document, envelope, key = (str(files[form]) for form in ("document", "envelope", "key"))
    policy = site.folder / "policy.toml"
    policy.write_text(POLICY.format(url="http://127.0.0.1:1", hotkey=VALIDATOR.hotkey))
    about = ("--skill", BUNDLE, "--policy", str(policy))
    assert "nothing was compared" in alone("verify", document, code=2)
    assert "allowed: " in alone("verify", document, *about)
    assert "nothing vouches for its key" in alone("verify", envelope, code=1)
    assert "nothing vouches for its key" in alone("verify", envelope, *about, code=2)
    shown = json.loads(alone("verify", envelope, document, "--key", key, "--json", *about))
    assert (shown["exit_code"], [one["hotkey"] for one in shown["attestations"]]) == (0, [VALIDATOR.hotkey] * 2)
    assert "no attestation of it" in alone("verify", document, "--skill", OTHER, "--policy", str(policy), code=2)
    assert "--policy" in alone("verify", document, "--skill", BUNDLE, code=2)
    policy.write_text(f"max_risk = 0.05\n{policy.read_text()}")
    assert "refused: " in alone("verify", document, *about, code=1)
    stranger = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
    policy.write_text(POLICY.format(url="http://127.0.0.1:1", hotkey=stranger))
    assert "0 of 1 needed validators" in alone("verify", document, *about, code=2)
    policy.write_text(POLICY.format(url="http://127.0.0.1:1", hotkey=VALIDATOR.hotkey))
    site.run("revoke", BUNDLE, "--reason", "wrong")
    assert "it was revoked" in site.run("show", BUNDLE, code=1)
    log = str(site.folder / "log")
    called("audit", "export", "--out", log, "--config", str(site.folder / "validator.toml"))
    alone("verify", document, *about)  # who does not look at the log cannot know
    assert "it was revoked" in alone("verify", document, "--log", log, code=1)
    assert "revoked its attestation" in alone("verify", document, "--log", log, *about, code=1)


class Api:
    """An API with scripted answers: path to status and body; other paths get no answer."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {}
        answers = self.answers

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = answers.get(self.path, (404, b"{}"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def say(self, what: str, status: int, body: bytes) -> None:
        self.answers[f"/api/v1/attestations{what}"] = status, body


@pytest.fixture
def api() -> Iterator[Api]:
    api = Api()
    thread = Thread(target=api.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield api
    api.server.shutdown()
    thread.join()
    api.server.server_close()


def test_the_gate_lets_through_what_was_attested_and_nothing_else(site: Site, api: Api, tmp_path: Path) -> None:
    site.run("key", "--new")
    bundle = tmp_path / "skill.tar.gz"
    bundle.write_bytes(few_tasks()[0].bundle)
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(url=api.url, hotkey=VALIDATOR.hotkey))

    def gate(what: str, code: int) -> str:
        return alone("gate", what, "--policy", str(policy), code=code)

    assert "cannot tell" in gate(str(bundle), 2)
    assert BUNDLE in gate(str(bundle), 2)
    document = site.run("export", BUNDLE).encode()
    api.say(f"/{BUNDLE}", 200, document)
    assert gate(str(bundle), 0).startswith("allowed: ")
    assert "knows nothing of it" in gate(PURL, 2)
    listing = json.dumps({"attestations": [{"sha256": BUNDLE, "more": 1}], "next": None}).encode()
    api.say("?purl=pkg%3Apypi%2Fsome-skill%401.0.0", 200, listing)
    api.say("?purl=pkg%3Apypi%2Fother%401", 200, listing)
    gate(PURL, 0)
    assert "is not about the package" in gate("pkg:pypi/other@1", 2)
    assert "no package URL" in gate("pkg:a b", 2)
    api.say(f"/{BUNDLE}", 200, document.replace(b'"sig":"', b'"sig":"AAAA'))
    assert "no signature of the key" in gate(str(bundle), 2)
    api.say(f"/{BUNDLE}", 200, b" " * 5_000_000)
    assert "too large" in gate(str(bundle), 2)
    api.say(f"/{BUNDLE}", 302, b"")
    assert "status 302" in gate(str(bundle), 2)
    api.say(f"/{BUNDLE}", 200, document)
    policy.write_text("max_risk = 0.05\n" + policy.read_text())
    assert "says ALLOW at risk 0.10" in gate(str(bundle), 1)
    policy.write_text(POLICY.format(url=api.url, hotkey="5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"))
    assert f"it answers for {VALIDATOR.hotkey}" in gate(str(bundle), 2)
    policy.write_text(POLICY.format(url="http://127.0.0.1:1", hotkey=VALIDATOR.hotkey))
    assert "Connection refused" in gate(str(bundle), 2)
    policy.write_text("thresholds = 1\n")
    assert "policy cannot be used" in gate(str(bundle), 2)
    policy.write_text(POLICY.format(url=api.url, hotkey=VALIDATOR.hotkey))
    site.run("revoke", BUNDLE, "--reason", "wrong")
    log = tmp_path / "log"
    called("audit", "export", "--out", str(log), "--config", str(site.folder / "validator.toml"))
    api.say(f"/{BUNDLE}", 410, log.read_bytes().splitlines()[-1])
    assert "revoked its attestation" in gate(str(bundle), 1)
