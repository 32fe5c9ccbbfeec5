"""Errors as answers."""

import pytest

from server.api.requests.errors import ApiError, known_error
from server.engine.request import Overloaded


def raised(error: Exception) -> Exception:
    with pytest.raises(type(error)) as caught:
        raise error
    assert caught.value.__traceback__ is not None
    return caught.value


@pytest.mark.parametrize("error", [ApiError("too_large", "much"), Overloaded("many")])
def test_an_answer_keeps_no_frame(error: Exception) -> None:
    """It may be kept for as long as its file is."""
    known = known_error(raised(error))
    assert isinstance(known, ApiError)
    assert known.__traceback__ is None


def test_a_fault_of_the_server_has_no_answer_and_keeps_its_traceback() -> None:
    fault = raised(RuntimeError("a secret"))
    assert known_error(fault) is None
    assert fault.__traceback__ is not None
