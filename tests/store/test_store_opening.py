import pytest

from validator.store import open_store, schema_state
from validator.store.errors import SchemaStateError


async def test_an_empty_database_is_refused_unless_it_may_be_created(store_url: str) -> None:
    with pytest.raises(SchemaStateError, match="validator db upgrade"):
        await open_store(store_url)
    assert await schema_state(store_url) == "empty"
    async with open_store(store_url, create=True) as store, store.read() as tx:
        assert await tx.rounds.next_id() == 0
    assert await schema_state(store_url) == "current"
