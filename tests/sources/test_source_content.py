"""The bytes of an input: compressed, cut, binary, empty, or much larger than it looks."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from diagnostics.model.errors import InputError
from diagnostics.model.samples import InputKind
from diagnostics.sources import content as module
from diagnostics.sources.content import Content, is_binary, wide_encoding
from diagnostics.sources.recognise import ReadOptions, files_of, read_content

PAGE = b'vllm:num_requests_running{engine="0"} 4\nvllm:num_requests_waiting{engine="0"} 0\n'


def _content(data: bytes, name: str = "metrics.txt") -> Content:
    return Content(name, data=data)


def _refused(data: bytes, name: str = "metrics.txt") -> str:
    with pytest.raises(InputError) as caught:
        read_content(_content(data, name), ReadOptions())
    message = str(caught.value)
    assert message.startswith(name)
    assert "\n" not in message
    return message


def test_gzip_is_known_by_its_bytes() -> None:
    """A compressed file without the suffix, and a plain one with it, both read."""
    for data, name in ((gzip.compress(PAGE), "metrics.txt"), (PAGE, "metrics.txt.gz")):
        capture = read_content(_content(data, name), ReadOptions())
        assert capture.values is not None
        assert capture.values.tolist() == [4.0, 0.0]


def test_cut_gzip_is_refused() -> None:
    """Half a compressed file is named as such."""
    noise = bytes(range(32, 127)) * 50
    assert "cut or broken" in _refused(gzip.compress(PAGE + b"# " + noise)[:-20])


def test_broken_gzip_is_refused() -> None:
    """Damage in the middle of a compressed file is named as such."""
    data = bytearray(gzip.compress(PAGE * 200))
    data[len(data) // 2] ^= 0xFF
    assert "cut or broken" in _refused(bytes(data))


@pytest.mark.parametrize(
    "data", [b"", b"\n\n  \r\n", gzip.compress(b"")], ids=["nothing", "blank", "compressed nothing"]
)
def test_empty_is_refused(data: bytes) -> None:
    """An empty file says nothing, and that is said."""
    assert "empty" in _refused(data)


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 40, b"\x7fELF" + b"\0" * 400, gzip.compress(b"\0\1\2" * 400)],
    ids=["bytes", "ELF", "compressed"],
)
def test_binary_is_refused(data: bytes) -> None:
    """What is no text is not searched for metrics."""
    assert "binary" in _refused(data)


@pytest.mark.parametrize(
    "page",
    [b"<!DOCTYPE html><html><body>Sign in</body></html>", b"\n  <html>\n<head></head></html>"],
    ids=["doctype", "html"],
)
def test_a_web_page_is_refused(page: bytes) -> None:
    """A login page in place of metrics is named, with what may stand in the way."""
    assert "HTML" in _refused(page)


def test_a_small_file_may_not_claim_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decompression stops at the bound; it never holds all of what the file claims."""
    monkeypatch.setattr(module, "MAX_INFLATED", 3_000_000)
    bomb = gzip.compress(PAGE + b"vllm:num_requests_running 1\n" * 1_000_000)
    assert len(bomb) < 100_000
    taken = 0
    with pytest.raises(InputError, match="inflates"):
        for block in _content(bomb).blocks():
            taken += len(block)
    assert taken <= 3_000_000
    assert "inflates" in _refused(bomb)


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    """A label in another encoding is shown as far as it can be, and the numbers are kept."""
    capture = read_content(_content(b'vllm:num_requests_running{model_name="caf\xe9"} 4\n'), ReadOptions())
    assert capture.series[0].labels["model_name"] == "caf\ufffd"


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("metrics_end.r1.txt", "r1"),
        ("engine.r0.log", "r0"),
        ("openmetrics.r12.txt.gz", "r12"),
        ("metrics_end.txt", ""),
        ("metrics1.txt", ""),
        ("node-7/metrics_end.txt", ""),
        ("v0.8.5.txt", ""),
    ],
)
def test_only_a_part_of_its_own_tells_replicas_apart(name: str, suffix: str) -> None:
    """Digits elsewhere in a file's name say nothing of replicas."""
    assert _content(b"", name).suffix == suffix


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"\x1b[32mINFO\x1b[0m up\n" * 9, False), ("größer\n".encode(), False), (b"", False)],
)
def test_colours_and_umlauts_are_text(data: bytes, expected: bool) -> None:
    """A log with terminal colours is no binary file."""
    assert is_binary(data) is expected


def test_a_folder_gives_its_files_and_nothing_outside(tmp_path: Path) -> None:
    """Hidden files and links out of the folder are left out; sub-folders are read."""
    outside = tmp_path / "outside.txt"
    outside.write_bytes(PAGE)
    folder = tmp_path / "incident"
    (folder / "deep").mkdir(parents=True)
    for name in ("b.txt", "deep/a.txt", ".hidden", "a.txt"):
        (folder / name).write_bytes(PAGE)
    (folder / "link.txt").symlink_to(outside)
    assert [f.relative_to(folder).as_posix() for f in files_of(folder)] == ["a.txt", "b.txt", "deep/a.txt"]


def test_a_missing_file_is_refused_in_one_line(tmp_path: Path) -> None:
    """The name and the reason are enough."""
    with pytest.raises(InputError, match="cannot be opened"):
        Content("gone.txt", path=tmp_path / "gone.txt").head()


def test_readable_text_in_which_nothing_is_known_is_no_error() -> None:
    """Prose is read, and said to hold nothing known."""
    capture = read_content(_content(b"Dear diary,\nnothing happened today.\n", "notes.txt"), ReadOptions())
    assert capture.kind is InputKind.UNKNOWN
    assert "nothing known" in capture.recognised


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_text_in_a_wide_encoding_is_read(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """What the shell of Windows writes for ``curl ... > metrics.txt``, with its mark or without."""
    capture = read_content(_content(pack(PAGE.decode().encode(encoding))), ReadOptions())
    assert capture.values is not None
    assert capture.values.tolist() == [4.0, 0.0]


def test_a_wide_character_across_two_blocks_is_one_character() -> None:
    """Behind the mark of two bytes, characters of four bytes do not end where blocks do."""
    text = "\U0001f701" * 2**19
    assert list(_content(b"\xff\xfe" + text.encode("utf-16-le")).lines()) == [text]


def test_zeros_in_a_log_are_not_a_wide_encoding() -> None:
    """A file that was rotated while somebody wrote begins with zeros."""
    assert wide_encoding(b"\x00" * 200 + PAGE) is None
    assert wide_encoding(PAGE) is None
