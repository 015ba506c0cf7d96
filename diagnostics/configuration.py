"""The TOML file of a team: options by name, severities, ignores with a reason and an end, links, names, targets.

Nothing in it is guessed at: a key that is not known is refused together with the nearest one that is.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from diagnostics.model.catalog import SIGNALS
from diagnostics.model.configuration import Configuration, Ignore
from diagnostics.model.errors import OptionError
from diagnostics.model.findings import Severity

TABLES = ("slo", "severity", "ignore", "names", "runbooks", "dashboard", "watch")
_IGNORE_KEYS = ("rule", "reason", "until", "deployment", "model", "replica")
_DASHBOARD_KEYS = ("allow",)
_WATCH_KEYS = ("alertmanager", "webhook")


def read_configuration(path: str, option_names: Iterable[str], slugs: Iterable[str]) -> Configuration:
    """Read a file.

    Args:
        path: the file.
        option_names: long names of the options that may stand in it, without dashes.
        slugs: the rules there are.

    Raises:
        OptionError: it cannot be read, or something in it is not known or not of the right form.
    """
    try:
        said = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise OptionError(f"--config {path}: cannot be read: {error.strerror or error}") from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # besides bad TOML: other encodings, endless numbers and brackets
        raise OptionError(f"--config {path}: is no TOML: {error}") from error
    return _Reader(path, tuple(option_names), tuple(slugs)).read(said)


class _Reader(Struct):
    path: str
    option_names: tuple[str, ...]
    slugs: tuple[str, ...]

    def read(self, said: dict[str, Any]) -> Configuration:
        options: dict[str, list[str] | bool] = {}
        for key, value in said.items():
            if key in TABLES and (isinstance(value, dict) or key == "ignore"):
                continue
            name = key.replace("_", "-")
            self._known(key, name, (*self.option_names, *TABLES))
            if isinstance(value, bool):
                options[name] = value
            else:
                options[name] = [self._plain(key, v) for v in (value if isinstance(value, list) else [value])]
        dashboard, watch = self._table(said, "dashboard"), self._table(said, "watch")
        for table, keys in (("dashboard", _DASHBOARD_KEYS), ("watch", _WATCH_KEYS)):
            for key in self._table(said, table):
                self._known(f"{table}.{key}", key, keys)
        return Configuration(
            options=options,
            slo={k: self._plain(f"slo.{k}", v) for k, v in self._table(said, "slo").items()},
            severities={
                self._slug("severity", k): self._severity(k, v)
                for k, v in self._table(said, "severity").items()
            },
            ignores=tuple(self._ignore(i, entry) for i, entry in enumerate(self._entries(said), start=1)),
            names={k: self._signal(k, v) for k, v in self._table(said, "names").items()},
            runbooks={
                self._slug("runbooks", k): self._address(f"runbooks.{k}", v)
                for k, v in self._table(said, "runbooks").items()
            },
            allow=self._addresses("dashboard.allow", dashboard.get("allow", [])),
            alertmanagers=self._addresses("watch.alertmanager", watch.get("alertmanager", [])),
            webhooks=self._addresses("watch.webhook", watch.get("webhook", [])),
        )

    def _wrong(self, place: str, expected: str) -> OptionError:
        return OptionError(f"--config {self.path}: {place}: {expected}")

    def _known(self, place: str, key: str, known: tuple[str, ...]) -> None:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1, 0.0)
            raise self._wrong(place, f"no such key; the nearest is {near[0]}" if near else "no such key")

    def _table(self, said: dict[str, Any], name: str) -> dict[str, Any]:
        value = said.get(name, {})
        if isinstance(value, list) and name == "slo":
            return {}  # the option's own notation: slo = ["ttft_p99=2s"]
        if not isinstance(value, dict):
            raise self._wrong(name, f"must be a table, [{name}]")
        return value

    def _entries(self, said: dict[str, Any]) -> list[dict[str, Any]]:
        value = said.get("ignore", [])
        if not isinstance(value, list):
            raise self._wrong("ignore", "write each as [[ignore]] with rule and reason")
        return [entry for entry in value if isinstance(entry, dict)]

    def _plain(self, place: str, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._wrong(place, "must be text or a number")
        return str(value)

    def _slug(self, table: str, slug: str) -> str:
        self._known(f"{table}.{slug}", slug, self.slugs)
        return slug

    def _severity(self, slug: str, value: Any) -> Severity:
        try:
            return Severity(value)
        except ValueError as error:
            raise self._wrong(f"severity.{slug}", "must be critical, warning or info") from error

    def _signal(self, name: str, value: Any) -> str:
        self._known(f"names.{name}", str(value), tuple(SIGNALS))
        return str(value)

    def _address(self, place: str, value: Any) -> str:
        if not isinstance(value, str) or not value.startswith(("http://", "https://")):
            raise self._wrong(place, "must be an http or https address")
        return value

    def _addresses(self, place: str, value: Any) -> tuple[str, ...]:
        return tuple(self._address(place, v) for v in (value if isinstance(value, list) else [value]))

    def _ignore(self, number: int, entry: dict[str, Any]) -> Ignore:
        place = f"ignore, entry {number}"
        for key in entry:
            self._known(f"{place}: {key}", key, _IGNORE_KEYS)
        reason, until = entry.get("reason"), entry.get("until")
        if not isinstance(reason, str) or not reason.strip():
            raise self._wrong(place, "needs a reason")
        if isinstance(until, datetime):
            until = until.date()
        if until is not None and not isinstance(until, date):
            raise self._wrong(f"{place}: until", "must be a day, like 2027-01-31")
        patterns = {k: str(entry[k]) for k in ("deployment", "model", "replica") if k in entry}
        return Ignore(self._slug(place, str(entry.get("rule", ""))), reason, until, **patterns)
