"""The shape of a reader of one engine's log: a table of rules, each with a cheap test before its pattern."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.message import Body, Line
from diagnostics.sources.logs.times import Clock

Action = Callable[[re.Match[str], Body, Collector], bool]


class Rule(Struct, frozen=True):
    """What to do with one kind of line.

    Attributes:
        needle: a substring that every such line has.
        pattern: what the message has to look like; searched, so anchor it where that matters.
        action: takes the line in; False when it was not this kind of line after all.
        family: ``statistics``, ``start-up`` or ``warning``, for the account of what was read.
        telling: whether such a line alone shows which engine wrote it.
        alone: whether what such a line gives depends on no line before it, so that its shape can be learnt.
    """

    needle: str
    pattern: re.Pattern[str]
    action: Action
    family: str
    telling: bool = True
    alone: bool = True


class EngineLog(Protocol):
    """One engine."""

    name: str
    rules: tuple[Rule, ...]

    def body(self, line: Line, clock: Clock) -> Body:
        """Take the engine's own head off a line."""

    def telling_head(self, line: Line) -> bool:
        """Tell whether the head alone shows that this engine wrote the line."""


def rule(
    needle: str, pattern: str, action: Action, family: str, *, telling: bool = True, alone: bool = True
) -> Rule:
    """Build a rule from a pattern given as text."""
    return Rule(needle, re.compile(pattern), action, family, telling, alone)


def apply_rules(engine: EngineLog, line: Line, out: Collector) -> Rule | None:
    """Run every rule that fits a line; return the first of them, the most telling where there are several."""
    text = line.text
    body: Body | None = None
    first: Rule | None = None
    for candidate in engine.rules:
        if candidate.needle not in text:
            continue
        if body is None:
            body = engine.body(line, out.clock)
        found = candidate.pattern.search(body.text)
        if found is None or (line.cut and _may_be_cut(found, body)):
            continue
        try:
            if not candidate.action(found, body, out):
                continue
        except (ValueError, OverflowError):  # of what stands where a number should, none can be made
            continue
        if candidate.family == "statistics":
            return candidate
        if first is None or (candidate.telling and not first.telling):
            first = candidate
    return first


def _may_be_cut(found: re.Match[str], body: Body) -> bool:
    """Tell whether the last value taken from a line without an end could be longer in truth."""
    return found.end() == len(body.text) and not found.re.pattern.endswith("(.*)")


def as_setting(name: str, where: str, group: int = 1) -> Action:
    """Make an action that keeps one part of the line as a setting."""

    def keep(found: re.Match[str], body: Body, out: Collector) -> bool:
        out.setting(name, found[group].replace(",", ""), f"start-up line '{where}'", body)
        return True

    return keep


def as_event(kind: str, **fixed: str) -> Action:
    """Make an action that keeps the line as an event with the named groups of its pattern as fields."""

    def keep(found: re.Match[str], body: Body, out: Collector) -> bool:
        named = {name: value for name, value in found.groupdict().items() if value}
        out.event(kind, body, {**fixed, **named})
        return True

    return keep


def as_http_error(status: str = "") -> Action:
    """Make an action that counts a request that failed, with a fixed status or the group of that name."""

    def keep(found: re.Match[str], body: Body, out: Collector) -> bool:
        out.count("http-error", {"status": status or found["status"]}, body)
        return True

    return keep


def as_stage(stage: str, group: int = 1) -> Action:
    """Make an action that keeps the seconds of a start-up stage."""

    def keep(found: re.Match[str], body: Body, out: Collector) -> bool:
        out.stage(stage, float(found[group]), body)
        return True

    return keep


def as_ready(_found: re.Match[str], body: Body, out: Collector) -> bool:
    """Note that the server takes requests."""
    out.became_ready(body)
    return True


def as_start(marker: str) -> Action:
    """Make an action for a line that a process prints once, when it starts."""

    def keep(_found: re.Match[str], body: Body, out: Collector) -> bool:
        out.started(f"{marker} {body.line.process}", body)
        return True

    return keep


def several(*actions: Action) -> Action:
    """Make an action of several."""

    def run(found: re.Match[str], body: Body, out: Collector) -> bool:
        results = [action(found, body, out) for action in actions]
        return all(results)

    return run
