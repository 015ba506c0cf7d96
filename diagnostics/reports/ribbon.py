"""The regime ribbon: one line a replica, which constraint was binding, when."""

from __future__ import annotations

from diagnostics.model.report import Regime, ReplicaRegimes
from diagnostics.reports.escape import terminal

LETTER = {
    Regime.UNSATURATED: "·", Regime.IDLE: "-", Regime.CAP: "C", Regime.KV_MEMORY: "K", Regime.PREEMPTING: "P",
    Regime.TOKEN_BUDGET: "B", Regime.QUEUEING: "Q", Regime.UNDECIDED: "?", Regime.DOWN: "X",
}  # fmt: skip
MEANING = {
    Regime.UNSATURATED: "no limit binding",
    Regime.IDLE: "idle",
    Regime.CAP: "concurrency cap",
    Regime.KV_MEMORY: "KV cache",
    Regime.PREEMPTING: "preempting",
    Regime.TOKEN_BUDGET: "token budget",
    Regime.QUEUEING: "queueing, cause unknown",
    Regime.UNDECIDED: "undecided",
    Regime.DOWN: "down",
}


def cells(replica: ReplicaRegimes, start: float, end: float, width: int) -> list[Regime]:
    """The regime of each of ``width`` equal stretches from ``start`` to ``end`` (Unix seconds)."""
    step = (end - start) / width
    row = []
    for i in range(width):
        middle = start + (i + 0.5) * step
        found = next((s.regime for s in replica.segments if s.start <= middle < s.end), Regime.UNDECIDED)
        row.append(found)
    return row


def span(replicas: tuple[ReplicaRegimes, ...]) -> tuple[float, float] | None:
    """First and last moment of all ribbons, or None when there is no time."""
    segments = [s for r in replicas for s in r.segments]
    if not segments:
        return None
    return min(s.start for s in segments), max(s.end for s in segments)


def sickness(replica: ReplicaRegimes) -> tuple[float, str]:
    """Sort key: the replica that was longest under a limit first."""
    calm = (Regime.UNSATURATED, Regime.IDLE, Regime.UNDECIDED)
    return (-sum(s.end - s.start for s in replica.segments if s.regime not in calm), replica.replica)


def plain(replicas: tuple[ReplicaRegimes, ...], columns: int, rows: int) -> list[str]:
    """The ribbon in letters, worst replica first, with a legend; empty where there is no time."""
    whole = span(replicas)
    if whole is None:
        return []
    shown = sorted(replicas, key=sickness)[:rows]
    names = [terminal(r.replica)[:24] for r in shown]
    pad = max(len(n) for n in names)
    drawn = [cells(r, *whole, max(20, columns - pad - 2)) for r in shown]
    lines = [
        f"{name:<{pad}}  " + "".join(LETTER[c] for c in row) for name, row in zip(names, drawn, strict=True)
    ]
    if len(replicas) > len(shown):
        lines.append(f"{'':<{pad}}  and {len(replicas) - len(shown)} more replicas")
    present = {c for row in drawn for c in row}
    return [*lines, f"{'':<{pad}}  " + "  ".join(f"{LETTER[r]} {MEANING[r]}" for r in Regime if r in present)]
