"""Write the hand-built graphs of a plain model at fp32 and int8."""

from pathlib import Path

from export.onnx_graph.encode import build_encode_graph
from export.onnx_graph.linear import FloatLinear, Int8Linear, Linear
from export.onnx_graph.step import build_step_graph
from export.onnx_graph.weights import Weights
from model.config import ConfigError
from model.translation_model import TranslationModel


def linear_for(precision: str, input_ranges: dict[str, float]) -> Linear:
    match precision:
        case "fp32":
            return FloatLinear()
        case "int8":
            return Int8Linear(input_ranges)
    raise ValueError(f"precision must be 'fp32' or 'int8', not '{precision}'")


def write_onnx(
    model: TranslationModel, precision: str, input_ranges: dict[str, float], encode: Path, step: Path
) -> None:
    """`input_ranges`: see export.calibration; only int8 uses them. Raises ConfigError for a model that is not plain."""
    if not model.config.is_plain:
        raise ConfigError(
            f"the hand-built ONNX graphs know plain attention only, this model is {model.config.variant}: "
            "export it with --graphs torchscript-fp32"
        )
    weights, linear = Weights.of(model), linear_for(precision, input_ranges)
    encode.write_bytes(build_encode_graph(model.config, weights, linear).SerializeToString())
    step.write_bytes(build_step_graph(model.config, weights, linear).SerializeToString())
