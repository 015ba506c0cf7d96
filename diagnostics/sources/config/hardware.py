"""Finds the GPU that a text names, under the name that the hardware table gives it."""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib.resources import files

from msgspec import Struct

# One pattern a product family. The order does not matter: letters and digits may not touch a match.
_FAMILIES: dict[str, str] = {
    "V100": r"V100",
    "T4": r"T4",
    "L4": r"L4",
    "A2": r"A2",
    "A10": r"A10",
    "A10G": r"A10G",
    "A30": r"A30",
    "A40": r"A40",
    "L20": r"L20",
    "L40": r"L40",
    "L40S": r"L40S",
    "A100": r"A100",
    "H20": r"H20",
    "H100": r"H100",
    "H200": r"H200",
    "GH200": r"GH200",
    "B200": r"B200",
    "GB200": r"GB200",
    "B300": r"B300",
    "GB300": r"GB300",
    "RTX 3090": r"RTX[\s_-]*3090|(?<=x)[\s]*3090",
    "RTX 4090": r"RTX[\s_-]*4090|(?<=x)[\s]*4090",
    "RTX 5090": r"RTX[\s_-]*5090|(?<=x)[\s]*5090",
    "RTX 6000 Ada": r"RTX[\s_-]*6000[\s_-]*Ada",
    "RTX PRO 6000": r"RTX[\s_-]*PRO[\s_-]*6000(?:[\s_-]*Blackwell)?",
    "GB10": r"GB10|DGX[\s_-]*Spark",
    "MI210": r"MI210",
    "MI250X": r"MI250X",
    "MI300A": r"MI300A",
    "MI300X": r"MI300X",
    "MI325X": r"MI325X",
    "MI350X": r"MI350X",
    "MI355X": r"MI355X",
    "Gaudi2": r"Gaudi[\s_-]*2",
    "Gaudi3": r"Gaudi[\s_-]*3",
    "TPU v5e": r"(?:TPU[\s_-]*)?v5e|TPU[\s_-]*v5[\s_-]*lite|tpu-v5-lite-podslice",
    "TPU v5p": r"(?:TPU[\s_-]*)?v5p",
    "TPU v6e": r"(?:TPU[\s_-]*)?v6e|Trillium",
    "TPU v7": r"TPU[\s_-]*v7x?|Ironwood",
}
_ANY_FAMILY = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<count>\d{1,3})\s*[x\u00d7*]\s*(?:(?:NVIDIA|AMD|Intel|Tesla|GeForce|Instinct)[\s_-]+)*)?(?:"
    + "|".join(f"(?P<f{index}>{pattern})" for index, pattern in enumerate(_FAMILIES.values()))
    + r")(?![A-Za-z0-9])(?!\s*Ti\b)(?!\s*-?(?:D|Laptop|3e)\b)(?:\s+x(?P<behind>\d{1,2})\b)?",
    re.IGNORECASE,
)
_COUNT_BEHIND = re.compile(r"(?<=\d)[x\u00d7*](?=\d{1,2}\b)")
_MEMORY = re.compile(r"(\d{2,3})(?:\.\d)?\s*-?(?:GiB|GB|G)\b", re.IGNORECASE)
_MEMORY_BEFORE = re.compile(r"(\d{2,3})\s*-?(?:GiB|GB|G)[\s-]*$", re.IGNORECASE)
_PARTITION = re.compile(r"\bMIG\b|\b\d+g\.\d+gb\b", re.IGNORECASE)
_FORMS = {
    "SXM": re.compile(r"SXM|HBM3\b|\bHGX\b|\bDGX\b", re.IGNORECASE),
    "PCIe": re.compile(r"PCI-?e", re.IGNORECASE),
    "NVL": re.compile(r"NVL(?!ink)", re.IGNORECASE),
    "Workstation": re.compile(r"Workstation|Max-?Q", re.IGNORECASE),
    "Server": re.compile(r"Server", re.IGNORECASE),
}
# How far the memory that people or tools state may be from the table: tools show usable, sellers raw memory.
_MEMORY_TOLERANCE = 0.12
# Parts that differ by more than this cannot stand for each other in a memory budget.
_MEMORY_SPREAD = 0.20
_INSTANCES = {
    "p3dn": "V100 SXM2 32GB",
    "p4d": "A100 40GB SXM",
    "p4de": "A100 80GB SXM",
    "p5": "H100 SXM",
    "p5e": "H200 SXM",
    "p5en": "H200 SXM",
    "p6-b200": "B200",
    "g4dn": "T4",
    "g5": "A10G",
    "g6": "L4",
    "g6e": "L40S",
    "g2-standard": "L4",
    "a2-highgpu": "A100 40GB SXM",
    "a2-megagpu": "A100 40GB SXM",
    "a2-ultragpu": "A100 80GB SXM",
    "a3-highgpu": "H100 SXM",
    "a3-megagpu": "H100 SXM",
    "a3-ultragpu": "H200 SXM",
    "a4-highgpu": "B200",
}
_INSTANCE = re.compile(r"^(?:([gp]\d[a-z0-9-]*)\.(?:\d*xlarge|metal.*)|([ag]\d-[a-z]+)-\d+g?)$")


class GpuMention(Struct, frozen=True):
    """A GPU named in a text.

    Attributes:
        name: the name in the hardware table.
        count: how many the text speaks of, or None.
        start: where in the text the mention begins.
        words: the words that named it.
    """

    name: str
    count: int | None
    start: int
    words: str


@cache
def _rows() -> tuple[tuple[str, float], ...]:
    """Names and memory sizes of the hardware table, in its order."""
    text = (files("diagnostics.capacity") / "hardware.csv").read_text(encoding="utf-8")
    return tuple((row["gpu"], float(row["memory_gib"])) for row in csv.DictReader(text.splitlines()))


def _family_rows(family: str) -> list[tuple[str, float]]:
    return [row for row in _rows() if row[0] == family or row[0].startswith(f"{family} ")]


def _family_of(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return next(family for index, family in enumerate(_FAMILIES) if groups[f"f{index}"] is not None)


def _fitting(match: re.Match[str], text: str) -> list[tuple[str, float]]:
    """Rows of the table that agree with the family, memory and form that the text names."""
    family = _family_of(match)
    rows = _family_rows(family)
    # Only the words of the same phrase may qualify the name; a size further on is about something else.
    behind = re.split(r"[,;:(|]\s", text[match.end() : match.end() + 40], maxsplit=1)[0]
    before = text[max(0, match.start() - 12) : match.start()]
    memory = _MEMORY.search(behind) or _MEMORY_BEFORE.search(before)
    if memory and not (family == "GH200" and memory.group(1) == "480"):
        stated = float(memory.group(1))
        rows = [row for row in rows if abs(row[1] - stated) <= _MEMORY_TOLERANCE * row[1]]
    elif not memory and family == "V100":
        rows = []  # half of them have 16 GB, which the table does not list
    elif memory:  # 480 GB is the memory of the Grace side; this board has the smaller GPU memory
        rows = rows[:1]
    for form, pattern in _FORMS.items():
        named = [row for row in rows if form in row[0]]
        if named and pattern.search(before + " " + behind):
            rows = named
    return rows


def _mentions(text: str) -> list[tuple[re.Match[str], list[tuple[str, float]]]]:
    text = _COUNT_BEHIND.sub(" x", text[:2000].replace("®", "").replace("™", ""))
    if _PARTITION.search(text):
        return []  # a slice of a GPU is none of the rows
    return [(match, _fitting(match, text)) for match in _ANY_FAMILY.finditer(text)]


def _choose(rows: list[tuple[str, float]]) -> str | None:
    """Pick one of the forms of a part, unless they differ in memory, where a guess would mislead."""
    if not rows:
        return None
    sizes = [size for _, size in rows]
    if max(sizes) - min(sizes) > _MEMORY_SPREAD * max(sizes):
        return None
    # The Server edition has the lower figures of its family, so it never promises too much.
    return next((name for name, _ in rows if name.endswith("Server")), rows[0][0])


def gpu_mentions(text: str) -> list[GpuMention]:
    """Every GPU that a text names and that can be told apart, in the order of the text."""
    found = []
    for match, rows in _mentions(text):
        name = _choose(rows)
        if name is not None:
            count = match.group("count") or match.group("behind")
            found.append(
                GpuMention(name, int(count) if count else None, match.start(), match.group().strip())
            )
    return found


def match_gpu(text: str) -> str | None:
    """Give the canonical name of the one GPU that a text names.

    Args:
        text: any spelling: ``NVIDIA A100-SXM4-80GB``, ``8xH100``, a node label, an instance type.

    Returns:
        The name in the hardware table; None when no GPU is named, when several are, or when the name leaves
        open which one it is (``A100`` alone has 40 or 80 GB).
    """
    instance = _INSTANCE.match(text.strip())
    if instance:
        return _INSTANCES.get(instance.group(1) or instance.group(2))
    if text.strip().lower() == "nvidia-tesla-a100":
        return "A100 40GB SXM"  # the node label of GKE; its 80 GB nodes are called nvidia-a100-80gb
    groups = _mentions(text)
    names = {_choose(rows) for _, rows in groups}
    return names.pop() if len(names) == 1 else None


def gpu_candidates(text: str) -> list[str]:
    """All names of the hardware table that a text could mean; for messages and for facts they share."""
    found = {name: None for _, rows in _mentions(text) for name, _ in rows}
    return list(found)
