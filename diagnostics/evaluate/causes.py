"""Which causes explain which symptoms, and which cause comes first when several hold.

The order answers one question: if two are true, which change would make the other go away?
"""

from __future__ import annotations

from msgspec.structs import replace

from diagnostics.model.findings import Finding, Role, Severity

# Earlier explains later. A dead replica overloads its peers; a storm is how a lack of memory hurts; a queue is
# what every limit looks like from outside.
PRECEDENCE = (
    "does-not-fit",
    "tp-degree-invalid",
    "replica-down-or-restarting",
    "engine-stalled",
    "gpu-throttled",
    "preemption-storm",
    "memory-bound",
    "cap-throttled",
    "reserved-slot-waste",
    "token-budget-bound",
    "adapter-thrash",
    "rank-imbalance",
    "round-robin-imbalance",
    "routing-skew",
    "prefill-stalls-decode",
    "static-batching",
    "host-bound",
    "replica-outlier",
    "prompt-lookup-misfit",
    "low-acceptance",
    "drafter-too-expensive",
    "speculation-at-high-batch",
    "draft-length-overshoot",
    "kv-budget-thin",
    "prefix-blind-routing",
    "prefix-cache-miss",
    "precision-unsupported",
    "weight-only-quant-compute-bound",
    "tp-over-slow-link",
    "cuda-graph-ceiling",
    "decode-bound",
    "client-disconnects",
    # Prompts answered from the cache leave little but the client's own time to measure.
    "identical-prompts",
    "client-bound",
    "cold-start-dominated",
    "startup-quantization",
    "uniform-lengths",
    "closed-loop",
    "bench-untrustworthy",
    "bench-regression",
    "past-saturation-knee",
)

# What separates the primary from the runner-up.
TOLD_APART = {
    (
        "cap-throttled",
        "memory-bound",
    ): "KV cache usage while requests wait: spare means the cap, full means memory",
    (
        "memory-bound",
        "cap-throttled",
    ): "KV cache usage while requests wait: full means memory, spare means the cap",
    (
        "cap-throttled",
        "token-budget-bound",
    ): "running: flat at one number means the cap; below it with steps full of prompt tokens means the budget",
    (
        "token-budget-bound",
        "cap-throttled",
    ): "running: below the cap and moving, while every step is full of prompt tokens",
    ("token-budget-bound", "memory-bound"): "KV cache usage while requests wait: it has room",
    ("memory-bound", "token-budget-bound"): "share of prompt tokens in a step: steps are not full of prefill",
    (
        "preemption-storm",
        "memory-bound",
    ): "preemptions: with them work is thrown away, without them it only waits",
    (
        "kv-budget-thin",
        "memory-bound",
    ): "sequences in a full pool: a few mean a thin pool, many mean more load than one replica holds",
    (
        "memory-bound",
        "kv-budget-thin",
    ): "sequences in a full pool: many mean more load than one replica holds, a few mean a thin pool",
    ("does-not-fit", "tp-degree-invalid"): "the refusal in the log: it speaks of memory, not of divisibility",
    ("tp-degree-invalid", "does-not-fit"): "the refusal in the log: it speaks of divisibility, not of memory",
    (
        "prefill-stalls-decode",
        "decode-bound",
    ): "median gap between tokens: it stays low while single gaps are long",
}

_LIKELY_SECOND = {
    "cap-throttled": "memory-bound",
    "memory-bound": "token-budget-bound",
    "preemption-storm": "memory-bound",
    "token-budget-bound": "cap-throttled",
    "prefill-stalls-decode": "decode-bound",
}


def rank(findings: list[Finding]) -> list[Finding]:
    """Findings, the one to act on first at the head.

    A symptom whose cause was found follows it and becomes what the cause explains.
    """
    loud = {f.rule for f in findings if f.severity is not Severity.INFO}
    explained = {slug for f in findings if f.role is Role.CAUSE and f.rule in loud for slug in f.explains}
    return sorted((_demote(f, explained) for f in findings), key=_key)


def _demote(finding: Finding, explained: set[str]) -> Finding:
    if finding.rule in explained and finding.role is Role.CAUSE:
        return replace(finding, role=Role.SYMPTOM)
    return finding


def _key(finding: Finding) -> tuple[int, int, int, float]:
    order = PRECEDENCE.index(finding.rule) if finding.rule in PRECEDENCE else len(PRECEDENCE)
    role = (Role.CAUSE, Role.SYMPTOM, Role.ADVICE).index(finding.role)
    return (finding.severity is Severity.INFO, role, order, -finding.confidence)


def primary(ranked: list[Finding]) -> Finding | None:
    """The one finding to act on first: a loud cause, else a loud symptom or advice."""
    return next((f for f in ranked if f.severity is not Severity.INFO), None)


def runner_up(ranked: list[Finding], first: Finding) -> tuple[str | None, str]:
    """The second most likely cause and what tells it from the first."""
    others = [
        f.rule
        for f in ranked
        if f.role is Role.CAUSE and f.rule != first.rule and f.severity is not Severity.INFO
    ]
    second = others[0] if others else _LIKELY_SECOND.get(first.rule)
    return second, TOLD_APART.get((first.rule, second or ""), "")
