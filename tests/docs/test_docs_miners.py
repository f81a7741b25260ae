"""Pages for authors of miners: the advice is the program's own."""

from doc_pages import DOCS, table

from miner.check.advice import ADVICE

PROTOCOL = DOCS / "miner-protocol.md"


def test_the_page_tells_what_the_check_tells() -> None:
    told = {
        code.strip(" `"): row["what to do"] for row in table(PROTOCOL, "reasons") for code in row["code"].split(",")
    }
    assert {code: told.get(code) for code in ADVICE} == {code: advice.todo for code, advice in ADVICE.items()}
