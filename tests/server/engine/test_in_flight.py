"""Every accepted future is resolved once, whenever the worker stops."""

from concurrent.futures import Future

import pytest

from server.engine.in_flight import InFlight
from server.engine.request import EngineStopped, ModelUnavailable
from server.engine.scheduler import RequestQueue


def test_what_is_queued_while_the_worker_stops_is_refused() -> None:
    """And not resolved by the thread that queues it: callbacks would run under its locks."""
    in_flight, before, after = InFlight(RequestQueue(10)), Future[int](), Future[int]()
    in_flight.add([before])
    in_flight.stop(ModelUnavailable("of a test"))
    assert not before.done()
    with pytest.raises(ModelUnavailable):
        in_flight.add([after])
    assert not after.done()
    in_flight.fail_all(ModelUnavailable("of a test"))
    assert [type(future.exception(timeout=0)) for future in (before, after)] == [ModelUnavailable] * 2


def test_what_is_resolved_already_stays_as_it_is() -> None:
    in_flight, answered, cancelled, waiting = InFlight(RequestQueue(10)), Future[int](), Future[int](), Future[int]()
    in_flight.add([answered, cancelled, waiting])
    answered.set_result(1)
    assert cancelled.cancel()
    in_flight.fail_all(EngineStopped("of a test"))
    assert answered.result(timeout=0) == 1
    assert cancelled.cancelled()
    assert isinstance(waiting.exception(timeout=0), EngineStopped)


@pytest.mark.parametrize("stops", [False, True])
def test_nothing_more_is_accepted_and_work_in_flight_goes_on(stops: bool) -> None:
    in_flight, future = InFlight(RequestQueue(10)), Future[int]()
    in_flight.check_accepting()
    in_flight.add([future])
    in_flight.reject()
    if stops:
        in_flight.stop()
    assert in_flight.is_stopped == stops
    assert not future.done()
    with pytest.raises(EngineStopped, match="shutting down"):
        in_flight.check_accepting()


def test_a_model_that_failed_says_so_when_the_server_stops_later() -> None:
    in_flight = InFlight(RequestQueue(10))
    in_flight.stop(ModelUnavailable("of a test"))
    in_flight.reject()
    in_flight.stop()
    with pytest.raises(ModelUnavailable, match="of a test"):
        in_flight.check_accepting()
