"""Several viewers at once for a short time; ``make soak`` does the same for longer."""

from __future__ import annotations

from support.sessions import Session
from support.soak import Result, soak


def test_viewers_at_once_see_no_error_and_memory_stays(server: str) -> None:
    result = soak(server, ["capped", "calm", "hostile", "prose"], sessions=4, seconds=15)
    assert result.errors == []
    assert result.runs >= 8
    assert result.growth() < 0.5


def test_what_must_not_be_is_seen(server: str) -> None:
    rising = Result(memory=[(float(t), 1e6 * (1 + t)) for t in range(20)])
    assert rising.growth() > 1
    with Session(server) as session:
        broken, elements = session.open("", "source=nowhere")
    assert broken == []
    assert elements < 10
