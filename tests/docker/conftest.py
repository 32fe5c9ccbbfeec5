"""The running servers of the API's tests."""

from tests.server.api.conftest import document_server as document_server
