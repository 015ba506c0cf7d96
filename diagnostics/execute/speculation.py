"""Speculative decoding in numbers: what was drafted, what was accepted, by position."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute.facts import Facts
from diagnostics.execute.sql import Array
from diagnostics.model.requests import Stat

# Drafted tokens below which a rate means nothing.
MIN_DRAFTED = 500.0
# Printed lines below which a rate means nothing.
MIN_LINES = 3.0
# Draft methods that only look the prompt up, with next to no cost.
LOOKUP_METHODS = frozenset({"ngram", "ngram_gpu", "prompt_lookup", "suffix", "[ngram]"})


class Speculation(Struct, frozen=True):
    """One column a number, NaN where unknown.

    Attributes:
        rate: accepted by drafted tokens, 0 to 1.
        length: tokens a verification round, bonus token included.
        drafted: drafted tokens in the window; NaN for printed rates.
        curve: acceptance by position, each over all drafts; empty when unknown.
        enough: replicas with enough drafts to judge.
    """

    rate: Array
    length: Array
    drafted: Array
    curve: list[Array]
    enough: np.ndarray[tuple[int], np.dtype[np.bool_]]


def read(facts: Facts) -> Speculation:
    """Acceptance from counters; where only printed lines are there, from those."""
    drafted, accepted = facts.increase("spec_draft_tokens"), facts.increase("spec_accepted_tokens")
    drafts = facts.increase("spec_drafts")
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(drafted > 0, accepted / drafted, np.nan)
        length = np.where(drafts > 0, 1 + accepted / drafts, np.nan)
        curve = [
            np.where(drafts > 0, facts.increase("spec_accepted_per_pos", key=key) / drafts, np.nan)
            for key in facts.keys("spec_accepted_per_pos")
        ]
    lines = facts.column("spec_accept_rate", Stat.COUNT)
    printed = facts.column("spec_accept_rate", Stat.P50)
    enough = (drafted >= MIN_DRAFTED) | (np.isnan(drafted) & (lines >= MIN_LINES))
    rate = np.where(np.isnan(rate), printed, rate)
    length = np.where(np.isnan(length), facts.column("spec_accept_length", Stat.P50), length)
    if not curve:
        curve = [facts.column("spec_pos_rate", Stat.MEAN, key=key) for key in facts.keys("spec_pos_rate")]
    return Speculation(rate, length, drafted, curve, np.asarray(enough, dtype=bool))


def method(facts: Facts, i: int) -> str | None:
    """The draft method, in the engine's word; None when unknown."""
    setting = facts.setting(i, "speculative_method", "speculative_algorithm", "spec_method")
    return setting.value.strip("'\"").lower() if setting else None


def is_lookup(facts: Facts, i: int) -> bool:
    """Whether drafts are known to be looked up in the prompt."""
    return method(facts, i) in LOOKUP_METHODS
