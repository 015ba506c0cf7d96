"""A ``query_range`` (or ``query``) answer of a Prometheus-compatible API, saved or live.

The answer is decoded as far as its series; the samples of a series, ``[[1,"2"],[3,"4"]]``, lose their brackets and quotes
and are decoded as one flat list of floats. No object a sample is made besides the floats themselves.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from diagnostics.engines import registry
from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind, Series
from diagnostics.sources.exposition import describe


class _Result(msgspec.Struct):
    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"[]")
    value: msgspec.Raw = msgspec.Raw(b"")


class _Data(msgspec.Struct):
    result: list[_Result]


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


_ANSWER = msgspec.json.Decoder(_Answer)
_NUMBERS = msgspec.json.Decoder(list[float])


def looks_like_answer(head: bytes) -> bool:
    """Whether these first bytes begin a Prometheus API answer."""
    compact = head[:4096].replace(b" ", b"").replace(b"\n", b"")
    if not compact.startswith(b"{") or b'"status":"' not in compact:
        return False
    return b'"resultType":"' in compact or b'"metric":{' in compact or b'"errorType":"' in compact


def decode(source: str, raw: bytes) -> list[tuple[dict[str, str], NDArray[np.float64]]]:
    """Decode an answer.

    Args:
        source: where it came from, for messages.
        raw: the bytes of the JSON answer.

    Returns:
        For each series its labels and an array of shape (samples, 2): Unix seconds and value.

    Raises:
        InputError: not such an answer, or an answer that reports an error.
    """
    try:
        answer = _ANSWER.decode(raw)
    except msgspec.ValidationError as error:
        raise InputError(
            source, str(error), "expected a query_range answer", "save the whole answer"
        ) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            source, str(error), "the JSON is cut or broken", "save the whole answer again"
        ) from error
    if answer.data is None:
        raise InputError(source, "", f"the API answered: {answer.error or answer.status}", "mend the query")
    try:
        return [(r.metric, _points(r)) for r in answer.data.result]
    except ValueError as error:
        raise InputError(
            source, str(error)[:120], "expected pairs of a time and a number", "save the whole answer again"
        ) from error


def _points(result: _Result) -> NDArray[np.float64]:
    """Times and values of a series, shape (samples, 2).

    Raises:
        ValueError: a value is no number, or the samples are no pairs.
    """
    pairs = b"[" + bytes(result.value) + b"]" if result.value else bytes(result.values)
    flat = pairs.translate(None, b'[]" \n\r\t')
    try:
        numbers = _NUMBERS.decode(b"[" + flat + b"]")
    except msgspec.MsgspecError:
        # NaN and +Inf are not JSON numbers; only series that hold one take the slower way.
        numbers = [float(text) for text in flat.split(b",")]
    if len(numbers) != 2 * (pairs.count(b"[") - 1):
        raise ValueError("a sample is no pair")
    return np.array(numbers, dtype=np.float64).reshape(-1, 2)


def fill(capture: Capture, decoded: list[tuple[dict[str, str], NDArray[np.float64]]]) -> None:
    """Put decoded series into a capture, those that carry a known signal only."""
    arrays: list[NDArray[np.float64]] = []
    lengths: list[int] = []
    for labels, points in decoded:
        name = labels.pop("__name__", "")
        if not registry.wanted(name):
            if not name.endswith("_created"):
                capture.unused[name] = capture.unused.get(name, 0) + 1
            continue
        edge = labels.pop("le", None)
        capture.series.append(Series(name, labels, None if edge is None else float(edge)))
        arrays.append(points)
        lengths.append(len(points))
    joined = np.concatenate(arrays) if arrays else np.empty((0, 2))
    capture.series_of = np.repeat(np.arange(len(arrays), dtype=np.int64), lengths)
    capture.times, capture.values = joined[:, 0].copy(), joined[:, 1].copy()
    describe(capture)


def read_answer(source: str, raw: bytes) -> Capture:
    """Read a saved answer into a capture of kind ``prometheus``."""
    capture = Capture(source=source, kind=InputKind.PROMETHEUS)
    fill(capture, decode(source, raw))
    return capture
