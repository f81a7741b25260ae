import os
from collections.abc import Callable
from pathlib import Path

import bittensor.settings
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sssa.files import read_at_most
from validator.settings.load import DEFAULT_FILE, SettingsError, load_settings, strangers
from validator.settings.model import Settings
from validator.settings.urls import NETWORKS

MINIMAL = "[validator]\nnetuid = 3\n"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str) -> Path:
        file = tmp_path / "settings.toml"
        file.write_text(text)
        return file

    return _write


def problems(path: Path | None, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(path, environ or {})
    assert str(caught.value).splitlines() == list(caught.value.problems)
    return [line.removeprefix(f"{path}: ") for line in caught.value.problems]


def test_a_minimal_file_takes_every_default(write: Write) -> None:
    settings = load_settings(write(MINIMAL), {})
    assert settings.validator.netuid == 3
    assert settings.chain.kind == "bittensor"
    assert settings.rounds.max_open == 70
    assert settings.store.url.reveal() == "sqlite:///validator.sqlite"


def test_the_environment_wins_over_the_file_and_is_converted_to_the_type(write: Write) -> None:
    file = write(MINIMAL + '[log]\nlevel = "error"\n[rounds]\ninterval_s = 5\n')
    environ = {
        "VALIDATOR_LOG__LEVEL": "debug",
        "VALIDATOR_ROUNDS__INTERVAL_S": "0.5",
        "VALIDATOR_WEIGHTS__ENABLED": "False",
        "VALIDATOR_ROUNDS__MAX_OPEN": "120",
        "VALIDATOR_CHAIN__ENDPOINTS": "wss://a.example:443, test",
    }
    settings = load_settings(file, environ)
    assert settings.log.level == "debug"
    assert settings.rounds.interval_s == 0.5
    assert settings.rounds.max_open == 120
    assert settings.weights.enabled is False
    assert [e.reveal() for e in settings.chain.endpoints] == ["wss://a.example:443", "test"]


def test_a_section_can_come_from_the_environment_alone(write: Write) -> None:
    assert load_settings(write(""), {"VALIDATOR_VALIDATOR__NETUID": "9"}).validator.netuid == 9


def test_a_secret_is_read_from_a_file(write: Write, tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("postgresql://v:pw@db/sssa\n")
    settings = load_settings(write(MINIMAL), {"VALIDATOR_STORE__URL_FILE": str(secret)})
    assert settings.store.url.reveal() == "postgresql://v:pw@db/sssa"


def test_other_programs_variables_are_left_alone(write: Write) -> None:
    environ = {"VALIDATOR_PORT": "tcp://10.0.0.1:80", "VALIDATOR_SERVICE_HOST": "10.0.0.1", "PATH": "/bin"}
    environ |= {"VALIDATOR_PORT_9337_TCP_PORT": "9337", "VALIDATOR_HOME": "/srv"}
    assert load_settings(write(MINIMAL), environ).health.port == 9337


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("VALIDATOR_STORE_URL", "VALIDATOR_STORE__URL"),
        ("VALIDATOR_STORE_URL_FILE", "VALIDATOR_STORE__URL_FILE"),
        ("VALIDATOR_TASKS_SERVER_URL", "VALIDATOR_TASKS__SERVER_URL"),
        ("VALIDATOR_NETUID", "VALIDATOR_VALIDATOR__NETUID"),
        ("VALIDATOR_DRY_RUN", "VALIDATOR_WEIGHTS__DRY_RUN"),
        ("VALIDATOR_STOP_FILE", "VALIDATOR_WEIGHTS__STOP_FILE"),
        ("VALIDATOR_STORE__URI", "VALIDATOR_STORE__URL"),
        ("VALIDATOR_STORE__ULR_FILE", "VALIDATOR_STORE__URL"),
        ("validator_store__url", "VALIDATOR_STORE__URL"),
        ("validator_store__url_file", "VALIDATOR_STORE__URL_FILE"),
        ("Validator_Store_Url", "VALIDATOR_STORE__URL"),
        ("validator_rounds__max_opne", "VALIDATOR_ROUNDS__MAX_OPEN"),
    ],
)
def test_a_variable_that_was_meant_to_set_something_is_refused(variable: str, meant: str, write: Write) -> None:
    (line,) = problems(write(MINIMAL), {variable: "1"})
    assert line == f"{variable}: sets nothing; did you mean {meant}?"


def test_a_variable_like_no_setting_is_refused_where_two_underscores_say_that_it_was_meant_for_us(write: Write) -> None:
    environ = {"VALIDATOR_QQ__ZZ": "1", "validator_home": "/srv"}
    assert problems(write(MINIMAL), environ) == [
        "VALIDATOR_QQ__ZZ: sets nothing; config/validator.toml lists every setting"
    ]


@pytest.mark.parametrize("value", ["tasks ", " tasks", "tasks\u00a0"])
def test_a_blank_at_either_end_of_a_variable_is_refused(value: str, write: Write) -> None:
    (line,) = problems(write(MINIMAL), {"VALIDATOR_TASKS__DIRECTORY": value})
    assert line.startswith("VALIDATOR_TASKS__DIRECTORY: tasks.directory: ")
    assert value == value.strip() or "blank" in line or "control characters" in line


def test_strangers_are_what_sets_nothing_and_is_no_platforms() -> None:
    names = ("VALIDATOR_HOME", "VALIDATOR_CONFIG", "VALIDATOR_PORT", "VALIDATOR_STORE__URL_FILE", "VALIDATOR_STORE_URL")
    assert strangers(dict.fromkeys((*names, "OTHER"), "")) == ["VALIDATOR_HOME", "VALIDATOR_STORE_URL"]


@pytest.mark.parametrize("data", [b"\xff", b"a\nb", b"x" * 70_000, b" \n"])
def test_a_secret_file_that_cannot_be_used_is_told_without_its_content(
    write: Write, tmp_path: Path, data: bytes
) -> None:
    secret = tmp_path / "url"
    secret.write_bytes(data)
    (line,) = problems(write(MINIMAL), {"VALIDATOR_STORE__URL_FILE": str(secret)})
    assert line.startswith("VALIDATOR_STORE__URL_FILE: store.url: the file it names cannot be used: ")
    assert "xx" not in line


def test_a_secret_file_that_is_not_there_is_told_with_its_place_and_who_wanted_it(write: Write) -> None:
    (line,) = problems(write(MINIMAL), {"VALIDATOR_STORE__URL_FILE": "/nowhere/url"})
    assert line.endswith(f"cannot be used: No such file or directory: /nowhere/url (as user {os.getuid()})")


def test_a_pipe_is_read_and_one_that_says_nothing_holds_nobody_up(write: Write, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"sqlite:///piped.sqlite\n")
    os.close(writing)
    try:
        settings = load_settings(write(MINIMAL), {"VALIDATOR_STORE__URL_FILE": f"/dev/fd/{reading}"})
    finally:
        os.close(reading)
    assert settings.store.url.reveal() == "sqlite:///piped.sqlite"
    silent = tmp_path / "silent"
    os.mkfifo(silent)
    with pytest.raises(TimeoutError, match=r"a pipe that was silent for 0\.05 s"):
        read_at_most(silent, 10, wait_s=0.05)


def test_a_pipe_that_never_ends_is_not_read_for_ever(tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    with endless.open("r+b", buffering=0) as writer:
        writer.write(b"x" * 100)
        with pytest.raises(TimeoutError, match="a pipe that had no end within 0 s"):
            read_at_most(endless, 1_000, whole_s=0.0)


@pytest.mark.parametrize(
    ("variable", "secret", "shown"),
    [
        ("VALIDATOR_HEALTH__TOKEN_FILE", "hunter2hunter2hunter2", "a name that is not shown, as it may be "),
        ("VALIDATOR_HEALTH__TOKEN_FILE", "/hunter2/hunter2+hunter2==", "a name that is not shown, as it may be "),
        ("VALIDATOR_WALLET__URI_FILE", "//hunter2", "a name that is not shown, as it may be "),
        ("VALIDATOR_STORE__URL_FILE", "postgresql://v:hunter2@db/v", "write the url into a file and name that"),
    ],
)
def test_a_secret_in_the_place_of_its_file_is_not_shown(variable: str, secret: str, shown: str, write: Write) -> None:
    (line,) = problems(write(MINIMAL), {variable: secret})
    assert shown in line
    assert "hunter2" not in line


def test_a_file_that_is_missing_in_its_folder_is_named(write: Write, tmp_path: Path) -> None:
    name = str(tmp_path / "tokens_of_health")
    (line,) = problems(write(MINIMAL), {"VALIDATOR_HEALTH__TOKEN_FILE": name})
    assert name in line


def test_a_byte_order_mark_is_told(write: Write, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("\ufeffhunter2hunter2hunter2\n")
    (line,) = problems(write(MINIMAL), {"VALIDATOR_HEALTH__TOKEN_FILE": str(file)})
    assert "begins with a byte order mark" in line
    assert "hunter2" not in line


def test_value_and_file_for_one_key_contradict_each_other(write: Write, tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("sqlite:///a.sqlite")
    environ = {"VALIDATOR_STORE__URL": "sqlite:///b.sqlite", "VALIDATOR_STORE__URL_FILE": str(secret)}
    assert problems(write(MINIMAL), environ) == [
        "VALIDATOR_STORE__URL_FILE: store.url is set by VALIDATOR_STORE__URL too; one of the two must go"
    ]


def test_all_faults_are_told_at_once_each_with_key_value_and_what_is_allowed(write: Write) -> None:
    file = write(
        """
        bogus = 1
        log = 5
        [validator]
        netuid = "x\\u202e"
        [wallet]
        name = "../x"
        [rounds]
        interval_s = inf
        max_open = true
        grace = 1
        [health]
        port = 1979-05-27
        [chain]
        kind = "simulated"
        [tasks]
        server_url = "https://tasks.example.org"
        server_hotkey = "5abc"
        [store]
        retention_raw_days = 2.5
        [weights]
        workflow_mechid = 300
        """
    )
    environ = {"VALIDATOR_WEIGHTS__ENABLED": "maybe", "VALIDATOR_RONDS__MAX_OPEN": "1"}
    assert sorted(problems(file, environ)) == [
        "VALIDATOR_RONDS__MAX_OPEN: sets nothing; did you mean VALIDATOR_ROUNDS__MAX_OPEN?",
        'VALIDATOR_WEIGHTS__ENABLED: weights.enabled: got "maybe"; allowed is true or false',
        "bogus: no such section; known are " + ", ".join(Settings.model_fields),
        'chain.state: required with chain.kind = "simulated"',
        'health.port: got "1979-05-27"; allowed is a whole number from 0 to 65535',
        "log: must be a section, a table of keys",
        "rounds.grace: no such setting; did you mean `grace_s`?",
        "rounds.interval_s: got Infinity; allowed is a number from 0 to 86400 (s)",
        "rounds.max_open: got true; allowed is a whole number from 60 to 1000",
        "store.retention_raw_days: got 2.5; allowed is a whole number from 1 to 3650 (days)",
        'tasks.server_hotkey: got "5abc"; allowed is an ss58 address',
        'validator.netuid: got "x\\u202e"; allowed is a whole number from 0 to 65535',
        'wallet.name: got "../x"; allowed is 1 to 64 of A-Z a-z 0-9 . _ -, no . or - in front',
        "weights.workflow_mechid: got 300; allowed is a whole number from 0 to 255",
    ]


def test_what_one_key_demands_of_another(write: Write) -> None:
    file = write(MINIMAL + '[wallet]\nuri = "//Alice"\n[tasks]\nserver_url = "http://t.example"\n')
    assert problems(file) == [
        'wallet.uri: allowed only with chain.kind = "simulated"',
        "tasks.server_hotkey: required with tasks.server_url",
    ]


def test_a_missing_section_and_a_missing_key(write: Write) -> None:
    assert problems(write("")) == ["validator: the section is required, with netuid"]
    assert problems(write("[validator]\n")) == [
        "validator.netuid: is required; allowed is a whole number from 0 to 65535"
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("store.url", "hunter2"),
        ("store.url", "mysql://root:hunter2@db/x"),
        ("store.url", "hunter2@db"),
        ("chain.endpoints", "http://u:hunter2@node"),
        ("wallet.uri", "bottom drive obey hunter2"),
        ("tasks.server_url", "https://user:hunter2@tasks.example.org"),
        ("tasks.server_url", "https://tasks.example.org/?token=hunter2"),
    ],
)
def test_a_refused_secret_is_never_shown(write: Write, key: str, value: str) -> None:
    section, _, name = key.partition(".")
    variable = f"VALIDATOR_{section.upper()}__{name.upper()}"
    lines = problems(write(MINIMAL), {variable: value})
    assert lines[0].startswith(f"{variable}: {key}: got a value that is not shown; allowed is ")
    assert "hunter2" not in "\n".join(lines)


def test_the_public_form_and_the_repr_show_no_secret(write: Write) -> None:
    file = write(
        MINIMAL
        + """
        [store]
        url = "postgresql://user:hunter2%2F%40x@db.example:5432/sssa?password=hunter2"
        [chain]
        kind = "simulated"
        state = "chain.json"
        endpoints = ["wss://node.example/hunter2", "finney"]
        [wallet]
        uri = "//hunter2"
        """
    )
    settings = load_settings(file, {})
    public = settings.public()
    assert "hunter2" not in str(public)
    assert public["store"]["url"] == "postgresql://***@db.example:5432/sssa?***"
    assert public["chain"]["endpoints"] == ["wss://node.example/***", "finney"]
    assert public["chain"]["state"] == "chain.json"
    assert public["wallet"]["uri"] == "***"
    assert "hunter2" not in repr(settings.store) + repr(settings.chain) + repr(settings.wallet)


def test_where_the_file_is_looked_for(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (text,) = problems(None)
    assert "--config" in text
    assert "$VALIDATOR_CONFIG" in text
    assert "./validator.toml" in text
    (tmp_path / DEFAULT_FILE).write_text("[validator]\nnetuid = 1\n")
    assert load_settings(None, {}).validator.netuid == 1
    (tmp_path / "other.toml").write_text("[validator]\nnetuid = 2\n")
    assert load_settings(None, {"VALIDATOR_CONFIG": "other.toml"}).validator.netuid == 2
    assert load_settings(write(MINIMAL), {"VALIDATOR_CONFIG": "other.toml"}).validator.netuid == 3
    assert problems(Path("absent.toml")) == ["cannot be read: No such file or directory"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"\xef\xbb\xbf[validator]\nnetuid = 1\n", "begins with a byte order mark; save it as UTF-8 without one"),
        (b"[validator\n", "not TOML: "),
        (b"a = " + b"1" * 5_000, "not TOML: "),
        (b"a = " + b"[" * 100_000, "not TOML: "),
        (b"#" * 1_100_000, "larger than 1048576 bytes"),
    ],
)
def test_files_that_are_no_settings_give_one_line(tmp_path: Path, data: bytes, text: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(data)
    (line,) = problems(file)
    assert line.startswith(text)
    assert len(line) < 300


def test_settings_cannot_be_changed(write: Write) -> None:
    settings = load_settings(write(MINIMAL), {})
    with pytest.raises(ValidationError):
        settings.validator.netuid = 4


@given(
    st.dictionaries(st.sampled_from(["VALIDATOR_STORE__URL", "VALIDATOR_HEALTH__PORT", "VALIDATOR_X__Y"]), st.text())
)
def test_no_environment_does_anything_but_load_or_say_why_not(environ: dict[str, str]) -> None:
    example = Path(__file__).parents[3] / "config" / "validator.toml"
    try:
        assert isinstance(load_settings(example, environ), Settings)
    except SettingsError as error:
        assert all(line.isprintable() for line in error.problems)


def test_bytes_that_are_not_utf8_in_the_environment(write: Write) -> None:
    environ = {"VALIDATOR_WALLET__NAME": os.fsdecode(b"\xff")}
    assert problems(write(MINIMAL), environ) == [
        "VALIDATOR_WALLET__NAME: wallet.name: holds control characters or bytes that are not UTF-8"
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "validator.example"])
def test_a_health_port_that_others_reach_needs_a_token_or_a_word(write: Write, host: str) -> None:
    text = MINIMAL + f'[health]\nhost = "{host}"\n'
    (problem,) = problems(write(text))
    assert problem.startswith("health.host: can be reached from other machines; set health.token, or health.expose")
    assert problems(write(text + "expose = false\n")) == [problem]
    assert load_settings(write(text + "expose = true\n"), {}).health.host == host
    token = load_settings(write(text), {"VALIDATOR_HEALTH__TOKEN": "0123456789abcdef"})
    assert "0123456789abcdef" not in f"{token!r}{token.public()}"
    assert token.public()["health"]["token"] == "***"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_health_port_on_this_machine_needs_neither(write: Write, host: str) -> None:
    health = load_settings(write(MINIMAL + f'[health]\nhost = "{host}"\n'), {}).health
    assert (health.host, health.token, health.expose) == (host, None, False)


def test_a_network_that_the_sdk_does_not_know_is_refused(write: Write) -> None:
    (problem,) = problems(write(MINIMAL + '[chain]\nendpoints = ["tset"]\n'))
    assert problem.startswith("chain.endpoints")
    assert "archive, devnet, finney, local, test" in problem
    assert tuple(sorted(bittensor.settings.NETWORKS)) == NETWORKS
