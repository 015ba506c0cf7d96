"""The table of accelerators, and finding one by the names that tools print."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, UnknownFigureError, whole

GIB = 2**30
GIGA = 1e9
TERA = 1e12

# One direction of PCIe Gen4 x16 is 32 GB/s on paper and about 25 in practice; other generations scale alike.
PCIE_PRACTICAL_SHARE = 25 / 32

_PCIE_BOTH_WAYS = {"Gen3": 32.0, "Gen4": 64.0, "Gen5": 128.0}
_SWITCHED_DOMAIN = 8

# Words that carry no choice between two rows of the table.
_NOISE = re.compile(
    r"\b(nvidia|tesla|geforce|amd|instinct|intel|google|cloud|rtx|tpu|gpus?|per|dgx|spark|ironwood)\b"
)
# A laptop part, a cut-down part or a slice of a card shares a name with a table row but not its figures.
_OTHER_PART = {"laptop", "mobile", "d", "ti", "super", "mig"}
_FORMS = {"sxm", "pcie", "nvl", "workstation", "server"}
_OPTIONAL = _FORMS | {"blackwell"}
# Names that driver tools print without the form factor, although only one form carries them.
_DRIVER_NAMES = {
    "h100 80gb hbm3": "H100 SXM",
    "h100 mega 80gb": "H100 SXM",
    "h200": "H200 SXM",
    "gh200 480gb": "GH200 96GB",
    "gh200 144gb hbm3e": "GH200 144GB",
}


class Gpu(Struct, frozen=True):
    """One accelerator, as its vendor states it.

    Attributes:
        name: the table's name.
        vendor: lower-case vendor.
        memory_gib: memory of the data sheet, GiB.
        visible_gib: memory that software sees, GiB, where the table notes a smaller figure; else None.
        bandwidth: memory bandwidth, bytes/s.
        rates: dense FLOP/s by format (``fp16``, ``bf16``, ``fp8``, ``fp4``), only the known ones.
        lacks: formats the hardware does not have; a format in neither place is unknown.
        compute_capability: for example ``9.0`` or ``gfx942``; None where the notion does not exist.
        interconnect: the table's words for the link between GPUs.
        interconnect_rate: bytes/s, both directions together; None where there is no link.
        pcie_rate: bytes/s of PCIe, both directions together; None where not known.
        price_range: on-demand US dollars an hour, lowest and highest seen; None where not known.
        notes: what a reader should know.
        source: where the figures come from.
    """

    name: str
    vendor: str
    memory_gib: float
    visible_gib: float | None
    bandwidth: float
    rates: dict[str, float]
    lacks: frozenset[str]
    compute_capability: str | None
    interconnect: str
    interconnect_rate: float | None
    pcie_rate: float | None
    price_range: tuple[float, float] | None
    notes: str
    source: str

    @property
    def usable_gib(self) -> float:
        """Memory to plan with, GiB: what software sees where that is known, else the data sheet's."""
        return self.visible_gib if self.visible_gib is not None else self.memory_gib

    @property
    def fast_domain(self) -> int:
        """How many of these GPUs share the fast link: 1 means PCIe or nothing (S14, S23)."""
        words = self.interconnect
        if "(pair)" in words:
            return 2
        if found := re.search(r"(\d+)-GPU domain", words):
            return int(found[1])
        if found := re.search(r"(\d+)-way", words):
            return int(found[1])
        return 1 if words.startswith(("PCIe", "unified")) else _SWITCHED_DOMAIN

    def supports(self, dtype: str) -> bool | None:
        """Say whether the tensor units have a format.

        Args:
            dtype: ``fp16``, ``bf16``, ``fp8`` or ``fp4``.

        Returns:
            True, False, or None where the table does not say.

        Source: S15.
        """
        if dtype in self.lacks:
            return False
        return True if dtype in self.rates else None

    def dense_flops(self, dtype: str) -> float:
        """Give the dense rate of a format; ``16-bit`` means bf16, or fp16 where there is no bf16.

        Args:
            dtype: ``16-bit``, ``fp16``, ``bf16``, ``fp8`` or ``fp4``.

        Returns:
            FLOP/s without sparsity.

        Raises:
            CapacityError: when the hardware lacks the format.
            UnknownFigureError: when the table has no figure.

        Source: S08, S15.
        """
        for wanted in ("bf16", "fp16") if dtype == "16-bit" else (dtype,):
            if wanted in self.rates:
                return self.rates[wanted]
        if dtype in self.lacks:
            raise CapacityError(f"{self.name} has no {dtype} units")
        raise UnknownFigureError(f"the dense {dtype} rate of {self.name} is not known")

    def link_rate(self, degree: int) -> float:
        """Give the bandwidth of one link, one direction, for a group of ``degree`` GPUs.

        Formula: ``interconnect / 2`` inside the fast domain, else ``PCIe / 2 x 25/32``.

        Args:
            degree: GPUs in the group, at least 2.

        Returns:
            Bytes/s in one direction.

        Raises:
            CapacityError: for a degree below 2.
            UnknownFigureError: when the group leaves the fast domain and no PCIe figure is known.

        Source: S14, S23.
        """
        whole("degree", degree, least=2)
        if degree <= self.fast_domain and self.interconnect_rate is not None:
            return self.interconnect_rate / 2
        if self.pcie_rate is None:
            raise UnknownFigureError(f"the link between {degree} {self.name} is not known")
        return self.pcie_rate / 2 * PCIE_PRACTICAL_SHARE


def _figure(row: dict[str, str], column: str) -> float | None:
    text = row[column].strip()
    return float(text) if text and text not in ("none", "n/a") else None


def _needed(row: dict[str, str], column: str) -> float:
    value = _figure(row, column)
    if value is None:
        raise UnknownFigureError(f"hardware table, {row['gpu']}: {column} is empty")
    return value


def _rates(row: dict[str, str]) -> tuple[dict[str, float], frozenset[str]]:
    """Split the compute columns into known rates and formats that do not exist."""
    rates: dict[str, float] = {}
    lacks = {dtype for dtype in ("bf16", "fp8", "fp4") if row[f"{dtype}_dense_tflops"].strip() == "none"}
    for dtype in ("bf16", "fp8", "fp4"):
        value = _figure(row, f"{dtype}_dense_tflops")
        if value is not None:
            rates[dtype] = value * TERA
    if "bf16" in rates:
        rates["fp16"] = rates["bf16"]  # every part that has both runs them at one rate
    # The oldest parts have fp16 but no bf16; the table says so in words because it has no fp16 column.
    if found := re.search(r"FP16 only: ([\d.]+) TFLOPS; no bf16", row["notes"]):
        rates["fp16"] = float(found[1]) * TERA
        lacks.add("bf16")
    return rates, frozenset(lacks)


def _pcie(row: dict[str, str]) -> float | None:
    if found := re.search(r"without bridge ([\d.]+) GB/s", row["notes"]):
        return float(found[1]) * GIGA
    if found := re.search(r"PCIe (Gen\d)( x8)?", row["interconnect"]):
        whole_slot = _PCIE_BOTH_WAYS[found[1]] * GIGA
        return whole_slot / 2 if found[2] else whole_slot
    return None


def _gpu(row: dict[str, str]) -> Gpu:
    rates, lacks = _rates(row)
    link = _figure(row, "interconnect_gbps")
    visible = re.search(r"shows about ([\d.]+)|([\d.]+) GiB visible", row["notes"])
    prices = [float(part) for part in row["ondemand_usd_per_hour"].split("-") if part.strip()]
    capability = row["compute_capability"].strip()
    return Gpu(
        name=row["gpu"],
        vendor=row["vendor"],
        memory_gib=_needed(row, "memory_gib"),
        visible_gib=float(visible[1] or visible[2]) if visible else None,
        bandwidth=_needed(row, "mem_bandwidth_gbps") * GIGA,
        rates=rates,
        lacks=lacks,
        compute_capability=None if capability in ("", "n/a") else capability,
        interconnect=row["interconnect"],
        interconnect_rate=None if link is None else link * GIGA,
        pcie_rate=_pcie(row),
        price_range=(prices[0], prices[-1]) if prices else None,
        notes=row["notes"],
        source=row["source"],
    )


@cache
def load_gpus() -> tuple[Gpu, ...]:
    """Read the table of accelerators that ships with the package.

    Returns:
        All rows, in the table's order.

    Raises:
        UnknownFigureError: when a row lacks memory or bandwidth.

    Source: S20; each row names its own.
    """
    path = Path(__file__).with_name("hardware.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return tuple(_gpu(row) for row in csv.DictReader(lines))


def _words(name: str) -> list[str]:
    """Reduce a name to the words that distinguish parts: ``NVIDIA A100-SXM4-80GB`` to a100, sxm, 80gb."""
    text = re.sub(r"[-_/(),.]", " ", re.sub(r"^\s*\d+\s*x\s+", "", name.lower()))
    text = re.sub(r"\brtx(?=\d)", "rtx ", text)
    text = re.sub(r"(?<=\d)(sxm|pcie|nvl)", r" \1", text)
    text = re.sub(r"\bsxm\d\b", "sxm", text)
    text = re.sub(r"\b(\d+)\s*g(?:i?b)?\b", r"\1gb", text)
    return re.findall(r"[a-z0-9]+", _NOISE.sub(" ", text))


def _matches(gpu: Gpu, asked: set[str]) -> bool:
    """Whether a row carries every word that names its chip, and contradicts none that names a variant."""
    own = set(_words(gpu.name))
    sizes = {word for word in asked if re.fullmatch(r"\d+gb", word)}
    chip = {word for word in own - _OPTIONAL if not re.fullmatch(r"\d+gb", word)}
    if not chip <= asked:
        return False
    if "hbm3" in asked and "pcie" in own:
        return False
    forms, own_forms = asked & _FORMS, own & _FORMS
    if forms and own_forms and not forms & own_forms:
        return False
    return all(abs(int(size[:-2]) - gpu.memory_gib) <= 0.07 * gpu.memory_gib for size in sizes)


def match_gpus(name: str) -> tuple[Gpu, ...]:
    """List every row that a name may mean.

    Args:
        name: as a person or a driver tool writes it, for example ``NVIDIA A100-SXM4-80GB`` or ``h100``.

    Returns:
        The rows, in the table's order; empty when none fits. A slice of a card, a laptop part or a
        part of another rate never matches the whole card.

    Source: S20.
    """
    words = _words(name)
    if exact := [gpu for gpu in load_gpus() if _words(gpu.name) == words]:
        return tuple(exact)
    if not words or _OTHER_PART & set(words):
        return ()
    if (driver := _DRIVER_NAMES.get(" ".join(words))) is not None:
        return tuple(gpu for gpu in load_gpus() if gpu.name == driver)
    return tuple(gpu for gpu in load_gpus() if _matches(gpu, set(words)))


def find_gpu(name: str) -> Gpu:
    """Find the one row that a name means.

    Args:
        name: as a person or a driver tool writes it.

    Returns:
        The row.

    Raises:
        CapacityError: when none fits, or when several do (``H100`` alone); the message lists them.

    Source: S20.
    """
    found = match_gpus(name)
    if not found:
        raise CapacityError(f"GPU {name!r} is not in the table")
    if len(found) > 1:
        raise CapacityError(f"GPU {name!r} may be {', '.join(gpu.name for gpu in found)}; name one of them")
    return found[0]
