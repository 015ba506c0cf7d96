"""Reads what a person said about a run in a line that begins with ``#``. In doubt, nothing is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation

from diagnostics.model.samples import Provenance, Setting
from diagnostics.sources.config.hardware import gpu_mentions
from diagnostics.sources.config.options import names

_WHERE = "a remark in the input"
_LONGEST = 1000
_METADATA = re.compile(r"^#\s*(?:HELP|TYPE|UNIT|EOF)\b")

_NUMBER = r"(?<![\w.,/\u2013-])(?:~|≈|about |around |approx\.? )?(\d[\d,]*(?:\.\d+)?\s?[kK]?)"
_PEOPLE = r"(?:users|clients)"
_WORKERS = r"(?:users?|clients?|threads|requests|connections|sessions|workers|streams|conversations|chats)"
_LOADS = (
    re.compile(rf"{_NUMBER}\s+(?:virtual |active )?{_PEOPLE}\b", re.I),
    re.compile(rf"{_NUMBER}\s+(?:concurrent|parallel|simultaneous)\s+{_WORKERS}\b", re.I),
    re.compile(
        r"\b(?:client[ _]|max[ _])?concurrency\s*(?:of|[:=])?\s*(\d[\d,]*(?:\.\d+)?[kK]?)(?![\w.%-])", re.I
    ),
)
_TOKENS = r"(\d[\d,]*(?:\.\d+)?\s?[kK]?)"
_PROMPTS = (
    re.compile(rf"{_NUMBER}[\s-]?(?:prompt|input)[\s-]tokens?\b", re.I),
    re.compile(rf"{_NUMBER}[\s-]?tokens?[\s-](?:long\s)?(?:prompts?|inputs?)\b", re.I),
    re.compile(
        rf"\b(?:ISL|input[_ -]?len(?:gth)?|prompt[_ -]?len(?:gth)?)\s*[:=]?\s*{_TOKENS}(?![\w.%])", re.I
    ),
    re.compile(rf"\b(?:input|prompt)\s+(?:of\s+)?{_TOKENS}\s*(?:tokens|toks?)\b", re.I),
)
_OUTPUTS = (
    re.compile(rf"{_NUMBER}[\s-]?(?:output|completion|generated)[\s-]tokens?\b", re.I),
    re.compile(rf"{_NUMBER}[\s-]?tokens?[\s-](?:outputs?|answers?|completions?)\b", re.I),
    re.compile(rf"\b(?:OSL|output[_ -]?len(?:gth)?)\s*[:=]?\s*{_TOKENS}(?![\w.%])", re.I),
    re.compile(rf"\boutput\s+(?:of\s+)?{_TOKENS}\s*(?:tokens|toks?)\b", re.I),
)
_RATES = re.compile(r"\btokens?\s*(?:/|per\s+)\s*(?:s|sec|second)\b|\btok/s\b", re.I)

_MONEY = r"(?:[$€£]\s?(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s?(?:USD|EUR|GBP|dollars?|[$€£]))"
_HOURLY = re.compile(
    rf"{_MONEY}\s*(?P<unit>(?:per|an|a|/)\s*(?:(?P<gpu>GPU|card|accelerator)[\s/-]*(?:per\s+)?)?(?:hour|hr|h)\b"
    r"|(?:per|an|a|/)\s*(?:hour|hr|h)\s*(?:(?:per|each|a|/)\s*(?P<gpu2>GPU|card)))?",
    re.I,
)
_PER_GPU_BEHIND = re.compile(r"^\s*(?:per|each|a|/)\s*(?:GPU|card)\b|^\s*each\b", re.I)

# Options a person would name in a remark. Others are as likely to be names of shell variables or columns.
_OPTIONS = {
    "tp": "tensor_parallel_size",
    "pp": "pipeline_parallel_size",
    "dp": "data_parallel_size",
}
_NAMED = names(
    """max_num_seqs max_num_batched_tokens max_model_len gpu_memory_utilization kv_cache_dtype
    quantization tensor_parallel_size pipeline_parallel_size data_parallel_size block_size
    enable_prefix_caching max_loras enable_chunked_prefill max_running_requests mem_fraction_static
    chunked_prefill_size context_length num_speculative_tokens tp_size dp_size pp_size ep_size
    max_batch_size parallel ctx_size"""
)
_ASSIGNMENT = re.compile(r"(?<![\w.-])(?:--)?([A-Za-z][A-Za-z_-]{1,40})\s?=\s?([\w.+-]+)")
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]{2,40})[ =]([\w.]+)")
_DEGREE = re.compile(r"(?<![\w.])(TP|PP|DP)[\s-]?(\d{1,3})(?![\w.])")
_CACHING = re.compile(r"\bprefix[\s-]caching\s+(?:is\s+|was\s+)?(on|off|enabled|disabled)\b", re.I)
_DISTINCT = re.compile(rf"{_NUMBER}\s+(?:distinct|unique|different)\s+prompts?\b", re.I)
_SAME = re.compile(
    r"\b(?:every|each|all)\s+requests?\s+(?:carry|carries|has|have|uses?|sends?)\s+the\s+same\s+prompt", re.I
)

# Words with which people say that prompts share their beginnings.
_REUSED = re.compile(
    r"\bre-?sent (?:every|each) (?:turn|time|request)\b|\bgrowing history\b"
    r"|\bmulti-?turn\b|\b(?:shared|common) (?:prefix|preamble|system prompt)\b",
    re.I,
)

_SHORT_GPU = re.compile(r"^[A-Z]\d{1,2}$")
_GPU_CONTEXT = re.compile(r"\bGPUs?\b|\bNVIDIA\b|\bTesla\b|\bcards?\b|\bon an?\b", re.I)


def is_remark(line: str) -> bool:
    """Tell whether a line is what a person says, not metadata of an exposition."""
    line = line.lstrip()
    return line.startswith("#") and not _METADATA.match(line)


def read_remark(line: str) -> list[Setting]:
    """Read a remark about a run.

    Args:
        line: a line that begins with ``#``.

    Returns:
        Settings with provenance ``assumed``. A name for which the line gives several values is left out.
    """
    line = line.strip()
    if not is_remark(line) or len(line) > _LONGEST:
        return []
    text = line.lstrip("#").strip()
    values: dict[str, set[str]] = {}
    for reader in _READERS:
        for name, value in reader(text):
            values.setdefault(name, set()).add(value)
    return [
        Setting(name, next(iter(found)), Provenance.ASSUMED, _WHERE)
        for name, found in values.items()
        if len(found) == 1
    ]


# More of anything is no count; a number of a billion digits would take for ever to write out.
_MOST = Decimal(10) ** 15


def _number(text: str) -> Decimal | None:
    """Read ``900``, ``1,000``, ``2.4k``; None when it is none of these."""
    text = text.strip().lower().replace(",", "")
    factor = 1000 if text.endswith("k") else 1
    try:
        return Decimal(text.removesuffix("k").strip()) * factor
    except InvalidOperation:
        return None


def _whole(text: str) -> str | None:
    number = _number(text)
    if number is None or not 0 < number < _MOST or number != number.to_integral_value():
        return None
    return str(int(number))


def _gpus(text: str) -> Iterator[tuple[str, str]]:
    """GPU and count. A short name such as ``A2`` or ``T4`` needs a word beside it that makes it a GPU."""
    for mention in gpu_mentions(text):
        bare = _SHORT_GPU.match(mention.words)
        if len(mention.words) <= 3 and not bare and mention.count is None:
            continue
        if bare and not (mention.count or _GPU_CONTEXT.search(text)):
            continue
        yield "gpu", mention.name
        if mention.count:
            yield "gpu_count", str(mention.count)


def _prices(text: str) -> Iterator[tuple[str, str]]:
    """A price per hour, and per GPU where the remark says what the price is for."""
    for match in _HOURLY.finditer(text):
        behind = text[match.end() :]
        if not match.group("unit"):
            continue
        amount = Decimal(match.group(1) or match.group(2))
        if amount <= 0:
            continue
        if match.group("gpu") or match.group("gpu2") or _PER_GPU_BEHIND.match(behind):
            yield "gpu_hourly", _plain(amount)
            continue
        yield "price_hourly", _plain(amount)
        counts = {mention.count for mention in gpu_mentions(text) if mention.count}
        if len(counts) == 1:
            yield "gpu_hourly", _plain(round(amount / counts.pop(), 4))


def _plain(amount: Decimal) -> str:
    return format(amount.normalize(), "f")


def _counted(patterns: tuple[re.Pattern[str], ...], name: str) -> Callable[[str], Iterator[tuple[str, str]]]:
    """Make a reader of whole numbers that any of some patterns shows."""

    def read(text: str) -> Iterator[tuple[str, str]]:
        for pattern in patterns:
            for match in pattern.finditer(text):
                value = _whole(match.group(1))
                if value is not None and not _RATES.match(text, match.end() - len("tokens")):
                    yield name, value

    return read


def _options(text: str) -> Iterator[tuple[str, str]]:
    """Options in the form of an assignment, a flag or ``TP 4``."""
    for match in [*_ASSIGNMENT.finditer(text), *_FLAG.finditer(text), *_DEGREE.finditer(text)]:
        name = match.group(1).lower().replace("-", "_")
        name = _OPTIONS.get(name, name)
        value = match.group(2).rstrip(".")
        if name in _NAMED and value:
            yield name, value


def _traffic(text: str) -> Iterator[tuple[str, str]]:
    """Whether prompts repeat, and whether their prefix could be kept."""
    for match in _DISTINCT.finditer(text):
        value = _whole(match.group(1))
        if value is not None:
            yield "distinct_prompts", value
    if _SAME.search(text):
        yield "distinct_prompts", "1"
    if _REUSED.search(text):
        yield "repeated_prompts", "True"
    for match in _CACHING.finditer(text):
        yield "enable_prefix_caching", str(match.group(1).lower() in {"on", "enabled"})


_READERS: tuple[Callable[[str], Iterator[tuple[str, str]]], ...] = (
    _gpus,
    _prices,
    _counted(_LOADS, "client_concurrency"),
    _counted(_PROMPTS, "prompt_tokens_per_request"),
    _counted(_OUTPUTS, "output_tokens_per_request"),
    _options,
    _traffic,
)
