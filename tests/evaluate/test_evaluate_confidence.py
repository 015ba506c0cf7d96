"""How sure a finding may be: never surer than its resolution, provenance, coverage and margin allow."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from support.findings import finding
from support.vllm import vllm

from diagnostics import diagnose
from diagnostics.engines import sglang, tgi
from diagnostics.evaluate.confidence import BY_RESOLUTION, confidence
from diagnostics.execute.rule import Draft, Support
from diagnostics.model.findings import ChartHint, Evidence, Impact, Role, Severity, Window, confidence_word
from diagnostics.model.report import Report
from diagnostics.model.samples import Provenance, Resolution

Judge = Callable[..., Report]


def _draft(
    resolution: Resolution = Resolution.RANGE, provenance: Provenance = Provenance.MEASURED, margin: float = 1.0,
    coverage: float = 1.0, cap: float = 1.0,
) -> Draft:  # fmt: skip
    evidence = (
        Evidence("running", "p50", 1.0, "requests", ">=", 1.0, "a", Provenance.MEASURED),
        Evidence("kv_usage", "p50", 1.0, "ratio", ">=", 1.0, "a", provenance),
    )
    return Draft(
        severity=Severity.WARNING, role=Role.CAUSE, replicas=(0,), window=Window(None, None), summary="", explanation="",
        evidence=evidence, chart=ChartHint(()), impact=Impact(""), remedies=(), refuted_by="", margin=margin,
        weakest=resolution, coverage=coverage, confidence_cap=cap,
    )  # fmt: skip


def test_less_is_never_surer() -> None:
    """Over all combinations: a poorer resolution, a weaker origin, less margin or coverage never raises it."""
    margins = (0.0, 0.5, 1.0)
    for resolution, provenance, margin, coverage in itertools.product(
        Resolution, Provenance, margins, margins
    ):
        base = _draft(resolution, provenance, margin, coverage)
        value, _ = confidence(base, Support.RECORDING)
        assert 0 < value <= 1
        if resolution is not Resolution.SNAPSHOT:
            assert (
                confidence(replace(base, weakest=Resolution(resolution - 1)), Support.RECORDING)[0] <= value
            )
        assert confidence(replace(base, margin=margin / 2), Support.RECORDING)[0] <= value
        assert confidence(replace(base, coverage=coverage / 2), Support.RECORDING)[0] <= value
        assert confidence(base, Support.SOURCE)[0] <= confidence(base, Support.REPORT)[0] <= value


@pytest.mark.parametrize("resolution", [Resolution.SNAPSHOT, Resolution.PAIR])
def test_moments_are_at_most_half_sure(resolution: Resolution) -> None:
    """Without a window no finding is surer than the contract allows."""
    assert BY_RESOLUTION[resolution] <= 0.5
    assert confidence(_draft(resolution), Support.RECORDING)[0] <= 0.5


def test_a_cap_of_the_rule_holds() -> None:
    """A rule may know that it cannot be surer."""
    assert confidence(_draft(cap=0.4), Support.RECORDING)[0] == 0.4


def test_numbers_out_of_range_do_not_leave_the_scale() -> None:
    """A margin above 1 or below 0 is taken as the end of the scale."""
    assert (
        confidence(_draft(margin=9.0), Support.RECORDING)[0]
        == confidence(_draft(margin=1.0), Support.RECORDING)[0]
    )
    assert (
        confidence(_draft(margin=-9.0), Support.RECORDING)[0]
        == confidence(_draft(margin=0.0), Support.RECORDING)[0]
    )


@pytest.mark.parametrize("provenance", [Provenance.INFERRED, Provenance.LIFETIME, Provenance.ASSUMED])
def test_the_weakest_evidence_counts_and_is_named(provenance: Provenance) -> None:
    """One inferred number among measured ones lowers the confidence, and the reason says so."""
    measured, _ = confidence(_draft(), Support.RECORDING)
    value, because = confidence(_draft(provenance=provenance), Support.RECORDING)
    assert value < measured
    word_for = {"inferred": "inferred", "lifetime": "totals since start", "assumed": "assumed"}[
        provenance.value
    ]
    assert word_for in because


def test_an_inferred_cap_is_less_sure_than_a_known_one(judge: Judge) -> None:
    """The same facts with and without the launch command."""
    known = finding(
        judge(vllm(running=8, waiting=20, command="vllm serve m --max-num-seqs 8")), "cap-throttled"
    )
    inferred = finding(judge(vllm(running=8, waiting=20)), "cap-throttled")
    assert known is not None
    assert inferred is not None
    assert inferred.confidence < known.confidence
    assert "inferred" in inferred.confidence_because


@pytest.mark.parametrize(
    ("value", "said"), [(0.8, "sure"), (0.79, "likely"), (0.5, "likely"), (0.49, "possible")]
)
def test_confidence_in_a_word(value: float, said: str) -> None:
    """Three words, with fixed borders."""
    assert confidence_word(value) == said


def test_an_engine_known_from_its_source_is_less_sure_and_says_so() -> None:
    """What rests on the engine's own numbers; a setting means the same whoever has seen the metrics."""
    draft = replace(_draft(), replicas=(0,))
    seen, plain = confidence(draft, Support.RECORDING, sglang.ENGINE)
    unseen, because = confidence(draft, Support.RECORDING, tgi.ENGINE)
    assert unseen < seen == confidence(draft, Support.RECORDING)[0]
    assert "Text Generation Inference are from its source, not yet seen in a recording" in because
    assert "source" not in plain
    configured = replace(draft, evidence=_draft(provenance=Provenance.CONFIGURED).evidence[1:])
    assert confidence(configured, Support.RECORDING, tgi.ENGINE) == confidence(configured, Support.RECORDING)


def test_the_input_of_an_engine_known_from_its_source_says_so() -> None:
    report = diagnose(["-"], stdin=b"tgi_queue_size 4\ntgi_batch_current_size 2\n").report
    assert any(
        "Text Generation Inference mean is known from its source" in w for w in report.inputs[0].warnings
    )
