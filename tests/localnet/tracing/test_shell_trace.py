import pytest

from localnet.tracing.places import DECOYS
from localnet.tracing.shell import ShellTrace


def read(*lines: str) -> list[tuple[str, dict[str, object]]]:
    shell = ShellTrace({"main.sh": b"function tidy { :; }\nsend-all () { :; }\n"})
    return [
        (name, {key: value for key, value in record.items() if key != "ts"})
        for line in lines
        for name, record in shell.read(line, 1.5)
    ]


def before(text: str) -> str:
    quoted = text.replace("'", "'\\''")
    return f"+|/skill|: sssa-before '{quoted}'"


@pytest.mark.parametrize(
    ("command", "record"),
    [
        ('echo "$x" > out.txt', {"op": "write", "path": "/skill/out.txt"}),
        ("sort < ./in//a.txt", {"op": "read", "path": "/skill/in/a.txt"}),
        ("run &>> /var/tmp/log", {"op": "write", "path": "/var/tmp/log"}),
        ("cat 2>~/errors", {"op": "write", "path": "/home/skill/errors"}),
        ('tee > "$HOME/x"', {"op": "write", "path": "/home/skill/x"}),
    ],
)
def test_redirections_are_files(command: str, record: dict[str, object]) -> None:
    assert read(before(command)) == [("fs", record)]


@pytest.mark.parametrize(
    "command", ["echo 'a > b'", "x 2>&1", "x > $unknown", "x > $(name)", "x > /dev/null", "cat <<EOF", "x > *.txt", "("]
)
def test_what_cannot_be_known_is_left_out(command: str) -> None:
    assert read(before(command)) == []


def test_known_variables_are_followed_until_a_loop_takes_them_over() -> None:
    assert read("+|/skill|export out=a.txt", before("x > $out"))[1:] == [
        ("fs", {"op": "write", "path": "/skill/a.txt"})
    ]
    assert read("+|/skill|out=a.txt", "+|/skill|for out in 1 2", before("x > ${out}"))[1:] == []


def test_a_device_path_is_a_connection() -> None:
    assert read(before("exec 3<>/dev/tcp/c2.invalid/4444")) == [
        ("network", {"domain": "c2.invalid", "dst_port": 4444, "proto": "tcp"})
    ]


@pytest.mark.parametrize(
    ("command", "domain", "port"),
    [
        ("curl -s http://a.invalid/x", "a.invalid", 80),
        ("wget https://user:secret@b.invalid:444/", "b.invalid", 444),
        ("git clone ssh://git@c.invalid/r", "c.invalid", 22),
        ("nc d.invalid 99", "d.invalid", 99),
        ("/usr/bin/dig e.invalid", "e.invalid", 53),
        ("ping -c1 f.invalid", "f.invalid", None),
    ],
)
def test_commands_name_the_hosts_they_talk_to(command: str, domain: str, port: int | None) -> None:
    assert ("network", {"domain": domain, "dst_port": port, "proto": "tcp"}) in read(f"+|/skill|{command}")


def test_builtins_functions_and_compounds_are_no_processes() -> None:
    lines = ["tidy now", "send-all", "echo https://a.invalid", "[ -f x ]", "for x in a", "[[ -n x ]]", "case x in"]
    assert {name for name, _ in read(*(f"++|/skill|{line}" for line in lines))} == {"shell_commands"}


def test_a_decoy_s_value_gives_its_name_away() -> None:
    value = DECOYS["API_TOKEN"]
    assert ("secrets", {"type": "env", "pattern": "API_TOKEN"}) in read(f"+|/skill|echo {value}")


def test_printing_the_environment_reads_the_decoys() -> None:
    one = ("secrets", {"type": "env", "pattern": "API_TOKEN"})
    assert [record for record in read("+|/skill|printenv API_TOKEN PATH") if record[0] == "secrets"] == [one]
    for command in ("env", "/usr/bin/printenv"):
        assert len([name for name, _ in read(f"+|/skill|{command}") if name == "secrets"]) == len(DECOYS)
    assert "secrets" not in dict(read("+|/skill|env A=1 run"))


@pytest.mark.parametrize("line", ["", "+ echo", "no trace", "+|/skill", "+|/skill|", "\x00"])
def test_other_lines_say_nothing(line: str) -> None:
    assert read(line) == []
