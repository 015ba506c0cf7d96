"""Opening the store. One process owns a store file; everything else goes through its connection."""

from __future__ import annotations

from importlib.resources import files

import duckdb

from diagnostics.model.errors import InputError


def open_store(path: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open the store, in memory or in a file, and lay out its tables.

    Args:
        path: a file, or None for memory.

    Raises:
        InputError: the file cannot be opened, is no store, or another process owns it.
    """
    try:
        connection = duckdb.connect(path or ":memory:", config={"threads": 2, "memory_limit": "2GB"})
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise InputError(
                str(path),
                "",
                "another process owns this store",
                "use its dashboard, or give --store another file",
            ) from error
        raise InputError(
            str(path), "", "the store cannot be opened", "check that the folder is writable"
        ) from error
    except duckdb.Error as error:
        raise InputError(str(path), "", "this file is not a store", "give --store a new file") from error
    connection.execute("SET enable_progress_bar = false")
    connection.execute((files("diagnostics.store") / "schema.sql").read_text("utf-8"))
    return connection
