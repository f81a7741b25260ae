"""The newest rows of every miner and type, read from the end of an index: what is older costs nothing."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Subquery, Table, and_, func, literal, select, true, union_all

from validator.protocol.skill_types import SkillType
from validator.store.tables import miners


def newest_of_each(  # noqa: PLR0913 - which rows, and how many of them
    dialect: str,
    table: Table,
    columns: Sequence[ColumnElement[Any]],
    by: ColumnElement[int],
    most: int,
    *,
    where: ColumnElement[bool],
) -> Subquery:
    """Return the `most` newest rows of each (hotkey, skill_type).

    A window function would number all rows ever stored to keep a few.

    Args:
        dialect: of the database.
        table: has `hotkey` and `skill_type`, and an index that begins with them and `by`.
        columns: what to read, those two and `by` among it.
        by: not negative; the greater, the newer.
        most: rows of a pair.
        where: which rows count.
    """
    kinds = union_all(*(select(literal(str(kind)).label("skill_type")) for kind in SkillType)).cte("kinds")
    every = select(miners.c.hotkey, kinds.c.skill_type).select_from(miners.join(kinds, true()))
    keys = (table.c.hotkey, table.c.skill_type)
    if dialect == "postgresql":
        pairs = every.cte("pairs")
        mine = select(*columns).where(_same(keys, pairs.c), where)
        found = mine.order_by(by.desc()).limit(most).lateral("found")
        return select(found).select_from(pairs.join(found, true())).subquery("newest")
    # SQLite knows no LATERAL: first where each pair's part begins, then the parts. It must neither merge the two nor
    # turn the join around, hence MATERIALIZED and the outer join, which finds a row for each pair that is left.
    first = select(by).where(table.c.hotkey == miners.c.hotkey, table.c.skill_type == kinds.c.skill_type, where)
    last = first.order_by(by.desc()).limit(1).offset(most - 1)
    oldest = func.coalesce(last.correlate(miners, kinds).scalar_subquery(), 0).label("oldest")
    there = every.add_columns(oldest).where(first.correlate(miners, kinds).exists())
    pairs = there.cte("pairs").prefix_with("MATERIALIZED")
    parts = pairs.outerjoin(table, and_(_same(keys, pairs.c), by >= pairs.c.oldest, where))
    return select(*columns).select_from(parts).subquery("newest")


def _same(keys: tuple[ColumnElement[Any], ColumnElement[Any]], pairs: Any) -> ColumnElement[bool]:
    hotkey, skill_type = keys
    return and_(hotkey == pairs.hotkey, skill_type == pairs.skill_type)
