"""Small finished runs with context, as training would leave them."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from model.config import ContextConfig
from model.document import DocumentModel
from model.training.checkpoint import VOCABULARY, save_model
from model.training.document_checkpoint import save_document_model
from tests.documents import lively_document_model
from tests.models import tiny_config, write_checkpoint

SAMPLE = Path(__file__).parents[2] / "sample"


def base_folder(folder: Path) -> Path:
    return write_checkpoint(lively_document_model().base, folder)


def finished_run(
    folder: Path, base: Path, attention: str = "sparse-soft", side: str = "encoder", **section: Any
) -> Path:
    """A run that can be measured, on the sentence model of `base_folder`."""
    model: DocumentModel = lively_document_model(attention, side)
    layer = ContextConfig(attention, side, num_heads=2, ffn_dim=64, dropout=0.0)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if section.get("train") == "all":
        weights["base.decoder.norm.weight"] *= 1.1
    if section.get("context") == "none":
        base_weights = {name.removeprefix("base."): t for name, t in weights.items() if name.startswith("base.")}
        save_model(base_weights, model.base.config, folder)
    else:
        save_document_model(weights, model.base.config, layer, folder)
    shutil.copyfile(base / VOCABULARY, folder / VOCABULARY)
    recipe = {
        "name": folder.name,
        "model": tiny_config().to_dict(),
        "document": {"base": str(base), "layer": asdict(layer), **section},
        "data": {
            "source": "en", "target": "de", "corpora": {"dialogues": 1}, "dev": {"dialogues": 16}, "vocab_size": 320,
            "max_pair_length": 60,
        },
        "training": {"steps": 10},
    }  # fmt: skip
    summary = {"recipe": recipe, "steps": 10, "target_tokens": 150_000, "seconds": 60}
    (folder / "training.json").write_text(json.dumps(summary), encoding="utf-8")
    return folder
