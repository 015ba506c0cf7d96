"""An alert's labels and time become a diagnosis, one at a time, in the background."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterable

from msgspec.structs import replace

from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.investigation import Investigation
from diagnostics.model.report import Diagnosis
from diagnostics.options import Options
from diagnostics.pipeline import diagnose
from diagnostics.reports.escape import label_value
from diagnostics.sources import prometheus_api
from diagnostics.sources.http import open_session, without_credentials
from diagnostics.store.database import open_store
from diagnostics.store.investigations import InvestigationStore
from diagnostics.watch.received import Alert

# Alerts that may wait for their diagnosis; an Alertmanager sends again what was refused.
MAX_WAITING = 100
# s after the alert's start that the diagnosis still looks at.
AFTER_SECONDS = 300.0
# What narrows best comes first: a label is taken when the series of an engine carry it beside those before it.
_FIRST = ("namespace", "job", "model_name")
_LOG = logging.getLogger(__name__)


class Investigations:
    """Takes alerts, diagnoses their time, keeps the answers."""

    def __init__(self, address: str, options: Options) -> None:
        """Open the store and start to work; what still waited there is taken up again.

        Args:
            address: of the metrics API to ask.
            options: of each diagnosis; ``since`` is how far before the alert it looks back.

        Raises:
            InputError: the store cannot be used.
        """
        self._address, self._options = address, options
        self.kept = InvestigationStore(open_store(options.store))
        self._changing = threading.Lock()
        self._ending = threading.Event()
        self._waiting: queue.Queue[str | None] = queue.Queue(MAX_WAITING + 1)
        for item in self.kept.everything():
            if item.state == "waiting" and self._waiting.qsize() < MAX_WAITING:
                self._waiting.put(item.fingerprint)
        self._worker = threading.Thread(target=self._work, name="investigations", daemon=True)
        self._worker.start()

    def receive(self, alerts: Iterable[Alert], now: float) -> bool:
        """Take alerts in.

        Returns:
            Whether all were taken; False when too many wait, and the rest must be sent again.
        """
        with self._changing:
            return all(self._receive(alert, now) for alert in alerts)

    def close(self) -> None:
        """Stop after what is under way."""
        self._ending.set()
        self._waiting.put(None)
        self._worker.join(1.0)

    def _receive(self, alert: Alert, now: float) -> bool:
        starts = alert.starts_at.timestamp()
        known = self.kept.find(alert.fingerprint)
        again = known is None or (alert.status == "firing" and known.starts_at != starts)
        if known is None or again:
            summary = alert.annotations.get("summary") or alert.annotations.get("description") or ""
            known = Investigation(alert.fingerprint, alert.labels, summary, alert.status, starts, now)
        known.status = alert.status
        known.ends_at = alert.ends_at.timestamp() if alert.status == "resolved" and alert.ends_at else None
        if not again and known.state != "failed":
            self.kept.save(known)
            return True
        if self._waiting.qsize() >= MAX_WAITING:
            return False
        known.state, known.error = "waiting", ""
        self.kept.save(known)
        self.kept.forget_diagnosis(alert.fingerprint)
        self._waiting.put(alert.fingerprint)
        return True

    def _work(self) -> None:
        while (fingerprint := self._waiting.get()) is not None and not self._ending.is_set():
            item = self.kept.find(fingerprint)
            if item is not None:
                self._investigate(item)
        self.kept.close()

    def _investigate(self, item: Investigation) -> None:
        diagnosis: Diagnosis | None = None
        error, select = "", ""
        try:
            options = self._of(item, time.time())
            select = options.select
            diagnosis = diagnose([self._address], options, charts=True)
        except (InputError, OptionError) as failure:
            error = str(failure)
        except Exception as failure:
            _LOG.exception("the diagnosis of an alert failed")
            error = f"the diagnosis failed in this program ({type(failure).__name__}); the server's log says where"
        with self._changing:  # the alert may have been resolved meanwhile
            latest = self.kept.find(item.fingerprint) or item
            latest.state, latest.error, latest.select = ("done" if diagnosis else "failed"), error, select
            if diagnosis is not None:
                verdict = diagnosis.report.verdict
                latest.verdict, latest.primary = verdict.status, verdict.primary or ""
                latest.headline = verdict.headline
            self.kept.save(latest, diagnosis)

    def _of(self, item: Investigation, now: float) -> Options:
        """The options of the diagnosis of an alert."""
        starts = min(item.starts_at, now)
        start, end = starts - self._options.since, min(now, starts + AFTER_SECONDS)
        url, inline = without_credentials(self._address.rstrip("/"))
        with open_session(self._options.access, inline) as session:
            series = prometheus_api.engine_series(session, url, start, end)
        parts = [self._options.select, matchers(item.labels, series)]
        select = ",".join(part for part in parts if part)
        return replace(self._options, store=None, start=start, end=end, select=select)


def matchers(labels: dict[str, str], series: list[dict[str, str]]) -> str:
    """Matchers of those labels of an alert that series of engines carry with the same value."""
    chosen = []
    for name in sorted(labels, key=lambda n: (_FIRST.index(n) if n in _FIRST else len(_FIRST), n)):
        with_it = [s for s in series if s.get(name) == labels[name]]
        if with_it:
            chosen.append(f'{name}="{label_value(labels[name])}"')
            series = with_it
    return ",".join(chosen)
