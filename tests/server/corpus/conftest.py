"""The running servers of the API's tests."""

from tests.server.api.conftest import many as many
from tests.server.api.conftest import pairs as pairs
from tests.server.api.conftest import server as server
