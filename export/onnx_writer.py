"""Write the hand-built graphs of a plain model at fp32 and int8, their weights in one file."""

from pathlib import Path

from export.onnx_graph.encode import build_encode_graph
from export.onnx_graph.linear import FloatLinear, Int8Linear, Linear
from export.onnx_graph.shortlist import ShortlistPlan
from export.onnx_graph.step import build_step_graph
from export.onnx_graph.weights import Weights
from export.shared_weights import share_weights
from model.translation_model import TranslationModel
from server.artifact import GraphFiles


def linear_for(precision: str, input_ranges: dict[str, float]) -> Linear:
    match precision:
        case "fp32":
            return FloatLinear()
        case "int8":
            return Int8Linear(input_ranges)
    raise ValueError(f"precision must be 'fp32' or 'int8', not '{precision}'")


def write_onnx(
    model: TranslationModel,
    graph: GraphFiles,
    input_ranges: dict[str, float],
    folder: Path,
    shortlist: ShortlistPlan | None = None,
    with_memory: bool = False,
) -> None:
    """Write the files that `graph` names. `input_ranges`: see export.calibration; only int8 uses them. `shortlist`
    is needed if `graph` has a step over one. `with_memory`: the encode graph gives out the encoder's output too."""
    config, weights, linear = model.config, Weights.of(model), linear_for(graph.precision, input_ranges)
    models = {
        graph.encode: build_encode_graph(
            config, weights, linear, shortlist if graph.step_shortlist else None, with_memory
        ),
        graph.step: build_step_graph(config, weights, linear),
    }
    if graph.step_shortlist:
        models[graph.step_shortlist] = build_step_graph(config, weights, linear, shortlist)
    share_weights(list(models.values()), folder / f"weights.{graph.precision}.bin")
    for name, model in models.items():
        (folder / name).write_bytes(model.SerializeToString())
