"""Tensor parallelism crosses PCIe or hosts (S14, S07).

Two all-reduces a layer lie on the path of every token; over PCIe they take ten times as long as inside an
NVLink domain. The configuration or a line in the log only shows the link, so that is a remark; a step time
far above what reading the weights takes proves the loss. Not this inside one fast domain, nor for pipeline
stages across hosts.
"""

from __future__ import annotations

import numpy as np

from diagnostics.capacity.hardware import GIB
from diagnostics.engines import flags
from diagnostics.execute import bench_scaling, budget, deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# measured step by the time to read the weights once; engines reach 0.6 to 0.85 of the bandwidth, so 1.2 to
# 1.7 is usual.
SLOW_STEP = 3.0
# requests; with more in the batch, KV reads and compute add to a step.
LIGHT_LOAD = 2.0
# GPUs that share a link inside one host; larger domains span hosts.
ONE_HOST = 8


def evaluate(facts: Facts) -> Outcome:
    """Fire where a group of GPUs leaves its fast link; loud only where the step time proves it."""
    told = deployment.events(facts, "pcie-allreduce-disabled")
    drafts = []
    known = bool(told)
    for i in deployment.members(facts, told) if told else range(facts.size):
        tp = deployment.degree(facts, i, deployment.TP_NAMES)
        rows = deployment.gpus(facts, i)
        known = known or tp == 1 or (tp is not None and bool(rows))
        # The engine looked at the links themselves, which is worth more than the data sheet of the GPU.
        slow = bool(told) or (tp is not None and bool(rows) and all(tp > gpu.fast_domain for gpu in rows))
        if (tp is None or tp > 1) and (slow or _crosses_hosts(facts, i, tp)):
            drafts.append(_draft(facts, i, tp, bool(told)))
    if any(d.severity is Severity.WARNING for d in drafts):
        return Fired(tuple(drafts[:1]))
    told_by_sweep = bench_scaling.outcome(facts) if facts.runs else None
    if isinstance(told_by_sweep, Fired):
        return told_by_sweep
    if drafts:
        return Fired(tuple(drafts[:1]))
    if known or isinstance(told_by_sweep, Passed):
        return Passed()
    return Unanswered(
        Reason.NOT_CONFIGURED, ("tensor_parallel_size", "gpu"), "give the launch command and the GPU (--gpu)"
    )


def _crosses_hosts(facts: Facts, i: int, tp: int | None) -> bool:
    """Whether one tensor-parallel group is spread over hosts that share no fast domain."""
    hosts, stages = facts.number(i, "nnodes"), deployment.degree(facts, i, deployment.PP_NAMES) or 1
    if tp is None or hosts is None or hosts <= stages:
        return False
    rows = deployment.gpus(facts, i)
    return not (rows and all(gpu.fast_domain > ONE_HOST and tp <= gpu.fast_domain for gpu in rows))


def _step(facts: Facts, i: int, tp: int | None) -> tuple[float, float] | None:
    """(measured seconds a token at light load, seconds to read the weights); None without one of them."""
    rows = deployment.gpus(facts, i)
    during = "calm" if facts.column("running", Stat.MEAN, "calm")[i] > 0 else "all"
    running, gap = (
        float(facts.column("running", Stat.MEAN, during)[i]),
        float(facts.hist_mean("itl", during)[i]),
    )
    terms = budget.printed(facts, i)
    weights = terms.weights if terms else None
    if (
        len(rows) == 1
        and weights is None
        and tp is not None
        and (sum_of := budget.estimated(facts, i, rows[0]))
    ):
        weights = sum_of.weights
    if len(rows) != 1 or weights is None or np.isnan(gap) or not 0 < running <= LIGHT_LOAD:
        return None
    return gap, weights * GIB / rows[0].bandwidth


def _draft(facts: Facts, i: int, tp: int | None, told: bool) -> Draft:
    label, step = facts.entities[i].label, _step(facts, i, tp)
    proved = step is not None and step[0] >= SLOW_STEP * step[1]
    group = f"{tp} GPUs" if tp else "several GPUs"
    source = "the engine found only PCIe between them" if told else "they do not share one fast link"
    proof = (
        f" A token takes {words.seconds(step[0])} at light load; reading the weights takes "
        f"{words.seconds(step[1])}."
        if step is not None and proved else " Whether it hurts is not measured here."
    )  # fmt: skip
    return Draft(
        severity=Severity.WARNING if proved else Severity.INFO,
        role=Role.CAUSE if proved else Role.ADVICE,
        replicas=(i,),
        window=deployment.moments(deployment.events(facts, "pcie-allreduce-disabled"))
        if told else Window(facts.observed.start, facts.observed.end, None),
        summary=f"Tensor parallelism over {group} crosses a slow link: {source}"
        + ("" if proved else "; its cost is not measured"),
        explanation="Every layer of every token waits for two all-reduces, and PCIe moves them with about a "
                    "tenth of the bandwidth of NVLink and more latency." + proof,
        evidence=(
            Evidence("itl by the time to read the weights", "ratio of means", round(step[0] / step[1], 2),
                     "ratio", ">=", SLOW_STEP,
                     label, Provenance.INFERRED)
            if step is not None
            else Evidence("GPUs in one tensor-parallel group", "degree", float(tp or np.nan), "GPUs", ">",
                          1.0, label,
                          Provenance.MEASURED if told else Provenance.CONFIGURED),
        ),
        chart=ChartHint(("itl", "running")),
        impact=Impact("each token waits for the link",
                      round(step[0] / step[1], 1) if step is not None and proved else None,
                      "x the weight-reading time", "measured step" if proved else "not measured"),
        remedies=_remedies(facts, i, tp),
        do_not=("Do not raise the degree to win latency across PCIe: each GPU adds to every all-reduce.",
                "Do not silence the warning and take it for solved: the link stays."),
        refuted_by="The GPUs share NVLink (nvidia-smi topo -m), or half the degree gives half the tokens a "
                   "second.",
        margin=min(1.0, step[0] / (SLOW_STEP * step[1]) - 1) if step is not None and proved else 0.5,
        weakest=facts.resolution[i] if step is not None else Resolution.SNAPSHOT,
        verify=(Request("itl", Stat.HIST_MEAN), Request("running", Stat.MEAN)),
        because="the engine's own line on its links" if told else "the degree beside the GPU's links",
    )  # fmt: skip


def _remedies(facts: Facts, i: int, tp: int | None) -> tuple[Remedy, ...]:
    degree, stages = (
        flags.flag_for(facts.engine, facts.version, p) for p in ("tensor-parallel", "pipeline-parallel")
    )
    fewer = str(tp // 2) if tp and tp > 1 else None
    return (
        Remedy("Route latency-critical traffic to replicas inside an NVLink domain; measure this one at "
               "half the degree.", "now",
               expected="the cost of the link is known", risk="none"),
        Remedy("Use fewer GPUs a group: pipeline stages across the slow link, more "
               "replicas, or quantized weights on half the GPUs.", "next-rollout", True, facts.engine,
               degree or stages,
               str(tp) if tp else None, fewer,
               "fewer all-reduces on the slow link", "weights a GPU grow: check that they fit", "old degree"),
        Remedy("When buying: GPUs inside one NVLink domain for models that need "
               "several.", "capacity-plan", risk="cost"),
    )  # fmt: skip


RULE = Rule(
    code="PAR001",
    slug="tp-over-slow-link",
    title="Tensor parallelism crosses PCIe or hosts",
    family="parallelism",
    concepts=("S14", "S07"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        "step by weight-reading time": (SLOW_STEP, "ratio"),
        "running at light load": (LIGHT_LOAD, "requests"),
        "GPUs of one host": (float(ONE_HOST), "GPUs"),
    },
)
