"""Telling others: an Alertmanager, which wants to hear it again and again, and webhooks, which want it once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from msgspec import Struct

from diagnostics.alerts.alert import alert_name
from diagnostics.model.errors import InputError
from diagnostics.model.incident import Incident, State, Transition
from diagnostics.options import Access
from diagnostics.reports.escape import chat
from diagnostics.reports.json import iso
from diagnostics.reports.theme import duration
from diagnostics.sources.http import open_session, post, without_credentials
from diagnostics.store.incidents import IncidentStore, Message
from diagnostics.watch.options import WatchOptions

# An alert that is not posted again for so many rounds expires at the Alertmanager.
EXPIRES_AFTER_ROUNDS = 4
# s; for so long a resolved incident is posted as resolved, so that an Alertmanager that was away learns it.
RESOLVED_SECONDS = 900.0
_MARK = {
    State.OPENED: ":rotating_light:",
    State.WORSE: ":rotating_light:",
    State.RESOLVED: ":white_check_mark:",
}


class Target(Struct, frozen=True):
    """Where a webhook is: its address, how to call it without the secret, and its name in the store."""

    address: str
    shown: str
    digest: str


class Notifier:
    """Posts; a failure is one line and is tried again in the next round."""

    def __init__(self, plan: WatchOptions, store: IncidentStore) -> None:
        self._plan, self._store = plan, store
        self.alertmanagers = tuple(without_credentials(a.rstrip("/")) for a in plan.alertmanagers)
        self.webhooks = tuple(_target(a) for a in plan.webhooks)
        self.failures = 0

    def messages(self, changes: Iterable[Transition]) -> list[Message]:
        """Whom to tell of what: only what is loud enough, each webhook once."""
        loud = [c for c in changes if self._is_loud(c.incident)]
        return [Message(c, w.digest) for c in loud for w in self.webhooks]

    def tell(self, open_now: Iterable[Incident], resolved: Iterable[Incident], now: float) -> dict[str, str]:
        """Post everything that is due.

        Returns:
            Targets that did not take it, with the reason in one line.
        """
        ended = [i for i in resolved if now - (i.resolved_at or 0.0) <= RESOLVED_SECONDS]
        alerts = [self._alert(i, now) for i in (*open_now, *ended) if self._is_loud(i)]
        said = {}
        if alerts:
            said = {f"Alertmanager {a}": self._post_alerts(a, i, alerts) for a, i in self.alertmanagers}
        waiting = self._store.waiting()
        for webhook in self.webhooks:
            due = [m for m in waiting if m.target == webhook.digest]
            said[webhook.shown] = self._post_messages(webhook, due) or said.get(webhook.shown, "")
        failed = {name: line for name, line in said.items() if line}
        self.failures += len(failed)
        return failed

    def _is_loud(self, incident: Incident) -> bool:
        return incident.severity.rank <= self._plan.level.rank

    def _post_alerts(self, base: str, inline: tuple[str, str] | None, alerts: list[dict[str, Any]]) -> str:
        with open_session(Access(), inline) as session:
            return _sent(session, f"{base}/api/v2/alerts", f"Alertmanager {base}", alerts)

    def _post_messages(self, target: Target, messages: list[Message]) -> str:
        """Send in order; after the first failure the rest waits."""
        with open_session(Access()) as session:
            # A webhook is outside more often than not, and there a proxy is the only way.
            session.proxies = requests.utils.get_environ_proxies(target.address)
            for message in messages:
                failed = _sent(session, target.address, target.shown, {"text": self._text(message.change)})
                if failed:
                    return failed
                self._store.taken(message)
        return ""

    def _alert(self, incident: Incident, now: float) -> dict[str, Any]:
        """An alert as Alertmanager's API wants it; its labels stay as they are while the incident lasts."""
        finding = incident.finding
        until = incident.resolved_at or now + EXPIRES_AFTER_ROUNDS * self._plan.every
        scope, runbook = finding.get("scope", {}), str(finding.get("runbook", ""))
        labels = {
            "alertname": alert_name(incident.rule),
            "severity": incident.severity.value,
            "rule": incident.rule,
            "code": finding.get("code", ""),
            "deployment": incident.deployment,
            "model_name": scope.get("model", ""),
        }
        notes = {
            "summary": incident.summary,
            "description": finding.get("explanation", ""),
            "role": finding.get("role", ""),
            "replicas": ", ".join(scope.get("replicas", ())),
            "runbook_url" if _is_link(runbook) else "runbook": runbook,
            "dashboard_url": self._link(incident),
        }
        return {
            "labels": {k: v for k, v in labels.items() if v},
            "annotations": {k: v for k, v in notes.items() if v},
            "startsAt": iso(incident.opened_at),
            "endsAt": iso(until),
        }

    def _text(self, change: Transition) -> str:
        incident = change.incident
        title = f"{incident.rule} on {chat(incident.deployment)}"
        if change.state is State.RESOLVED:
            lasted = duration(change.at - incident.opened_at)
            body = f"{_MARK[change.state]} resolved: {title}, after {lasted}"
            return f"{body}; {chat(change.note)}" if change.note else body
        remedies = incident.finding.get("remedies", ())
        now = next((r["action"] for r in remedies if r["when"] == "now"), "")
        word = ("now " if change.state is State.WORSE else "") + incident.severity.value
        lines = [f"{_MARK[change.state]} {word}: {title}", chat(incident.summary)]
        lines += [f"Now: {chat(now)}"] if now else []
        links = [str(incident.finding.get("runbook", "")), self._link(incident)]
        return "\n".join([*lines, *(f"<{chat(x)}>" for x in links if _is_link(x))])

    def _link(self, incident: Incident) -> str:
        base = self._plan.options.dashboard_base
        return f"{base.rstrip('/')}/?deployment={quote(incident.deployment, safe='')}" if base else ""


def _is_link(text: str) -> bool:
    return text.startswith(("http://", "https://"))


def _target(address: str) -> Target:
    host = urlsplit(address).hostname or ""
    return Target(address, f"webhook at {host}", hashlib.sha256(address.encode()).hexdigest())


def _sent(session: requests.Session, url: str, shown: str, content: Any) -> str:
    """Post; the reason in one line when that failed, else empty."""
    try:
        post(session, url, shown, content)
    except InputError as error:
        return str(error)
    return ""
