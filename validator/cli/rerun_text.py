"""A rerun on a page: what the miner's traces claim beside what was seen (SPEC 15)."""

from validator.audit.views import RerunView
from validator.cli.explain_page import Page
from validator.cli.tables import Column
from validator.cli.waiting_work import write_tries
from validator.protocol.rerun import RerunReport


def write_rerun(page: Page, rerun: RerunView) -> None:
    """Add everything that is known of a rerun."""
    page.heading(f"Run again: task {rerun.task_id} ({rerun.skill_type}), {rerun.event or rerun.state}")
    page.line(f"rerun {rerun.rerun_id}; {rerun.why}: {rerun.why_meaning or '-'}")
    page.line(f"image {rerun.image}, {rerun.digest}")
    write_tries(page, rerun)
    if rerun.report is not None:
        _write_report(page, rerun.report)
    if rerun.state == "inconclusive":
        page.line("it tells nothing of the miner, and nothing was counted")
    elif rerun.counted_in is not None:
        page.line(f"counted in round {rerun.counted_in}")
    elif rerun.event is not None:
        page.line("the next round that is settled counts it")
    if rerun.struck is not None:
        page.line(f"the window entry of the answer was {rerun.struck:.4f} and is 0 since then (D-30)", style="red")


def _write_report(page: Page, report: RerunReport) -> None:
    probes = ", ".join(f"{name} {'seen' if seen else 'not seen'}" for name, seen in report.probes.items())
    page.line(f"probes in the repeated run: {probes}")
    columns = (
        Column("trace"),
        Column("the miner claims", right=True),
        Column("seen", right=True),
        Column("in both", right=True),
        Column("share", right=True),
    )
    rows = ((name, one.claimed, one.seen, one.shared, one.share) for name, one in report.traces.items())
    page.table(columns, rows)
    files = "the same files as" if report.fs_equal else "other files than"
    page.line(f"it touched {files} the miner claims; the mean of the shares is {report.similarity:.4f}")
    for name, one in report.traces.items():
        page.things(f"{name}: the miner claims, and was not seen", one.only_claimed)
        page.things(f"{name}: was seen, and the miner does not claim", one.only_seen)
