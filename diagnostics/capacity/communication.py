"""What tensor and pipeline parallelism send between GPUs in one step."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import not_negative, positive, whole

ALL_REDUCES_A_LAYER = 2


class StepTraffic(Struct, frozen=True):
    """The messages of one step.

    Attributes:
        messages: how many, one after the other.
        message_bytes: bytes of one.
        link_bytes: bytes that cross each link in the whole step.
    """

    messages: int
    message_bytes: float
    link_bytes: float

    def seconds(self, link_rate: float, latency: float = 0.0) -> float:
        """Give the time these messages take in one step.

        Formula: ``link bytes / link rate + messages x latency``.

        Args:
            link_rate: bytes/s in one direction.
            latency: seconds a message costs beside its bytes; 0 makes the result a floor.

        Returns:
            Seconds.

        Raises:
            CapacityError: for a rate of zero or a negative latency.

        Source: S14.
        """
        rate = positive("link rate in bytes/s", link_rate)
        return self.link_bytes / rate + self.messages * not_negative("latency in seconds", latency)


def all_reduce_link_bytes(message_bytes: float, gpus: int) -> float:
    """Give the bytes that a ring all-reduce moves over each link.

    Formula: ``2 (n - 1) / n x message``.

    Args:
        message_bytes: bytes of the message on one GPU.
        gpus: GPUs in the ring; for one nothing moves.

    Returns:
        Bytes.

    Raises:
        CapacityError: for no message or no GPU.

    Source: S07, S14.
    """
    return 2 * (whole("GPUs", gpus) - 1) / gpus * positive("message in bytes", message_bytes)


def tensor_parallel_traffic(
    *, layers: int, hidden: int, batch: int, tp: int, value_bytes: float = 2.0
) -> StepTraffic:
    """Give what tensor parallelism sends in one step: two all-reduces a layer.

    Formula: messages ``2 x layers`` of ``batch x hidden x bytes``, each times ``2 (n - 1) / n`` on a link.

    Args:
        layers: layers of the model.
        hidden: size of the residual stream.
        batch: tokens in the step.
        tp: GPUs in the group; a group of one sends nothing.
        value_bytes: bytes of one activation.

    Returns:
        Messages and bytes of the step.

    Raises:
        CapacityError: for counts below 1.

    Source: S07, S14, S23.
    """
    whole("layers", layers)
    message = whole("batch", batch) * whole("hidden size", hidden) * positive("bytes of a value", value_bytes)
    messages = ALL_REDUCES_A_LAYER * layers if whole("tensor-parallel degree", tp) > 1 else 0
    return StepTraffic(messages, message, messages * all_reduce_link_bytes(message, tp))


def pipeline_parallel_traffic(
    *, hidden: int, batch: int, stages: int, value_bytes: float = 2.0
) -> StepTraffic:
    """Give what pipeline parallelism sends in one step: the activations, once a stage boundary.

    Formula: messages ``stages - 1`` of ``batch x hidden x bytes``. The stages of one step run one after
    the other, so their times add up and so do these messages.

    Args:
        hidden: size of the residual stream.
        batch: tokens in the step.
        stages: pipeline stages.
        value_bytes: bytes of one activation.

    Returns:
        Messages and bytes; ``link_bytes`` sums all boundaries, which are crossed in turn.

    Raises:
        CapacityError: for counts below 1.

    Source: S07.
    """
    message = whole("batch", batch) * whole("hidden size", hidden) * positive("bytes of a value", value_bytes)
    boundaries = whole("pipeline stages", stages) - 1
    return StepTraffic(boundaries, message, boundaries * message)


def pipeline_step_seconds(stage_seconds: list[float], boundary_seconds: float) -> float:
    """Give the time of one step of one request through all pipeline stages.

    Formula: ``sum of the stages + (stages - 1) x boundary``.

    Args:
        stage_seconds: time of each stage.
        boundary_seconds: time to hand activations to the next stage.

    Returns:
        Seconds.

    Raises:
        CapacityError: without stages, or for a time that is not above zero (a boundary may be zero).

    Source: S07.
    """
    whole("pipeline stages", len(stage_seconds))
    total = sum(positive("stage in seconds", seconds) for seconds in stage_seconds)
    return total + (len(stage_seconds) - 1) * not_negative("boundary in seconds", boundary_seconds)
