"""Task scores of a quantized model against those of the same model in 16 bit."""

from __future__ import annotations

import itertools
import math
import re

from msgspec import Struct

from diagnostics.execute import bench_pairs
from diagnostics.execute.facts import Facts
from diagnostics.model.bench import BenchRun

# Standard errors of the difference beyond which a score is lost, and samples from which a score means something.
Z = 2.0
MIN_SAMPLES = 50
_WEIGHT_WORDS = re.compile(
    r"[-_.](fp8|awq|gptq|int[48]|w\d+a\d+|nvfp4|mxfp4|bf16|fp16|gguf|q\d\w*|dynamic|quantized|marlin)\b", re.I
)


class Score(Struct, frozen=True):
    """One task on both models; ``z`` is the loss in standard errors of the difference, None without errors."""

    task: str
    full: float
    quantized: float
    z: float | None

    @property
    def lost(self) -> bool:
        """Whether the score is lower beyond noise."""
        return self.z is not None and self.z >= Z


class Quality(Struct, frozen=True):
    """Two evaluations and the tasks that both have."""

    full: BenchRun
    quantized: BenchRun
    scores: tuple[Score, ...]

    @property
    def proved(self) -> bool:
        """Whether every task has the standard errors that a verdict needs."""
        return all(s.z is not None for s in self.scores)


def compare(facts: Facts) -> Quality | None:
    """The evaluations of a model and its quantized twin; None where there is no such pair."""
    runs = [r for r in facts.runs if r.evidence_kind == "quality"]
    quantized = [r for r in runs if r.weight_format and not bench_pairs.is_sixteen_bit(r)]
    full = [r for r in runs if r not in quantized]
    pairs = [(a, b) for a, b in itertools.product(full, quantized) if _base(a) == _base(b) or len(runs) == 2]
    return next((q for a, b in pairs if (q := Quality(a, b, _scores(a, b))).scores), None)


def _base(run: BenchRun) -> str:
    return _WEIGHT_WORDS.sub("", (run.model or "").rpartition("/")[2].lower())


def _scores(full: BenchRun, quantized: BenchRun) -> tuple[Score, ...]:
    one, other = full.extra.get("scores", {}), quantized.extra.get("scores", {})
    found = []
    for task in sorted(one.keys() & other.keys()):
        (a, error_a, n_a), (b, error_b, n_b) = one[task], other[task]
        if min(n_a or MIN_SAMPLES, n_b or MIN_SAMPLES) < MIN_SAMPLES:
            continue
        noise = math.hypot(error_a, error_b) if error_a is not None and error_b is not None else 0.0
        found.append(Score(task, a, b, (a - b) / noise if noise else None))
    return tuple(found)
