"""A recipe for documents, and documents of numbered pairs."""

from pathlib import Path

from model.config import ContextConfig
from model.data.documents import Document, PlacedPair
from model.training.checkpoint import load_config
from model.training.document_recipe import DocumentRecipe, DocumentSection
from model.training.recipe import DataRecipe, TrainingRecipe
from tests.documents import some_pairs

SAMPLE = Path(__file__).parents[3] / "sample"


def some_documents(lengths: tuple[int, ...]) -> list[Document]:
    return [
        [PlacedPair(pair, number, index) for index, pair in enumerate(some_pairs((3,) * length, number))]
        for number, length in enumerate(lengths)
    ]


def recipe(base: Path, steps: int = 8, training: dict[str, object] | None = None, **section: object) -> DocumentRecipe:
    layer = ContextConfig(num_heads=2, dropout=0.1, side=str(section.pop("side", "encoder")))
    return DocumentRecipe(
        name="tiny-document",
        model=load_config(base),
        document=DocumentSection(str(base), layer, max_sentences=10, **section),  # type: ignore[arg-type]
        data=DataRecipe("en", "de", {"dialogues": 0.4}, {"dialogues": 16}, max_pair_length=40),
        training=TrainingRecipe(
            **{"steps": steps, "warmup_steps": 2, "evaluate_every": 4, "batch_tokens": 256, "muon_rate": None}
            | (training or {})  # type: ignore[arg-type]
        ),
    )
