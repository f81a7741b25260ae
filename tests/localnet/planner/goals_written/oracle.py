"""Truth of the benchmark's goals, computed in SQL from what the goals say: nothing here is shared with the services."""

import csv
import io
import sqlite3
from collections.abc import Sequence
from typing import Any

from miner.services.actions import PASSAGES


def passages(*titles: str) -> str:
    """Return what there is on each, joined."""
    return " ".join(PASSAGES[title] for title in titles)


def rows_of(table: str, sql: str) -> list[tuple[Any, ...]]:
    """Return what SQL finds in a table of comma-separated values, which it calls `t`; numbers are numbers."""
    head, *rows = csv.reader(io.StringIO(table))
    with sqlite3.connect(":memory:") as database:
        columns = ", ".join(f'"{name}" NUMERIC' for name in head)  # the affinity that makes numbers of what looks so
        database.execute(f"CREATE TABLE t ({columns})")
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(head))})", rows)
        found = database.execute(sql).fetchall()
    database.close()
    return found


def summary(text: str, sentences: int) -> str:
    """Return the sentences whose words are on average the most frequent ones, as they follow each other.

    Words are runs of at least four letters of a to z, whatever the case.
    """
    with sqlite3.connect(":memory:") as database:
        found = _sentences(text)
        database.execute("CREATE TABLE sentences (place, text)")
        database.execute("CREATE TABLE words (place, word)")
        database.executemany("INSERT INTO sentences VALUES (?, ?)", enumerate(found))
        database.executemany(
            "INSERT INTO words VALUES (?, ?)",
            [(place, word) for place, one in enumerate(found) for word in _tokens(one)],
        )
        chosen = database.execute(
            """
            WITH frequency AS (SELECT word, count(*) AS often FROM words GROUP BY word),
                 weighed AS (SELECT s.place, s.text, coalesce(avg(f.often), 0) AS weight FROM sentences AS s
                             LEFT JOIN words AS w ON w.place = s.place LEFT JOIN frequency AS f ON f.word = w.word
                             GROUP BY s.place ORDER BY weight DESC, s.place LIMIT ?)
            SELECT text FROM weighed ORDER BY place
            """,
            (sentences,),
        ).fetchall()
    database.close()
    return " ".join(text for (text,) in chosen)


def keywords(text: str, count: int) -> Sequence[str]:
    """Return the most frequent words; of equally frequent ones the first by alphabet."""
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE words (word)")
        database.executemany("INSERT INTO words VALUES (?)", [(word,) for word in _tokens(text)])
        found = database.execute(
            "SELECT word FROM words GROUP BY word ORDER BY count(*) DESC, word LIMIT ?", (count,)
        ).fetchall()
    database.close()
    return [word for (word,) in found]


def _sentences(text: str) -> list[str]:
    found, begin = [], 0
    for place, sign in enumerate(text):
        if sign in ".!?":
            found.append(text[begin : place + 1].strip())
            begin = place + 1
    rest = text[begin:].strip()
    return [*found, rest] if rest else found


def _tokens(text: str) -> list[str]:
    only = "".join(sign if "a" <= sign <= "z" else " " for sign in text.lower())
    return [word for word in only.split() if len(word) >= 4]
