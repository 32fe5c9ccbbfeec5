"""The running server of the API's tests."""

from tests.server.api.conftest import server as server
