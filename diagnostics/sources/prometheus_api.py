"""A Prometheus-compatible API (Prometheus, Thanos, Mimir, VictoriaMetrics).

prometheus-api-client finds out what is there; range answers, which are large, are fetched through the same session
and decoded by ``query_range``.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from typing import Any

import msgspec
import requests
from msgspec import Struct
from prometheus_api_client.exceptions import PrometheusApiClientException
from prometheus_api_client.prometheus_connect import PrometheusConnect

from diagnostics.engines import registry
from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind
from diagnostics.options import Options
from diagnostics.sources import query_range
from diagnostics.sources.http import READ_SECONDS, get

# One gauge an engine that is always there: what it is found by.
MARKERS = (
    "vllm:num_requests_running", "vllm_num_requests_running", "ray_vllm_num_requests_running", "sglang:num_running_reqs",
    "sglang_num_running_reqs", "tgi_batch_current_size",
)  # fmt: skip
MIN_STEP_SECONDS, MAX_POINTS = 1.0, 1000
_PARALLEL = 4
_PING = "vector(1)"


class Window(Struct, frozen=True):
    """What is asked for: Unix seconds from and to, and seconds between points."""

    start: float
    end: float
    step: float


def answers(session: requests.Session, url: str) -> bool:
    """Whether a metrics API lives at this address."""
    status, body = get(session, f"{url}/api/v1/query", url, {"query": _PING})
    if status != requests.codes.ok:
        return False
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return (
        isinstance(answer, dict)
        and answer.get("status") == "success"
        and isinstance(answer.get("data"), dict)
    )


def read(session: requests.Session, url: str, options: Options) -> Capture:
    """Fetch everything that is known of the engines there.

    Raises:
        InputError: no engine's metrics match, or the API fails.
    """
    client = PrometheusConnect(url=url, session=session, timeout=int(READ_SECONDS))
    end = options.end or time.time()
    start = options.start if options.start is not None else end - options.since
    jobs = _discover(client, url, options.select, start, end)
    window = Window(start, end, options.step or _step(client, options.select, start, end))
    capture = Capture(url, InputKind.PROMETHEUS, time_basis="sample times")
    decoded = _fetch(session, url, window, options.select, jobs)
    query_range.fill(capture, decoded)
    if capture.values is None or not len(capture.values):
        raise InputError(
            url, "", "no samples in this window", "widen it with --since, or check --from and --to"
        )
    capture.recognised += f"; step {window.step:g} s"
    return capture


def engine_series(session: requests.Session, url: str, start: float, end: float) -> list[dict[str, str]]:
    """The labels of every engine that was scraped between two moments in Unix seconds, one gauge an engine.

    Raises:
        InputError: the API fails.
    """
    params = {"match[]": _named(MARKERS, ""), "start": f"{start:.3f}", "end": f"{end:.3f}"}
    status, body = get(session, f"{url}/api/v1/series", url, params)
    try:
        if status == requests.codes.ok:
            return msgspec.json.decode(body, type=_Series).data
    except msgspec.MsgspecError:
        pass
    raise InputError(url, f"HTTP {status}", "does not list its series", "give the address of a metrics API")


class _Series(msgspec.Struct):
    data: list[dict[str, str]]


def _query(client: Any, url: str, promql: str, at: float) -> list[dict[str, Any]]:
    try:
        found = client.custom_query(promql, params={"time": at})
    except PrometheusApiClientException as error:
        raise InputError(url, "query", _message(error), "check --select") from error
    except requests.exceptions.RequestException as error:
        raise InputError(url, "query", "the API did not answer", "try again, or ask for less") from error
    return list(found)


def _message(error: PrometheusApiClientException) -> str:
    """The API's own words, on one line and short."""
    found = re.search(r'"error":"((?:[^"\\]|\\.)*)"', str(error))
    text = found.group(1) if found else "the API refused the query"
    return " ".join(text.split())[:200]


def _named(names: tuple[str, ...] | list[str], select: str) -> str:
    return "{" + ",".join(part for part in (_any_of("__name__", names), select) if part) + "}"


def _any_of(label: str, values: tuple[str, ...] | list[str]) -> str:
    """A matcher for any of these values; they are text, not patterns."""
    pattern = "|".join(re.escape(value) for value in values).replace("\\", "\\\\").replace('"', '\\"')
    return f'{label}=~"{pattern}"'


def _discover(client: Any, url: str, select: str, start: float, end: float) -> list[str]:
    """Jobs whose targets run an engine; scraped at any time in the window, so that a dead one is found too."""
    span = max(int(end - start), 1)
    found = _query(client, url, f"count by (job) (last_over_time({_named(MARKERS, select)}[{span}s]))", end)
    if found:
        return sorted({entry["metric"].get("job", "") for entry in found})
    if not select:
        raise InputError(
            url,
            "",
            "no metrics of a known engine in this window",
            "check --since, or that the servers are scraped",
        )
    everything = _query(
        client,
        url,
        f"count by (job, namespace, model_name) (last_over_time({_named(MARKERS, '')}[{span}s]))",
        end,
    )
    raise InputError(url, f"--select {select}", "matches no engine", _nearest(select, everything))


def _nearest(select: str, found: list[dict[str, Any]]) -> str:
    """The labels there are, those first that look like what was asked."""
    known = sorted({f'{k}="{v}"' for entry in found for k, v in entry["metric"].items()})
    if not known:
        return "no engine is scraped here at all"
    near = get_close_matches(select, known, 5, 0.3) or known[:5]
    return "there are " + ", ".join(near)


def _step(client: Any, select: str, start: float, end: float) -> float:
    """Seconds between scrapes, or more where the window would have too many points."""
    found = client.custom_query(f"max(count_over_time({_named(MARKERS, select)}[5m]))", params={"time": end})
    counted = float(found[0]["value"][1]) if found else 0.0
    interval = round(300 / counted) if counted else 15.0
    return float(max(MIN_STEP_SECONDS, interval, -(-(end - start) // MAX_POINTS)))


def _fetch(
    session: requests.Session, url: str, window: Window, select: str, jobs: list[str]
) -> list[tuple[dict[str, str], Any]]:
    """Ask for all series in a few queries, side by side."""
    with ThreadPoolExecutor(_PARALLEL) as pool:
        parts = pool.map(lambda q: _range(session, url, q, window), _queries(select, jobs))
        return [series for part in parts for series in part]


def _queries(select: str, jobs: list[str]) -> list[str]:
    """Selectors that together name every series wanted; ten at most."""
    plain, buckets = registry.names_to_fetch()
    targets = select
    if any(jobs):
        targets = ",".join(part for part in (select, _any_of("job", jobs)) if part)
    third = -(-len(plain) // 3)
    queries = [_named(plain[i : i + third], select) for i in range(0, len(plain), third)]
    queries += [_named(group, select) for group in buckets if group]
    return [*queries, _named(("up", "process_start_time_seconds"), _without_model(targets))]


def _without_model(matchers: str) -> str:
    """Matchers that ``up`` can meet: it has no label of the model."""
    kept = [
        m
        for m in re.findall(r'[a-zA-Z_]\w*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"', matchers)
        if not m.startswith("model")
    ]
    return ",".join(kept)


def _range(
    session: requests.Session, url: str, query: str, window: Window
) -> list[tuple[dict[str, str], Any]]:
    params = {
        "query": query,
        "start": f"{window.start:.3f}",
        "end": f"{window.end:.3f}",
        "step": f"{window.step:g}",
    }
    status, body = get(session, f"{url}/api/v1/query_range", url, params)
    if status not in (requests.codes.ok, requests.codes.bad_request, requests.codes.unprocessable_entity):
        raise InputError(
            url, f"HTTP {status}", "the range query failed", "ask for less with --since or --select"
        )
    return query_range.decode(url, body)
