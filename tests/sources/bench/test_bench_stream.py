"""Large results of serving clients: read block by block, they give what reading them whole gives."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_helpers import VLLM, runs_in

from diagnostics.model.bench import BenchRun
from diagnostics.model.errors import InputError
from diagnostics.sources.bench import gaps, reader
from diagnostics.sources.content import Content
from diagnostics.sources.recognise import ReadOptions, read_content

LISTS: dict[str, Any] = {
    "input_lens": [100, 100, 100, 100],
    "output_lens": [10, 11, 12, 0],
    "ttfts": [0.2, 0.19, 0.3, 0.0],
    "itls": [[0.18, 0.17], [0.5, float("nan"), 0.25], [], []],
    "start_times": [5.0, 5.5, 6.0, 6.5],
    "generated_texts": ['a "]" text', "back\\slash\\", "[{", ""],
    "errors": ["", "", "", 'File "x", line 1: [{"\nTimeoutError'],
    "rps_change_events": [{"rps": 1, "at": [1, 2]}],
}
SGLANG = {"backend": "sglang", "accept_length": None, "max_concurrency": 2, "request_rate": float("inf")}


def streamed(text: str, size: int) -> list[BenchRun]:
    """The runs of a text that comes in blocks of a size."""
    data = text.encode()
    blocks = (data[i : i + size] for i in range(0, len(data), size))
    content = reader.open_blocks(data[:2000], blocks)
    name = reader.recognise(content)
    assert name is not None
    return reader.read("result.json", content, name)


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
@pytest.mark.parametrize("own", [{}, SGLANG], ids=["vllm", "sglang"])
@pytest.mark.parametrize("front", ["", "\ufeff", "INFO a log line\n"], ids=["bare", "bom", "log"])
def test_same_as_read_whole(size: int, own: dict[str, Any], front: str) -> None:
    """Two documents with every kind of list, however the blocks fall."""
    text = front + json.dumps(VLLM | LISTS | own, indent=1) + "\n" + json.dumps(VLLM | own) + "\n"
    assert streamed(text, size) == runs_in(text)
    rows = streamed(text, size)[0].steps[0].requests
    assert [list(r.gaps_s) for r in rows] == [[0.18, 0.17], [0.5, 0.25], [], []]
    assert rows[3].status == "error"
    assert rows[3].error_kind == "TimeoutError"


@pytest.mark.parametrize("cut", [300, 900, -1])
def test_cut_off_file_is_refused_with_its_place(cut: int, tmp_path: Path) -> None:
    """A large file that ends early says at which byte."""
    text = json.dumps(VLLM | LISTS | {"itls": [[0.1] * 20_000] * 4})
    file = tmp_path / "cut.json"
    file.write_text(text[: cut if cut < 0 else 80_000 + cut], "utf-8")
    with pytest.raises(InputError, match=r"byte [\d,]+.*ends early"):
        read_content(Content("cut.json", path=file), ReadOptions())


def test_bytes_that_are_no_text_are_replaced() -> None:
    """A broken character in an error text costs nothing else."""
    data = json.dumps(VLLM | LISTS).encode().replace(b"TimeoutError", b"\xff TimeoutError")
    content = reader.open_blocks(data, iter([data]))
    assert not content.broken
    assert "\ufffd" in content.first["errors"][3]


def test_too_many_gaps_are_kept_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaps of every n-th request stay; counts and sums of all do."""
    monkeypatch.setattr(gaps, "MAX_GAPS", 100)
    rows = gaps.reduce_gaps([[0.1] * 10] * 64)
    assert sum(len(r.kept) for r in rows) <= 100
    assert [i for i, r in enumerate(rows) if r.kept] == list(range(0, 64, 8))
    assert {(r.count, round(r.total, 9)) for r in rows} == {(10, 1.0)}
    assert not gaps.all_kept(rows)
    lists = {key: [value[0]] * 64 for key, value in LISTS.items() if key != "rps_change_events"}
    run = runs_in(VLLM | lists | {"itls": [[0.1] * 10] * 64})[0]
    assert any("evenly over the run" in text for text in run.warnings)
    assert {r.chunks for r in run.steps[0].requests} == {11}


def test_memory_stays_flat() -> None:
    """Answers and gaps pass through; only the gaps stay, as eight bytes each."""

    def blocks(requests: int) -> Iterator[bytes]:
        yield json.dumps(VLLM)[:-1].encode() + b', "generated_texts": ["x"'
        for _ in range(requests):
            yield b', "' + b"y" * 20_000 + b'"'
        yield b'], "itls": [[0.1]'
        for _ in range(requests):
            yield b", [" + b", ".join([b"0.0123456789012345"] * 1000) + b"]"
        yield b"]}"

    tracemalloc.start()
    content = reader.open_blocks(next(blocks(0)), blocks(150))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(content.first["itls"]) == 151
    # 6 MB of text: the gaps themselves are 1 MB.
    assert peak < 2.5e6
