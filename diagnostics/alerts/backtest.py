"""When alerts would have fired in the past: how often, for how long, on what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
import yaml
from msgspec import Struct, field

from diagnostics.alerts.measures import expand
from diagnostics.alerts.options import INTERVAL
from diagnostics.alerts.timeline import Episode, Span, episodes, moments
from diagnostics.execute import words
from diagnostics.model.errors import InputError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_SHOWN = 3


class History(Struct, frozen=True):
    """What one alert did.

    Attributes:
        alert, severity: of the rule.
        hold: its ``for`` in seconds.
        episodes: stretches in which it fired, in time order.
        error: why it could not be asked, or empty.
    """

    alert: str
    severity: str
    hold: float
    episodes: list[Episode] = field(default_factory=list)
    error: str = ""

    @property
    def seconds(self) -> float:
        """Time of all firings together; of series that fire side by side each counts."""
        return sum(e.ended - e.fired for e in self.episodes)


def read_rules(path: str) -> list[dict[str, Any]]:
    """Groups of a rules file or of a ``PrometheusRule`` manifest.

    Raises:
        InputError: not readable, or not rules.
    """
    try:
        content = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, "", "cannot be read", "name a file of Prometheus rules") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else ""
        raise InputError(path, place, "is not valid YAML", "check it with promtool check rules") from error
    inner = content.get("spec", content) if isinstance(content, dict) else None
    groups = inner.get("groups") if isinstance(inner, dict) else None
    if not isinstance(groups, list):
        raise InputError(
            path, "groups", "no groups of rules", "give a rules file or a PrometheusRule manifest"
        )
    for group in groups:
        if not isinstance(group, dict) or not isinstance(group.get("rules"), list):
            raise InputError(path, "groups", "a group without rules", "check it with promtool check rules")
    return groups


def backtest(
    groups: Sequence[dict[str, Any]], session: requests.Session, url: str, span: Span
) -> list[History]:
    """Ask a metrics API when the alerts of these groups would have fired.

    Recorded names are replaced by their definitions, so nothing needs to have been recorded.

    Args:
        groups: as Prometheus reads them.
        session: from ``sources.http.open_session``.
        url: address of the API.
        span: the time to look at; its step should be the interval at which the rules are evaluated.

    Raises:
        InputError: the API cannot be reached at all.
    """
    rules = [rule for group in groups for rule in group["rules"] if isinstance(rule, dict)]
    recorded = {str(r["record"]): str(r["expr"]) for r in rules if "record" in r and "expr" in r}
    found = [_history(r, recorded, session, url, span) for r in rules if "alert" in r and "expr" in r]
    if found and all(h.error for h in found):
        raise InputError(url, "query", found[0].error, "check the address, --since and the rules")
    return found


def _history(
    rule: dict[str, Any], recorded: dict[str, str], session: requests.Session, url: str, span: Span
) -> History:
    hold = _seconds(rule.get("for"))
    labels = rule.get("labels") or {}
    history = History(str(rule["alert"]), str(labels.get("severity", "")), hold)
    query = expand(str(rule["expr"]), recorded, min(span.step, INTERVAL))
    try:
        there = moments(session, url, query, span)
    except InputError as error:
        if not error.place:
            raise
        return History(history.alert, history.severity, hold, error=error.expected)
    keep = _seconds(rule.get("keep_firing_for"))
    return History(history.alert, history.severity, hold, episodes(there, span, hold, keep))


def _seconds(text: object) -> float:
    """Seconds of a Prometheus duration like ``1h30m``; 0 for none."""
    total, digits, unit = 0.0, "", ""
    for character in f"{text or ''}0":
        if character.isdigit() and unit:
            total += float(digits) * _UNITS.get(unit, 0.0)
            digits, unit = "", ""
        if character.isdigit():
            digits += character
        else:
            unit += character
    return total


def as_table(histories: Sequence[History], span: Span) -> str:
    """A table for the terminal: alerts that fired first, the longest first."""
    lines = [f"{'alert':<40} {'severity':<9} {'fired':>5}  {'in all':>12}  {'longest':>12}  first and last"]
    for h in sorted(histories, key=lambda h: (not h.episodes, -h.seconds)):
        if h.error:
            lines.append(f"{h.alert:<40} {h.severity:<9} {'?':>5}  {h.error}")
            continue
        if not h.episodes:
            lines.append(f"{h.alert:<40} {h.severity:<9} {0:>5}")
            continue
        longest = max(e.ended - e.fired for e in h.episodes)
        when = f"{_when(h.episodes[0].fired)} .. {_when(max(e.ended for e in h.episodes))}"
        lines.append(
            f"{h.alert:<40} {h.severity:<9} {len(h.episodes):>5}  {words.seconds(h.seconds):>12}"
            f"  {words.seconds(longest):>12}  {when}{' (still firing)' if any(e.open for e in h.episodes) else ''}"
        )
        lines += [
            f"    {_when(e.fired)}  {words.seconds(e.ended - e.fired):>10}  {_labels(e)}" for e in _longest(h)
        ]
    seen = f"{_when(span.start)} .. {_when(span.end)}, evaluated every {span.step:g} s"
    return "\n".join([*lines, "", f"Looked at {seen}.", ""])


def _longest(history: History) -> list[Episode]:
    chosen = sorted(history.episodes, key=lambda e: e.fired - e.ended)[:_SHOWN]
    return sorted(chosen, key=lambda e: e.fired)


def _labels(episode: Episode) -> str:
    return ", ".join(f"{k}={v}" for k, v in episode.labels)


def _when(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")


def as_json(histories: Sequence[History], span: Span) -> str:
    """The same for programs: times in Unix seconds."""
    rows = [
        {
            "alert": h.alert, "severity": h.severity, "for_seconds": h.hold, "fired": len(h.episodes),
            "seconds": round(h.seconds, 3), "error": h.error or None,
            "episodes": [
                {"labels": dict(e.labels), "pending": e.pending, "fired": e.fired, "ended": e.ended, "open": e.open}
                for e in h.episodes
            ],
        }
        for h in histories
    ]  # fmt: skip
    window = {"start": span.start, "end": span.end, "step_seconds": span.step}
    return json.dumps({"schema_version": 1, "window": window, "alerts": rows}, indent=1) + "\n"
