"""Lines that repeat are read the fast way; what comes out is what careful reading gives."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from diagnostics.model.samples import Capture
from diagnostics.sources.content import Content
from diagnostics.sources.logs import reader
from diagnostics.sources.logs.access import Successes
from diagnostics.sources.logs.shapes import Shapes

VLLM = (
    "INFO 11-29 10:{m:02d}:{s:02d} [loggers.py:257] Engine 00{e}: Avg prompt throughput: {a} tokens/s, Avg generation "
    "throughput: {b} tokens/s, Running: {r} reqs, Waiting: {w} reqs, GPU KV cache usage: {k}%, Prefix cache hit rate: {h}%"
)
SGLANG = (
    "[2026-11-29 10:{m:02d}:{s:02d} TP0] Decode batch. #running-req: {r}, #token: {w}, token usage: 0.{k2}, "
    "cuda graph: True, gen throughput (token/s): {b}, #queue-req: {w}, "
)
CARRIED = "2026-11-29T10:{m:02d}:{s:02d}.123456789Z stdout F (EngineCore_DP{e} pid=77) " + VLLM


def _lines(form: str, count: int = 400) -> list[str]:
    rng = random.Random(form)
    return [
        form.format(
            m=i // 60, s=i % 60, e=i % 3, a=round(rng.random() * 5000, 1), b=round(rng.random() * 900, 1),
            r=rng.randrange(200), w=rng.randrange(50), k=round(rng.random() * 100, 1), k2=f"{rng.randrange(100):02d}",
            h=rng.choice(["nan", "0.0", "55.5"]),
        )
        for i in range(count)
    ]  # fmt: skip


def _table(capture: Capture) -> list[tuple[str, tuple[tuple[str, str], ...], float, float]]:
    assert capture.series_of is not None
    assert capture.times is not None
    assert capture.values is not None
    names = [(s.name, tuple(sorted(s.labels.items()))) for s in capture.series]
    return sorted(
        (*names[n], t, v) for n, t, v in zip(capture.series_of, capture.times, capture.values, strict=True)
    )


@pytest.mark.parametrize("form", [VLLM, SGLANG, CARRIED], ids=["vllm", "sglang", "containers"])
def test_the_fast_way_gives_what_the_careful_way_gives(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _lines(form)
    taken = []
    careful_take = Shapes.take

    def counting(self: Shapes, raw: str, out: reader.Collector) -> object:
        found = careful_take(self, raw, out)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(Shapes, "take", counting)
    fast = reader.read_log("log", lines, year=2026)
    assert sum(taken) > 0.9 * len(lines)
    monkeypatch.setattr(Shapes, "take", lambda self, raw, out: None)
    careful = reader.read_log("log", lines, year=2026)
    assert _table(fast) == _table(careful)
    assert fast.recognised == careful.recognised
    assert fast.unused == careful.unused
    assert fast.engine == careful.engine


def test_successes_are_dropped_and_failures_stay(tmp_path: Path) -> None:
    """What is dropped beforehand is counted as if it had been read, whatever the size of the blocks."""
    rng = random.Random(5)
    lines = []
    for i in range(3000):
        status = rng.choice([200] * 8 + [404, 500, 302])
        quote = '\\"' if i % 7 == 0 else '"'
        lines.append(
            f"INFO:     10.0.0.{i % 250}:4{i:04d} - {quote}POST /v1/completions HTTP/1.1{quote} {status} OK"
        )
        if i % 10 == 0:
            lines.append(_lines(VLLM, 1)[0])
    file = tmp_path / "engine.log"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    successes = Successes()
    sifted = reader.read_log(
        "log", Content("log", path=file).lines(successes.drop), year=2026, successes=successes
    )
    plain = reader.read_log("log", lines, year=2026)
    assert successes.dropped > 1500
    assert _table(sifted) == _table(plain)
    assert sifted.unused == plain.unused
    assert sifted.recognised == plain.recognised
    assert [(e.kind, e.fields) for e in sifted.events] == [(e.kind, e.fields) for e in plain.events]


@pytest.mark.parametrize("text", [b"", b"/", b" HTTP/1.", b'" HTTP/1.1" 2', b"\n\n", b'x HTTP/1.1" 200'])
def test_sifting_short_and_odd_blocks(text: bytes) -> None:
    """Nothing is read beyond the end of a block, and a line without success is left alone."""
    kept = Successes(kept_first=0).drop(text)
    assert kept == (b"" if text.endswith(b" 200") else text)
    assert isinstance(np.frombuffer(kept, dtype=np.uint8), np.ndarray)
