"""The words: numbers as people say them, cards, Markdown, JUnit."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace

from diagnostics.model.findings import Severity, Window
from diagnostics.model.report import Diagnosis, Regime
from diagnostics.reports import cards, junit, markdown, ribbon, text
from diagnostics.reports.theme import REGIME_COLOURS, SEVERITY_STYLES, Theme, counterparts, format_value


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.31, "ratio", "31 %"),
        (0.0088, "ratio", "0.88 %"),
        (7.27, "ratio", "7.3 times"),
        (0.044, "s", "44 ms"),
        (8.66, "s", "8.7 s"),
        (760.0, "s", "12 min 40 s"),
        (7500.0, "s", "2 h 5 min"),
        (64.0, "requests", "64 requests"),
        (12345.6, "tokens/s", "12,346 tokens/s"),
        (1_760_000_000.0, "unix time", "2025-10-09 08:53:20 UTC"),
        (float("nan"), "s", "unknown"),
        (0.0, "ratio", "0 %"),
    ],
)
def test_values_are_said_with_their_unit(value: float, unit: str, said: str) -> None:
    assert format_value(value, unit) == said


def test_each_light_colour_has_one_dark_counterpart() -> None:
    names = [field for field in Theme.__struct_fields__ if field != "name"]
    light = [getattr(Theme.LIGHT, n) for n in names] + [pair[0] for pair in REGIME_COLOURS.values()]
    assert len(light) == len(set(light))
    assert set(light) == set(counterparts())


def test_every_regime_and_severity_has_a_look() -> None:
    assert set(REGIME_COLOURS) == set(Regime) == set(ribbon.LETTER)
    assert set(SEVERITY_STYLES) == set(Severity)
    regimes = {colour for pair in REGIME_COLOURS.values() for colour in pair}
    assert not regimes & {c for s in SEVERITY_STYLES.values() for c in (s.light, s.dark)}


def test_the_verdict_says_what_since_when_how_sure_and_what_to_do(capped: Diagnosis) -> None:
    card = cards.verdict_card(capped.report)
    assert card.headline.startswith("Pinned at the concurrency cap of 4 on 1 of 2 replicas")
    assert card.headline.endswith(".")
    assert "Now: send part" in card.what_to_do
    assert "--max-num-seqs 4 → " in card.what_to_do
    assert (card.confidence, card.since) == ("sure", "since 08:54:35 UTC")
    assert card.runner_up.startswith("Second most likely: memory-bound.")


def test_a_finding_card_holds_everything_to_act_on(capped: Diagnosis) -> None:
    card = cards.finding_cards(capped.report)[0]
    assert (card.key, card.confidence) == ("cap-throttled", "sure")
    assert card.window == "2025-10-09 08:54:35 to 08:57:30 UTC, 2 min 55 s, 58 % of the time seen"
    assert not card.now[0].restart
    assert not card.now[0].text.startswith("Now")
    assert card.next_rollout[0].copy.startswith("--max-num-seqs ")
    assert card.evidence[0].value == "4 requests"
    assert card.evidence[0].provenance == "configured"
    assert card.verify
    assert card.wrong_if


def test_keys_of_findings_are_unique(capped: Diagnosis) -> None:
    twice = replace(capped.report, findings=(*capped.report.findings, capped.report.findings[0]))
    keys = [c.key for c in cards.finding_cards(twice)]
    assert len(keys) == len(set(keys))


def test_a_healthy_report_shows_headroom_and_others_do_not(calm: Diagnosis, capped: Diagnosis) -> None:
    card = cards.healthy_card(calm.report, calm.series)
    assert card is not None
    assert ("KV cache, highest use", "5 %") in card.headroom
    assert cards.healthy_card(capped.report, capped.series) is None


def test_a_window_without_time_says_so() -> None:
    assert "no time" in cards.window_sentence(Window(None, None))


def test_names_keep_their_first_letter() -> None:
    assert cards.sentence("pod-0:8000 is down") == "pod-0:8000 is down."
    assert cards.sentence("requests wait") == "Requests wait."


def test_markdown_reads_as_a_ticket(capped: Diagnosis) -> None:
    made = markdown.render(capped.report)
    assert made.startswith("## Pinned at the concurrency cap")
    assert "### cap-throttled: warning cause" in made
    assert "CCCCCC" in made
    assert "`--max-num-seqs 4 → " in made
    assert "```promql" in made
    assert made.count("```") % 2 == 0


def test_junit_is_well_formed_and_counts_agree(capped: Diagnosis) -> None:
    root = ET.fromstring(junit.render(capped.report))
    cases = root.findall(".//testcase")
    assert int(root.get("tests", "0")) == len(cases)
    assert int(root.get("failures", "0")) == len(root.findall(".//failure")) == 2
    assert (
        int(root.get("skipped", "0")) == len(root.findall(".//skipped")) == len(capped.report.not_evaluated)
    )
    assert len({(c.get("classname"), c.get("name")) for c in cases}) == len(cases)


def test_too_little_data_is_an_error_in_junit_and_nothing_else(empty: Diagnosis) -> None:
    root = ET.fromstring(junit.render(empty.report))
    assert root.get("errors") == "1"
    assert root.get("failures") == "0"


def test_formats_render_every_status(empty: Diagnosis, calm: Diagnosis) -> None:
    for diagnosis in (empty, calm):
        assert cards.verdict_card(diagnosis.report).headline in text.render(diagnosis.report, width=400)
        assert markdown.render(diagnosis.report)
