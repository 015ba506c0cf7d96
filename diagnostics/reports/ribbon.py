"""The regime ribbon: one line a replica, which constraint was binding, when."""

from __future__ import annotations

from diagnostics.model.report import Regime, ReplicaRegimes, Segment
from diagnostics.reports.escape import terminal
from diagnostics.reports.theme import percent

CALM = (Regime.UNSATURATED, Regime.IDLE, Regime.UNDECIDED)

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
    return (-sum(s.end - s.start for s in replica.segments if s.regime not in CALM), replica.replica)


def merged(replica: ReplicaRegimes) -> list[Segment]:
    """Neighbours of one kind as one stretch: fewer shapes, and letters that are not cut up."""
    joined: list[Segment] = []
    for part in replica.segments:
        last = joined[-1] if joined else None
        if last and last.regime is part.regime and last.inferred == part.inferred and part.start <= last.end:
            joined[-1] = Segment(last.start, part.end, part.regime, part.inferred)
        elif part.end > part.start:
            joined.append(part)
    return joined


def longest(replica: ReplicaRegimes) -> str:
    """The limit that held longest and its share of the time, as ``C 40 %``; empty where none held."""
    held: dict[Regime, float] = {}
    for part in replica.segments:
        held[part.regime] = held.get(part.regime, 0.0) + part.end - part.start
    whole, sick = sum(held.values()), {r: v for r, v in held.items() if r not in CALM}
    worst = max(sick, key=lambda r: sick[r], default=None)
    return f"{LETTER[worst]} {percent(sick[worst] / whole)}" if worst is not None and whole else ""


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
