"""Received alerts and their diagnoses in the store."""

from __future__ import annotations

import threading
import zlib
from importlib.resources import files
from typing import Any, get_origin

import duckdb
import msgspec
import numpy as np

from diagnostics.model.investigation import Investigation
from diagnostics.model.report import Diagnosis


def _from_array(value: Any) -> bytes:
    """The points of a series, as the bytes of their floats."""
    if isinstance(value, np.ndarray):
        return value.astype("<f8").tobytes()
    raise NotImplementedError(f"cannot keep a {type(value).__name__}")


def _to_array(wanted: type, value: Any) -> Any:
    if get_origin(wanted) is np.ndarray or wanted is np.ndarray:
        return np.frombuffer(value, dtype="<f8")
    raise NotImplementedError(f"cannot read a {wanted}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_from_array)
_DECODER = msgspec.msgpack.Decoder(Diagnosis, dec_hook=_to_array)
# The newest are kept; one with its series takes some hundred kilobytes.
MAX_KEPT = 200


class InvestigationStore:
    """Reads and writes from any thread, one at a time."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        """Lay out the table in an open store."""
        self._db, self._lock = db, threading.Lock()
        db.execute((files("diagnostics.store") / "investigations.sql").read_text("utf-8"))

    def save(self, item: Investigation, diagnosis: Diagnosis | None = None) -> None:
        """Write an investigation; without a diagnosis, the one that is there stays."""
        content = msgspec.json.encode(item).decode()
        with self._lock:
            known = self._db.execute(
                "UPDATE investigations SET content = ? WHERE fingerprint = ? RETURNING 1",
                [content, item.fingerprint],
            ).fetchone()
            if known is None:
                self._db.execute(
                    "INSERT INTO investigations VALUES (?, ?, ?, NULL)",
                    [item.fingerprint, item.received_at, content],
                )
                self._db.execute(
                    "DELETE FROM investigations WHERE fingerprint NOT IN"
                    " (SELECT fingerprint FROM investigations ORDER BY received_at DESC LIMIT ?)",
                    [MAX_KEPT],
                )
            if diagnosis is not None:
                self._db.execute(
                    "UPDATE investigations SET diagnosis = ? WHERE fingerprint = ?",
                    [zlib.compress(_ENCODER.encode(diagnosis), 1), item.fingerprint],
                )

    def forget_diagnosis(self, fingerprint: str) -> None:
        """Drop the diagnosis of an alert that fires anew."""
        with self._lock:
            self._db.execute(
                "UPDATE investigations SET diagnosis = NULL WHERE fingerprint = ?", [fingerprint]
            )

    def find(self, fingerprint: str) -> Investigation | None:
        """The investigation of a fingerprint, or None."""
        with self._lock:
            row = self._db.execute(
                "SELECT content FROM investigations WHERE fingerprint = ?", [fingerprint]
            ).fetchone()
        return _item(row[0]) if row else None

    def everything(self) -> list[Investigation]:
        """All that are kept, newest first."""
        with self._lock:
            rows = self._db.execute("SELECT content FROM investigations ORDER BY received_at DESC").fetchall()
        return [_item(row[0]) for row in rows]

    def diagnosis(self, fingerprint: str) -> Diagnosis | None:
        """The diagnosis of a fingerprint; None where there is none, or another version wrote it."""
        with self._lock:
            row = self._db.execute(
                "SELECT diagnosis FROM investigations WHERE fingerprint = ?", [fingerprint]
            ).fetchone()
        if not row or row[0] is None:
            return None
        try:
            return _DECODER.decode(zlib.decompress(row[0]))
        except msgspec.MsgspecError:
            return None

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            self._db.close()


def _item(content: str) -> Investigation:
    return msgspec.json.decode(content, type=Investigation)
