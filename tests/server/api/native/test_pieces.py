"""`pieces`: translated sentences as the model wrote them."""

import dataclasses
import json
from pathlib import Path

from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, ready, settings_for


def test_pieces_spell_the_translation(server: RunningServer) -> None:
    [translator] = server.state.translators.values()
    vocabulary = translator.target_pieces
    ids = {vocabulary.texts([item])[0]: item for item in range(len(vocabulary))}
    answer = server.translate(list(SENTENCES), pieces=True, num_hypotheses=4).json()
    assert answer["order"] == translator.artifact.manifest.order
    for translation in answer["translations"]:
        for sentence in translation["sentences"]:
            assert vocabulary.decode([[ids[piece] for piece in sentence["pieces"]]]) == [sentence["target"]]
            is_whole = sentence["finish_reason"] == "eos"
            assert sentence["num_tokens"] == len(sentence["pieces"]) + is_whole
    plain = server.translate(list(SENTENCES), num_hypotheses=4).json()
    assert "pieces" not in json.dumps(plain)
    assert "order" not in plain
    for translation in answer["translations"]:
        for sentence in translation["sentences"]:
            del sentence["pieces"]
    assert [item["sentences"] for item in answer["translations"]] == [
        item["sentences"] for item in plain["translations"]
    ]


def test_a_stream_ends_with_them_and_terms_are_masks(server: RunningServer) -> None:
    text = "Where is the station?"
    plain = server.translate(text, pieces=True).json()
    stream = server.translate(text, pieces=True, stream=True).text
    last = json.loads(stream.split("data: ")[-1])
    assert (last["translations"], last["order"]) == (plain["translations"], plain["order"])
    [sentence] = server.translate(text, pieces=True, glossary={"station": "Zzyzx"}).json()["translations"][0][
        "sentences"
    ]
    assert "Zzyzx" in sentence["target"]
    assert "Zzyzx" not in "".join(sentence["pieces"])


def test_a_model_with_full_attention_has_no_order(tiny_artifact: Path, server: RunningServer) -> None:
    with ready(settings_for(tiny_artifact)) as other:
        [translator] = other.state.translators.values()
        manifest = dataclasses.replace(translator.artifact.manifest, order=None)
        translator.artifact = dataclasses.replace(translator.artifact, manifest=manifest)
        assert "order" not in other.translate("Yes.", pieces=True).json()
        assert "order" in server.translate("Yes.", pieces=True).json()
