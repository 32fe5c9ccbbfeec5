"""What a source looks like to the encoder, by the model's configuration."""

import pytest

from tests.models import tiny_config


@pytest.mark.parametrize(("source_eos", "ids"), [(True, [5, 6, 3]), (False, [5, 6])])
def test_sources_end_with_eos_where_the_model_has_it(source_eos: bool, ids: list[int]) -> None:
    config = tiny_config(source_eos=source_eos)
    assert config.source_ids([5, 6]) == ids
    assert config.source_words(ids) == [5, 6]
    assert config.source_ids([]) == [3]  # an encoder reads at least one id
    assert config.source_words([3]) == []
