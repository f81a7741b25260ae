"""The tables on SQLite or Postgres: one write transaction at a time, one repository per aggregate.

Touches the database and archive files. Modules of values, types and forms (`rows`, `record`,
`columns`, `tables`, `urls`, `errors`) do no I/O. Called by every room that keeps data.
"""

from validator.store.engine import Store, open_store
from validator.store.outages import PATIENCE_S
from validator.store.schema import SchemaState, schema_state, upgrade
from validator.store.transaction import Transaction

__all__ = ["PATIENCE_S", "SchemaState", "Store", "Transaction", "open_store", "schema_state", "upgrade"]
