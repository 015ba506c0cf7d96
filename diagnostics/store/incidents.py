"""Incidents in the store: what was open when the process ended, and what nobody has been told yet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files

import duckdb
from msgspec import Struct

from diagnostics.model.findings import Severity
from diagnostics.model.incident import Incident, State, Transition

# s; resolved incidents older than this are dropped.
KEPT_SECONDS = 90 * 86_400.0
_COLUMNS = "number, deployment, rule, severity, opened_at, finding, resolved_at"


class Message(Struct, frozen=True):
    """A change that a target has not taken yet; ``target`` is a digest of its address."""

    change: Transition
    target: str


class IncidentStore:
    """Reads and writes incidents through one connection; for one thread."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        """Lay out the tables in an open store."""
        self._db = db
        db.execute((files("diagnostics.store") / "incidents.sql").read_text("utf-8"))

    def known(self, since: float) -> list[Incident]:
        """Open incidents, and those resolved at or after Unix seconds ``since``; the latest of a key last."""
        rows = self._db.execute(
            f"SELECT {_COLUMNS} FROM incidents WHERE resolved_at IS NULL OR resolved_at >= ? ORDER BY opened_at",
            [since],
        ).fetchall()
        return [_incident(row) for row in rows]

    def record(self, changes: Iterable[Transition], messages: Iterable[Message], now: float) -> None:
        """Write what changed and whom to tell, all or nothing."""
        with self._transaction():
            for change in changes:
                i = change.incident
                self._db.execute("DELETE FROM incidents WHERE number = ?", [i.number])
                self._db.execute(
                    "INSERT INTO incidents VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [i.number, i.deployment, i.rule, i.severity.value, i.opened_at, i.resolved_at,
                     json.dumps(i.finding, ensure_ascii=False)],
                )  # fmt: skip
            for message in messages:
                c = message.change
                self._db.execute(
                    "INSERT INTO outbox VALUES (?, ?, ?, ?, ?)",
                    [c.incident.number, c.state.value, c.at, c.note, message.target],
                )
            self._db.execute("DELETE FROM incidents WHERE resolved_at < ?", [now - KEPT_SECONDS])
            self._db.execute("DELETE FROM outbox WHERE incident NOT IN (SELECT number FROM incidents)")

    def waiting(self) -> list[Message]:
        """Messages that were not taken yet, oldest first."""
        columns = ", ".join(f"i.{c.strip()}" for c in _COLUMNS.split(","))
        rows = self._db.execute(
            f"SELECT o.state, o.changed_at, o.note, o.target, {columns} FROM outbox o"
            " JOIN incidents i ON i.number = o.incident ORDER BY o.changed_at"
        ).fetchall()
        return [Message(Transition(State(r[0]), _incident(r[4:]), r[1], r[2]), r[3]) for r in rows]

    def taken(self, message: Message) -> None:
        """A target took a message."""
        change = message.change
        self._db.execute(
            "DELETE FROM outbox WHERE incident = ? AND state = ? AND target = ?",
            [change.incident.number, change.state.value, message.target],
        )

    def close(self) -> None:
        """Let go of the store."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _incident(row: tuple[object, ...]) -> Incident:
    number, deployment, rule, severity, opened_at, finding, resolved_at = row
    return Incident(
        str(number), str(deployment), str(rule), Severity(severity), float(opened_at),  # type: ignore[arg-type]
        json.loads(str(finding)), None if resolved_at is None else float(resolved_at),  # type: ignore[arg-type]
    )  # fmt: skip
