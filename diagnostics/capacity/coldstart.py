"""How long a new replica takes, and what queues meanwhile."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import UnknownFigureError, not_negative, positive


class ColdStart(Struct, frozen=True, kw_only=True):
    """The stages of a start, in seconds; None for one that was not measured."""

    node: float | None = None
    image_pull: float | None = None
    weight_download: float | None = None
    load_and_shard: float | None = None
    compilation: float | None = None
    graph_capture: float | None = None
    warm_up: float | None = None

    @property
    def stages(self) -> dict[str, float | None]:
        """Every stage by name, in order."""
        return {
            "node": self.node,
            "image pull": self.image_pull,
            "weight download": self.weight_download,
            "load and shard": self.load_and_shard,
            "compilation": self.compilation,
            "graph capture": self.graph_capture,
            "warm-up": self.warm_up,
        }

    @property
    def unknown(self) -> tuple[str, ...]:
        """Stages that were not measured."""
        return tuple(name for name, seconds in self.stages.items() if seconds is None)

    def known_seconds(self) -> float:
        """Add up the stages that are known: a floor as long as ``unknown`` is not empty.

        Formula: ``node + image + download + load + compilation + graphs + warm-up``.

        Returns:
            Seconds.

        Raises:
            UnknownFigureError: when no stage is known.
            CapacityError: for a negative stage.

        Source: S10.
        """
        known = [not_negative(f"{name} in s", s) for name, s in self.stages.items() if s is not None]
        if not known:
            raise UnknownFigureError("no stage of the cold start is known")
        return sum(known)


def load_time_floor(
    weight_bytes: float, *, network: float | None = None, disk: float | None = None, pcie: float | None = None
) -> float:
    """Give the least time to bring weights into GPU memory.

    Formula: ``bytes / slowest of (network, disk, PCIe)``, over the paths that are known.

    Args:
        weight_bytes: bytes that travel the path.
        network: bytes/s, or None when not known or not on the path.
        disk: bytes/s, likewise.
        pcie: bytes/s, likewise.

    Returns:
        Seconds.

    Raises:
        UnknownFigureError: when no rate is given.
        CapacityError: for a rate of zero.

    Source: S10, S24.
    """
    paths = {"network": network, "disk": disk, "PCIe": pcie}
    known = [positive(f"{name} rate in bytes/s", rate) for name, rate in paths.items() if rate is not None]
    if not known:
        raise UnknownFigureError("a load time needs the rate of the network, the disk or PCIe")
    return positive("weights in bytes", weight_bytes) / min(known)


def backlog(arrival_rate: float, cold_start_seconds: float) -> float:
    """Give the requests that queue while a replica starts.

    Formula: ``arrival rate x cold start``.

    Args:
        arrival_rate: requests/s beyond what the running replicas serve.
        cold_start_seconds: seconds.

    Returns:
        Requests.

    Raises:
        CapacityError: for negative numbers.

    Source: S10.
    """
    return not_negative("arrival rate in 1/s", arrival_rate) * not_negative(
        "cold start in s", cold_start_seconds
    )
