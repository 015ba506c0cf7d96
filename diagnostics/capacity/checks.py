"""The error of this package, and the checks that every formula begins with."""

from __future__ import annotations

import math


class CapacityError(ValueError):
    """A figure that the arithmetic cannot use; the message is one line: which figure, what is allowed."""


class UnknownFigureError(CapacityError):
    """A figure that is not wrong but not known, for example a rate the vendor does not publish."""


def positive(name: str, value: float) -> float:
    """Return ``value`` when it is a finite number above zero.

    Args:
        name: what the number is, with its unit, for the message.
        value: the number, in any unit.

    Returns:
        The same number, in the same unit.

    Raises:
        CapacityError: when it is zero, negative, infinite or not a number.
    """
    if not math.isfinite(value) or value <= 0:
        raise CapacityError(f"{name} must be above zero, not {value:g}")
    return value


def not_negative(name: str, value: float) -> float:
    """Return ``value`` when it is a finite number of at least zero.

    Args:
        name: what the number is, with its unit, for the message.
        value: the number, in any unit.

    Returns:
        The same number, in the same unit.

    Raises:
        CapacityError: when it is negative, infinite or not a number.
    """
    if not math.isfinite(value) or value < 0:
        raise CapacityError(f"{name} must be zero or more, not {value:g}")
    return value


def share(name: str, value: float) -> float:
    """Return ``value`` when it lies between 0 and 1, both allowed.

    Args:
        name: what the share is of, for the message.
        value: a ratio.

    Returns:
        The same ratio.

    Raises:
        CapacityError: when it lies outside.
    """
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise CapacityError(f"{name} must lie between 0 and 1, not {value:g}")
    return value


def positive_share(name: str, value: float) -> float:
    """Return ``value`` when it is above 0 and at most 1.

    Args:
        name: what the share is of, for the message.
        value: a ratio.

    Returns:
        The same ratio.

    Raises:
        CapacityError: when it lies outside.
    """
    if not math.isfinite(value) or not 0 < value <= 1:
        raise CapacityError(f"{name} must be above 0 and at most 1, not {value:g}")
    return value


def whole(name: str, value: int, *, least: int = 1) -> int:
    """Return ``value`` when it is a whole number of at least ``least``.

    Args:
        name: what is counted, for the message.
        value: the count.
        least: the smallest count allowed.

    Returns:
        The same count.

    Raises:
        CapacityError: when it is smaller, or not a whole number.
    """
    if value != value or math.isinf(value) or int(value) != value or value < least:  # noqa: PLR0124 (NaN)
        raise CapacityError(f"{name} must be a whole number of at least {least}, not {value:g}")
    return int(value)
