"""The hang-up rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.vllm import vllm

from diagnostics.model.report import Report
from diagnostics.rules.client_disconnects import LOST_SHARE, MIN_FIRST_TOKENS, MIN_LOST

SLUG = "client-disconnects"
Judge = Callable[..., Report]


def _answers(judge: Judge, began: float, ended: float, running: float = 0) -> Report:
    """So many answers began and ended over five minutes; so many are still running."""
    growth = [began, *[0.0] * 60], [ended, *[0.0] * 60]
    return judge(vllm(running=running, began=growth[0], finished=growth[1]))


@pytest.mark.parametrize(
    ("began", "lost", "fires"),
    [
        (1000, LOST_SHARE * 1000, True),
        (1000, LOST_SHARE * 1000 - 1, False),
        (50, MIN_LOST, True),
        (50, MIN_LOST - 1, False),
        (MIN_FIRST_TOKENS, MIN_LOST, True),
        (MIN_FIRST_TOKENS - 1, MIN_LOST, False),
    ],
)
def test_answers_lost_decide(began: float, lost: float, fires: bool, judge: Judge) -> None:
    """A share of the answers, and a number of them, must be gone."""
    assert fired(_answers(judge, began, began - lost), SLUG) is fires


def test_what_is_in_flight_is_not_lost(judge: Judge) -> None:
    """Answers that run at the end of the window are taken off."""
    assert fired(_answers(judge, 100, 60), SLUG)
    assert not fired(_answers(judge, 100, 60, running=35), SLUG)


def test_two_dumps_are_enough(judge: Judge) -> None:
    """The growth between dumps shows it as well, with less confidence."""
    found = finding(judge(vllm(running=0, began=10, finished=5), "dumps"), SLUG)
    assert found is not None
    assert found.confidence <= 0.5
