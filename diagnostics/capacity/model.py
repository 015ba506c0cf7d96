"""The shape of a model, as far as serving arithmetic needs it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, UnknownFigureError, positive, whole
from diagnostics.capacity.parameters import ParameterCount, count_parameters
from diagnostics.capacity.precision import Precision
from diagnostics.capacity.quantization import quantization_of
from diagnostics.capacity.structure import Structure, structure_of


class LatentAttention(Struct, frozen=True):
    """Latent attention (MLA): what is cached a layer is one compressed vector and one rotary key.

    Attributes:
        rank: size of the compressed vector.
        rope_size: size of the rotary key beside it.
    """

    rank: int
    rope_size: int


class Experts(Struct, frozen=True):
    """The routed experts of a mixture-of-experts model.

    Attributes:
        count: routed experts a layer.
        active: how many of them one token uses.
        intermediate: size of one expert's MLP, or None when not known.
        parameters: parameters of all routed experts of all layers.
    """

    count: int
    active: int
    intermediate: int | None
    parameters: float


class ModelShape(Struct, frozen=True, kw_only=True):
    """A model as numbers. What is not known is None; nothing stands in for it.

    Attributes:
        parameters: all parameters.
        active_parameters: parameters one token passes; equal to ``parameters`` for a dense model.
        layers: transformer layers.
        kv_heads: key-value heads a layer.
        head_size: size of one head.
        heads: attention (query) heads.
        hidden: size of the residual stream.
        intermediate: size of the MLP (of the dense layers).
        vocabulary: size of the vocabulary.
        mla: latent attention, or None.
        window: tokens that a sliding-window layer holds at most, or None.
        window_layers: how many layers have that window.
        stateless_layers: layers without a KV cache (state-space, linear attention, MLP only).
        experts: routed experts, or None for a dense model.
        kept_16bit_parameters: parameters that quantization leaves in 16 bits (embeddings and head).
        dtype: format of the unquantized checkpoint, for example ``bfloat16``.
        quantization: format of the quantized weights, or None.
        max_positions: longest sequence the model is made for, tokens.
        name: architecture or model name, for people.
        assumptions: what was taken for granted while reading a configuration, in words.
    """

    parameters: float
    layers: int
    kv_heads: int
    head_size: int
    active_parameters: float | None = None
    heads: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    vocabulary: int | None = None
    mla: LatentAttention | None = None
    window: int | None = None
    window_layers: int = 0
    stateless_layers: int = 0
    experts: Experts | None = None
    kept_16bit_parameters: float | None = None
    dtype: str | None = None
    quantization: Precision | None = None
    max_positions: int | None = None
    name: str | None = None
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive("parameters", self.parameters)
        for label in ("layers", "kv_heads", "head_size"):
            whole(label.replace("_", " "), getattr(self, label))
        for label in ("heads", "hidden", "intermediate", "vocabulary", "window", "max_positions"):
            if getattr(self, label) is not None:
                whole(label.replace("_", " "), getattr(self, label))
        if self.window_layers + self.stateless_layers > self.layers:
            raise CapacityError(
                f"{self.layers} layers cannot hold {self.window_layers} with a window and "
                f"{self.stateless_layers} without a cache"
            )
        if self.window_layers and self.window is None:
            raise CapacityError("layers with a sliding window need the window's size")
        if self.active_parameters is not None and not 0 < self.active_parameters <= self.parameters:
            raise CapacityError("active parameters must be above zero and at most all parameters")

    @property
    def active(self) -> float:
        """Parameters one token passes: all of them unless told otherwise."""
        return self.parameters if self.active_parameters is None else self.active_parameters

    @property
    def full_layers(self) -> int:
        """Layers whose cache grows with the whole sequence."""
        return self.layers - self.window_layers - self.stateless_layers

    def parameters_read(self, batch: int) -> float:
        """Estimate the parameters that a decode step of ``batch`` sequences reads.

        Formula: ``active`` for a dense model; for experts ``shared + experts x (1 - (1 - k / E)^batch)``,
        which is the active parameters at a batch of one and all of them at a large batch.

        Args:
            batch: sequences that decode together.

        Returns:
            Parameters. For experts it rests on even and independent routing.

        Raises:
            CapacityError: for a batch below 1.

        Source: S08, S13.
        """
        whole("batch", batch)
        if self.experts is None:
            return self.active
        touched = 1 - (1 - self.experts.active / self.experts.count) ** batch
        return self.parameters - self.experts.parameters * (1 - touched)


def shape_from_config(
    config: Mapping[str, object], *, parameters: float | None = None, active_parameters: float | None = None
) -> ModelShape:
    """Read a Hugging Face ``config.json`` into a shape, and estimate the parameters it describes.

    Formula: per layer attention ``hidden x head size x (2 heads + 2 KV heads)`` and MLP ``3 x hidden x
    intermediate`` (times experts), plus embeddings and, when not tied, the head.

    Args:
        config: the decoded JSON; the text part of a multimodal one is found by itself.
        parameters: all parameters, where known better than by estimate.
        active_parameters: parameters one token passes, where known.

    Returns:
        The shape; its ``assumptions`` say what the configuration left open.

    Raises:
        CapacityError: when a field is missing or not a number, or for an encoder-decoder.
        UnknownFigureError: when the parameters cannot be estimated (state-space layers) and are not given.

    Source: S02, S23.
    """
    text = structure_of(config)
    if text.stateless_layers and parameters is None:
        raise UnknownFigureError(
            "a model with state-space or linear-attention layers cannot be counted from its configuration; "
            "give the number of parameters"
        )
    count = None if text.stateless_layers else count_parameters(text)
    quantized = quantization_of(config, text.fields)
    notes = [*text.assumptions, *(count.assumptions if count and parameters is None else ())]
    total = parameters if parameters is not None else _counted(count).total
    return ModelShape(
        parameters=total,
        active_parameters=_active(count, total, parameters, active_parameters),
        layers=text.layers,
        kv_heads=text.kv_heads,
        head_size=text.head_size,
        heads=text.heads,
        hidden=text.hidden,
        intermediate=text.intermediate,
        vocabulary=text.vocabulary,
        mla=None if text.latent is None else LatentAttention(*text.latent),
        window=text.window,
        window_layers=text.window_layers,
        stateless_layers=text.stateless_layers,
        experts=_experts(text, count),
        kept_16bit_parameters=_kept(count, quantized),
        dtype=text.dtype,
        quantization=quantized,
        max_positions=text.max_positions,
        name=text.name,
        assumptions=tuple(notes),
    )


def _counted(count: ParameterCount | None) -> ParameterCount:
    if count is None:
        raise UnknownFigureError("the number of parameters is not known")
    return count


def _active(
    count: ParameterCount | None, total: float, given_total: float | None, given_active: float | None
) -> float | None:
    """Prefer the given number; scale the estimate when only the total was given."""
    if given_active is not None or count is None:
        return given_active
    return count.active * total / count.total if given_total is not None else count.active


def _experts(text: Structure, count: ParameterCount | None) -> Experts | None:
    if text.experts is None or count is None:
        return None
    return Experts(text.experts.count, text.experts.active, text.experts.intermediate, count.experts)


def _kept(count: ParameterCount | None, quantized: Precision | None) -> float | None:
    """Parameters left in 16 bits: embeddings and head, and all but the experts for mxfp4 checkpoints."""
    if count is None:
        return None
    if quantized is not None and quantized.name == "mxfp4" and count.experts:
        return count.total - count.experts
    return count.embeddings
