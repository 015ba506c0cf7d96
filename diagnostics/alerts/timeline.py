"""When alerts would have fired: their expressions over a range, with ``for`` applied as Prometheus does."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import requests
from msgspec import Struct

from diagnostics.model.errors import InputError
from diagnostics.sources.http import get

# Points that one range query may have; the API's own limit is 11,000.
MAX_POINTS = 5000
# Points below which a query that is too much for the API is not halved any more.
LEAST_POINTS = 50
_TOO_MUCH = "too many samples"
Labels = tuple[tuple[str, str], ...]


class Span(Struct, frozen=True):
    """A range of evaluations: Unix seconds from and to, and seconds between them."""

    start: float
    end: float
    step: float

    def chunks(self) -> Iterable[Span]:
        """Spans that one query each may ask for, without a point twice."""
        size = MAX_POINTS * self.step
        start = self.start
        while start <= self.end:
            end = min(start + size - self.step, self.end)
            yield Span(start, end, self.step)
            start = end + self.step


class Episode(Struct, frozen=True):
    """One stretch in which an alert would have fired.

    Attributes:
        labels: of the series that fired, in order.
        pending: Unix seconds at which its expression began to hold.
        fired: at which it began to fire.
        ended: at which it was last seen firing.
        open: whether it still fired at the end.
    """

    labels: Labels
    pending: float
    fired: float
    ended: float
    open: bool


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct):
    result: list[_Series] = []


class _Answer(msgspec.Struct):
    status: str
    data: _Data = msgspec.field(default_factory=_Data)
    error: str = ""


def moments(session: requests.Session, url: str, query: str, span: Span) -> dict[Labels, list[float]]:
    """When each series of an expression was there.

    Args:
        session: from ``sources.http.open_session``.
        url: address of the API.
        query: PromQL.
        span: what to ask for; asked in chunks.

    Returns:
        Labels, the name left out -> Unix seconds, ascending.

    Raises:
        InputError: the API refuses the query or cannot be reached.
    """
    found: dict[Labels, list[float]] = {}
    for part in span.chunks():
        for series in _ask(session, url, query, part):
            key = tuple(sorted((k, v) for k, v in series.metric.items() if k != "__name__"))
            found.setdefault(key, []).extend(t for t, _ in series.values)
    return found


def _ask(session: requests.Session, url: str, query: str, span: Span) -> list[_Series]:
    """One range query; where the API would have to load too much for it, its halves."""
    params = {
        "query": query,
        "start": f"{span.start:.3f}",
        "end": f"{span.end:.3f}",
        "step": f"{span.step:g}",
    }
    status, body = get(session, f"{url}/api/v1/query_range", url, params)
    try:
        return _decode(url, status, body)
    except InputError as error:
        half = (span.end - span.start) // span.step // 2 * span.step
        if _TOO_MUCH not in error.expected or half < LEAST_POINTS * span.step:
            raise
    middle = span.start + half
    first, second = Span(span.start, middle, span.step), Span(middle + span.step, span.end, span.step)
    return _ask(session, url, query, first) + _ask(session, url, query, second)


def _decode(url: str, status: int, body: bytes) -> list[_Series]:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.DecodeError as error:
        raise InputError(
            url, f"HTTP {status}", "the answer is no range of samples", "check the address"
        ) from error
    if answer.status != "success":
        reason = " ".join(answer.error.split())[:200] or "the query failed"
        raise InputError(url, "query", reason, "ask for less with --since or a longer --step")
    return answer.data.result


def episodes(there: dict[Labels, list[float]], span: Span, hold: float, keep: float = 0.0) -> list[Episode]:
    """Stretches in which an alert fires.

    Before it fires, an expression that is absent at one evaluation begins anew; once firing, it goes on over absences
    that are shorter than ``keep``, and for so long after its end.

    Args:
        there: from ``moments``.
        span: the range that was asked for.
        hold: seconds that the expression must hold (``for``).
        keep: seconds that it goes on firing (``keep_firing_for``).
    """
    found: list[Episode] = []
    for labels, times in there.items():
        begin = before = times[0]
        for at in [*times[1:], float("inf")]:
            firing = before - begin >= hold
            gap = at - before
            if gap > 1.5 * span.step and not (firing and gap <= keep):
                if firing:
                    ended = min(before + keep, span.end)
                    found.append(
                        Episode(
                            labels, begin, _fired(begin, hold, span.step), ended, ended + span.step > span.end
                        )
                    )
                begin = at
            before = at
    return sorted(found, key=lambda e: (e.fired, e.labels))


def _fired(begin: float, hold: float, step: float) -> float:
    """The first evaluation at which it fires."""
    return begin + step * -(-hold // step)
