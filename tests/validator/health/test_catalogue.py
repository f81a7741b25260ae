"""Every entry of the catalogue is whole, and names only checks, metrics, alerts and exit codes that exist."""

from everything import everything

from validator.daemon.exits import Exit
from validator.health.alerts import ALERTS
from validator.health.catalogue import CHECKS, CONDITIONS, FATAL
from validator.health.doctor import NAMES


def test_an_entry_says_how_the_doctor_sees_it_or_why_it_cannot() -> None:
    for one in (*CONDITIONS.values(), *FATAL.values()):
        assert bool(one.checks) != one.unseen.endswith("."), one.name
        assert set(one.checks) <= set(NAMES), one.name


def test_an_entry_says_what_happened_what_to_do_and_how_the_daemon_sees_it() -> None:
    for one in (*CONDITIONS.values(), *FATAL.values()):
        assert one.meaning.endswith("."), one.name
        assert one.advice.endswith((".", ")")), one.name
        assert one.watch[0].islower(), one.name
        assert not one.watch.endswith("."), one.name


def test_a_condition_has_an_alert_and_a_row_of_readyz_and_a_note_has_no_alert() -> None:
    alerts = {alert.name for alert in ALERTS}
    assert {one.check for one in CONDITIONS.values()} == set(CHECKS)
    for one in CONDITIONS.values():
        assert one.alert in ({""} if one.severity == "note" else alerts), one.name
    for alert in ALERTS:
        assert bool(alert.conditions) != bool(alert.expression and alert.meaning and alert.advice), alert.name


def test_the_metric_behind_a_condition_exists() -> None:
    shown = {sample.name for family in everything().registry.collect() for sample in family.samples}
    families = {name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum") for name in shown}
    for one in CONDITIONS.values():
        assert not one.metric or one.metric in families, one.name


def test_a_fatal_condition_is_an_exit_code() -> None:
    codes = {one.exit_code: one for one in FATAL.values()}
    assert len(codes) == len(FATAL)
    for code in Exit:
        if (one := codes.pop(int(code), None)) is not None:
            assert (code.meaning, code.advice, code.parks) == (one.meaning, one.advice, one.parks)
    assert codes == {}
    assert all(one.severity == "fatal" and not one.alert for one in FATAL.values())
    assert all(one.severity != "fatal" and not one.exit_code for one in CONDITIONS.values())
