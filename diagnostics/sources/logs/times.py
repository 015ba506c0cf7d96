"""Turns the many time notations of logs into Unix seconds, the missing year and zone included."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Provisional years of lines that print none: every fourth one, so that 29 February always exists.
_BASE_YEAR = 2000
_YEAR_STRIDE = 4
_YEARS_BACK = 12
_CACHE_LIMIT = 4096

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?\s?(Z|UTC|[+-]\d\d:?\d\d)?(?![\d:])"
)
_YEARLESS = re.compile(r"(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)")
# Nanoseconds of the year 5138; larger numbers are no times in any unit.
_NO_TIME = 1e20
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}


class Stamp(NamedTuple):
    """One point in time as read; a yearless one is provisional until the whole log has been seen."""

    seconds: float
    yearless: bool


def current_time() -> float:
    """Return the present as Unix seconds; apart so that tests can hold it still."""
    return time.time()


class Clock:
    """Reads times of one log and, at its end, settles those that were printed without a year."""

    def __init__(self, timezone: tzinfo | None = None, year: int | None = None) -> None:
        self.zone: tzinfo = timezone or UTC
        self.zone_assumed = timezone is None
        self.assumed_year: int | None = None
        self.used_zoneless = False
        self.used_zoned = False
        self._year = year
        self._hours: dict[tuple[str, str], float] = {}
        self._days: dict[tuple[int, int, int], float] = {}
        self._turns = 0
        self._month: int | None = None
        self._newest = -np.inf
        self._leap_days: set[int] = set()

    def iso(self, text: str) -> Stamp | None:
        """Read a time of the ISO family; without a zone it is taken in the zone of this clock."""
        found = _ISO.match(text)
        return None if found is None else self.from_iso_match(found)

    def from_iso_match(self, found: re.Match[str]) -> Stamp | None:
        """Read what the ISO pattern found: day, hour, minute, second, fraction, zone."""
        day, hour, minute, second, fraction, zone = found.groups()
        key = (f"{day} {hour}", zone or "")
        start = self._hours.get(key)
        if start is None:
            try:
                start = self._hour_start(*key)
            except (ValueError, OverflowError):
                return None
            if len(self._hours) >= _CACHE_LIMIT:
                self._hours.clear()
            self._hours[key] = start
        if zone:
            self.used_zoned = True
        else:
            self.used_zoneless = True
        part = float(f"0.{fraction}") if fraction else 0.0
        return Stamp(start + int(minute) * 60 + int(second) + part, yearless=False)

    def _hour_start(self, day_and_hour: str, zone: str) -> float:
        if not zone:
            moment = datetime.strptime(day_and_hour, "%Y-%m-%d %H").replace(tzinfo=self.zone)
        elif zone in {"Z", "UTC"}:
            moment = datetime.strptime(day_and_hour, "%Y-%m-%d %H").replace(tzinfo=UTC)
        else:
            moment = datetime.strptime(day_and_hour + zone, "%Y-%m-%d %H%z")
        return moment.timestamp()

    def yearless(self, month: int, day: int, hour: int, minute: int, second: int) -> Stamp | None:
        """Read a time that has neither year nor zone, and follow the log over the turn of the year."""
        turns = self._turns
        if self._month is not None:
            step = month - self._month
            # Half a year decides: lines of parallel processes may cross the border in both directions.
            if step <= -6:
                turns += 1
            elif step >= 6:
                turns -= 1
        start = self._days.get((turns, month, day))
        if start is None:
            try:
                start = datetime(_BASE_YEAR + _YEAR_STRIDE * turns, month, day, tzinfo=UTC).timestamp()
            except (ValueError, OverflowError):
                return None
            if len(self._days) >= _CACHE_LIMIT:
                self._days.clear()
            self._days[turns, month, day] = start
        if hour > 23 or minute > 59 or second > 59:
            return None
        self._turns, self._month = turns, month
        if (month, day) == (2, 29):
            self._leap_days.add(turns)
        seconds = start + hour * 3600 + minute * 60 + second
        self._newest = max(self._newest, seconds)
        self.used_zoneless = True
        return Stamp(seconds, yearless=True)

    def yearless_text(self, text: str) -> Stamp | None:
        """Read ``MM-DD HH:MM:SS``."""
        found = _YEARLESS.match(text)
        return None if found is None else self.yearless(*(int(part) for part in found.groups()))

    def syslog(self, month: str, day: str, clock: str) -> Stamp | None:
        """Read the three parts of ``Nov 29 10:02:11``."""
        number = _MONTHS.get(month)
        if number is None:
            return None
        hour, minute, second = clock.split(":")
        return self.yearless(number, int(day), int(hour), int(minute), int(second))

    def anything(self, value: object) -> Stamp | None:
        """Read a time of an exported record: a number in any usual unit, or text."""
        if isinstance(value, str):
            text = value.strip()
            if not text.replace(".", "", 1).isdecimal():
                return self.iso(text) or self.yearless_text(text)
            value = float(text)
        if isinstance(value, bool) or not isinstance(value, int | float) or value >= _NO_TIME:
            return None
        for limit, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0)):
            if value >= limit:
                self.used_zoned = True
                return Stamp(value / unit, yearless=False)
        return None

    def settle(self, seconds: NDArray[np.float64], yearless: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give the provisional times among these their year and zone; the others stay as they are."""
        settled = seconds.copy()
        if not yearless.any():
            return settled
        shift = self._settled_year() - (_turns_of(self._newest))
        hours, inverse = np.unique(np.floor(seconds[yearless] / 3600.0), return_inverse=True)
        moved = np.array([self._real_hour(float(hour) * 3600.0, shift) for hour in hours])
        settled[yearless] += (moved - hours * 3600.0)[inverse]
        return settled

    def _settled_year(self) -> int:
        if self._year is not None:
            self.assumed_year = self._year
            return self._year
        if self.assumed_year is None:
            self.assumed_year = self._guess_year()
        return self.assumed_year

    def _guess_year(self) -> int:
        now = current_time()
        # A zone that is only assumed can be wrong by up to 14 hours; that must not cost a whole year.
        limit = now + (14 * 3600.0 if self.zone_assumed else 300.0)
        newest_turn = _turns_of(self._newest)
        latest = datetime.fromtimestamp(now, UTC).year + 1
        for year in range(latest, latest - _YEARS_BACK, -1):
            leap_days_exist = all(_is_leap(year - newest_turn + turn) for turn in self._leap_days)
            if leap_days_exist and self._real_hour(self._newest, year - newest_turn) <= limit:
                return year
        return latest - 1

    def _real_hour(self, provisional: float, shift: int) -> float:
        moment = datetime.fromtimestamp(provisional, UTC)
        year = shift + _turns_of(provisional)
        try:
            real = moment.replace(year=year, tzinfo=self.zone)
        except ValueError:  # 29 February in a year that was asked for and has none
            real = moment.replace(year=year, day=28, tzinfo=self.zone) + timedelta(days=1)
        return real.timestamp()

    def basis(self) -> str:
        """Say in words what the times of this log rest on."""
        parts = []
        if self.used_zoned:
            parts.append("log times with zone")
        if self.used_zoneless:
            how = "assumed" if self.zone_assumed else "read as"
            parts.append(f"log times without zone, {how} {self.zone}")
        if self.assumed_year is not None:
            how = "assumed" if self._year is None else "read as"
            parts.append(f"year not printed, {how} {self.assumed_year}")
        return "; ".join(parts) or "no times in the log"


def _turns_of(provisional: float) -> int:
    return (datetime.fromtimestamp(provisional, UTC).year - _BASE_YEAR) // _YEAR_STRIDE


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
