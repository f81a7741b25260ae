import pytest
from tracer.places import DECOYS
from tracer.shell import ShellTrace


def read(*lines: str) -> list[tuple[str, dict[str, object]]]:
    shell = ShellTrace({"main.sh": b"function tidy { :; }\nsend-all () { :; }\n"})
    return [
        (name, {key: value for key, value in record.items() if key != "ts"})
        for line in lines
        for name, record in shell.read(line, 1.5)
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
    assert ("network", {"domain": domain, "dst_port": port, "proto": "tcp"}) in read(f"+|{command}")


def test_builtins_functions_and_compounds_are_no_processes() -> None:
    lines = ["tidy now", "send-all", "echo https://a.invalid", "[ -f x ]", "for x in a", "[[ -n x ]]", "case x in"]
    assert {name for name, _ in read(*(f"++|{line}" for line in lines))} == {"shell_commands"}


def test_a_decoy_s_value_gives_its_name_away() -> None:
    value = DECOYS["API_TOKEN"]
    assert ("secrets", {"type": "env", "pattern": "API_TOKEN"}) in read(f"+|echo {value}")


def test_printing_the_environment_reads_the_decoys() -> None:
    one = ("secrets", {"type": "env", "pattern": "API_TOKEN"})
    assert [record for record in read("+|printenv API_TOKEN PATH") if record[0] == "secrets"] == [one]
    for command in ("env", "/usr/bin/printenv"):
        assert len([name for name, _ in read(f"+|{command}") if name == "secrets"]) == len(DECOYS)
    assert "secrets" not in dict(read("+|env A=1 run"))


@pytest.mark.parametrize("line", ["", "+ echo", "no trace", "+", "+|", "\x00"])
def test_other_lines_say_nothing(line: str) -> None:
    assert read(line) == []
