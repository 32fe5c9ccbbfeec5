"""Fixtures of tests of the API that tests of documents use, too."""

from tests.server.api.conftest import pairs as pairs
