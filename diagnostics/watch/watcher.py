"""The rounds: diagnose, track, keep, tell, and go on whatever fails."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from msgspec.structs import replace

from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.incident import State, Transition
from diagnostics.model.report import Diagnosis
from diagnostics.pipeline import diagnose
from diagnostics.reports.escape import terminal
from diagnostics.reports.json import iso
from diagnostics.reports.theme import duration
from diagnostics.store.database import open_store
from diagnostics.store.incidents import IncidentStore
from diagnostics.watch.exposition import Numbers, exposition
from diagnostics.watch.notify import Notifier
from diagnostics.watch.options import WatchOptions
from diagnostics.watch.tracker import SHOWN_SECONDS, Tracker

# After failures in a row a source is left alone for 1, 3, then 7 rounds at most.
MAX_SKIPPED_ROUNDS = 7
_LOG = logging.getLogger(__name__)


class Watcher:
    """Watches one set of inputs. Everything but ``exposition`` belongs to one thread."""

    def __init__(self, plan: WatchOptions, say: Callable[[str], None], now: float | None = None) -> None:
        """Open the store and go on from what it knows.

        Args:
            plan: what to watch.
            say: takes one line a transition, and one when something begins or ceases to fail.
            now: Unix seconds; the clock's own without.

        Raises:
            InputError: the store cannot be used.
        """
        self._plan, self._say = plan, say
        self._store = IncidentStore(open_store(plan.options.store))
        self._notifier = Notifier(plan, self._store)
        self._tracker = Tracker(self._store.known((time.time() if now is None else now) - SHOWN_SECONDS))
        self._numbers = Numbers()
        self._unrecorded: list[Transition] = []
        self._unread: dict[str, str] = {}
        self._failing: set[str] = set()
        self._failed_rounds = 0
        self._skip = 0
        self.exposition = ""
        self._expose()

    def run(self, stop: threading.Event) -> None:
        """Do rounds until told to stop."""
        try:
            while not stop.is_set():
                began = time.monotonic()
                self.round(time.time())
                stop.wait(max(0.0, self._plan.every - (time.monotonic() - began)))
        finally:
            self._store.close()

    def round(self, now: float) -> None:
        """One round at Unix seconds ``now``: it fails in words, never by raising."""
        began = time.monotonic()
        if self._skip:
            self._skip -= 1
        else:
            self._unread = self._look(now)
        self._say_what_fails({**self._unread, **self._tell(now)}, now)
        self._numbers.notifications_failed = self._notifier.failures
        self._numbers.last_seconds = time.monotonic() - began
        self._expose()

    def _tell(self, now: float) -> dict[str, str]:
        """Tell others; whom it did not reach, with the reason."""
        try:
            return self._notifier.tell(self._tracker.open.values(), self._tracker.resolved.values(), now)
        except Exception as error:
            _LOG.exception("telling failed")
            return {"telling": f"telling: this program failed ({type(error).__name__}); the log says where"}

    def _look(self, now: float) -> dict[str, str]:
        """Diagnose and take in what was found; what could not be read, with the reason."""
        self._numbers.rounds += 1
        try:
            diagnosis = diagnose(
                self._plan.inputs, replace(self._plan.options, store=None, start=None, end=now)
            )
            wrong = _unread(diagnosis)
            if not wrong:
                self._take_in(diagnosis, now)
        except InputError as error:
            wrong = {error.source: str(error)}
        except OptionError as error:
            wrong = {"options": str(error)}
        except Exception as error:
            _LOG.exception("a round failed")
            wrong = {
                "diagnosis": f"diagnosis: this program failed ({type(error).__name__}); the log says where"
            }
        if not wrong:
            self._failed_rounds = 0
            self._numbers.last_success = now
            return wrong
        self._failed_rounds += 1
        self._numbers.failures += 1
        self._skip = min(2 ** (self._failed_rounds - 1) - 1, MAX_SKIPPED_ROUNDS)
        return wrong

    def _take_in(self, diagnosis: Diagnosis, now: float) -> None:
        # What a full disk kept from being recorded is recorded with the next change.
        changes = self._unrecorded = [*self._unrecorded, *self._tracker.observe(diagnosis, now)]
        if not changes:
            return
        self._store.record(changes, self._notifier.messages(changes), now)
        self._unrecorded = []
        self._numbers.opened += sum(c.state is State.OPENED for c in changes)
        self._numbers.resolved += sum(c.state is State.RESOLVED for c in changes)
        for change in changes:
            self._say(_line(change))

    def _say_what_fails(self, failing: dict[str, str], now: float) -> None:
        """One line when something begins to fail, one when it works again, none in between."""
        for name in failing.keys() - self._failing:
            self._say(f"{_stamp(now)} failing   {terminal(failing[name])}")
        for name in self._failing - failing.keys():
            self._say(f"{_stamp(now)} recovered {terminal(name)}")
        self._failing = set(failing)

    def _expose(self) -> None:
        self.exposition = exposition(
            self._numbers, list(self._tracker.open.values()), list(self._tracker.resolved.values())
        )


def _unread(diagnosis: Diagnosis) -> dict[str, str]:
    """Addresses that could not be read: silence of the rest must not be taken for health."""
    return {
        i.source: i.warnings[0]
        for i in diagnosis.report.inputs
        if i.recognised == "not read" and i.source.startswith(("http://", "https://"))
    }


def _stamp(now: float) -> str:
    return f"{iso(now)[:19]}Z"


def _line(change: Transition) -> str:
    incident = change.incident
    head = f"{_stamp(change.at)} {change.state.value:<9} {incident.severity.value:<8} {incident.rule}"
    where = f"{head} on {terminal(incident.deployment)}"
    lasted = f"after {duration(change.at - incident.opened_at)}"
    text = lasted if change.state is State.RESOLVED else terminal(incident.summary)
    return f"{where}: {text}" + (f" ({change.note})" if change.note else "")
