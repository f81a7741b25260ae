"""The tables on SQLite or Postgres: one write transaction at a time, one repository per aggregate.

Touches the database and archive files. Modules of values, types and forms (`rows`, `record`,
`columns`, `tables`, `urls`, `errors`) do no I/O. Called by every room that keeps data.
"""

from typing import TYPE_CHECKING

from validator.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from validator.store.engine import Store, open_store
    from validator.store.outages import PATIENCE_S
    from validator.store.schema import SchemaState, schema_state, upgrade
    from validator.store.transaction import Transaction
else:  # SQLAlchemy takes longer than verifying a short log, which has use for the records alone
    __getattr__ = lazy_getattr(
        __name__,
        {
            "PATIENCE_S": "outages",
            "SchemaState": "schema",
            "Store": "engine",
            "Transaction": "transaction",
            "open_store": "engine",
            "schema_state": "schema",
            "upgrade": "schema",
        },
    )

__all__ = ["PATIENCE_S", "SchemaState", "Store", "Transaction", "open_store", "schema_state", "upgrade"]
