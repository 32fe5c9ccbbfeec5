"""The file of a SQLite store."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from server.stores.interface import StoreError
from server.stores.sqlite import SqliteStore
from server.stores.sqlite_schema import MIGRATIONS
from tests.server.documents.some import keep

ROOT = Path(__file__).parents[3]


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    store.close()
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE theirs (x)", "another application's database"),
        (f"PRAGMA user_version = {len(MIGRATIONS) + 1}", "another application's"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, statement: str, message: str) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(StoreError, match=message):
        SqliteStore(tmp_path / "a.db")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a.db").close()
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        connection.commit()
    with pytest.raises(StoreError, match="update RingMT"):
        SqliteStore(tmp_path / "a.db")


def test_what_is_no_database_or_no_place_for_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database " * 100)
    with pytest.raises(StoreError, match=r"text\.db"):
        SqliteStore(tmp_path / "text.db")
    with pytest.raises(StoreError, match="folder must exist"):
        SqliteStore(tmp_path / "missing" / "a.db")
    with pytest.raises(StoreError):
        SqliteStore(tmp_path)


def test_a_file_that_another_process_locks_is_an_error(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db", busy_seconds=0.05)
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"kept it locked for 0\.05 s"):
            keep(store)
        assert store.count() == 0  # reading goes on
        other.execute("ROLLBACK")
        keep(store)
    store.close()


def test_several_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom server.stores.sqlite import SqliteStore\n"
        "from tests.server.documents.some import keep\n"
        "sys.stdin.read(1)\nstore = SqliteStore(Path(sys.argv[1]))\nkeep(store, sys.argv[2])\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a.db"), name], cwd=ROOT, stdin=subprocess.PIPE)
        for name in ("a", "b", "c")
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    store = SqliteStore(tmp_path / "a.db")
    assert store.count() == 3
    store.close()


def test_after_an_error_the_index_of_the_log_is_still_there(tmp_path: Path) -> None:
    """SQLite makes it anew for the first connection, which takes room on the disk: reads would need that too."""
    index = tmp_path / "a.db-shm"
    with closing(SqliteStore(tmp_path / "a.db")) as store:
        for kind in ("DEFERRED", "IMMEDIATE"):
            with pytest.raises(StoreError), store._transaction(kind) as connection:
                connection.execute("no SQL")
            assert index.exists()
    assert not index.exists()
