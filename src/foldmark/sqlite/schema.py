"""The tables of a SQLite store, their migrations, and how a connection is opened. Knows nothing of what
rows mean.

Tenant, user and session have integer keys. The search table is contentless: its rows hold tokens of our own
analyser, which its tokenizer can neither split, fold nor stem (it splits at ASCII punctuation and spaces
only, and tokens contain none), and a scope column with tokens like `t12 u340 s5071`.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable

from foldmark.errors import SchemaTooNew, StoreError
from foldmark.sqlite.refusals import BUSY_SECONDS, Connection, refused
from foldmark.sqlite.rows import rebuild_search
from foldmark.sqlite.whose import refuse_another
from foldmark.words import VERSION as WORDS_VERSION

FIRST = """
CREATE TABLE tenant (id INTEGER PRIMARY KEY AUTOINCREMENT, name NOT NULL UNIQUE);
CREATE TABLE user (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL REFERENCES tenant,
    name NOT NULL,
    UNIQUE (tenant, name)
);
-- facts and checkpoints count the rows of this session; parent_facts and parent_checkpoints freeze how many
-- of the parent's rows a fork inherits; root is the first session of a line of forks
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user INTEGER NOT NULL REFERENCES user,
    name NOT NULL,
    kind TEXT NOT NULL,
    parent INTEGER REFERENCES session,
    parent_seq INTEGER NOT NULL,
    parent_call NOT NULL,
    parent_facts INTEGER NOT NULL,
    parent_checkpoints INTEGER NOT NULL,
    root INTEGER,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    head INTEGER NOT NULL,
    facts INTEGER NOT NULL DEFAULT 0,
    checkpoints INTEGER NOT NULL DEFAULT 0,
    title NOT NULL,
    meta BLOB NOT NULL,
    UNIQUE (user, name)
);
CREATE INDEX session_parent ON session (parent);
CREATE INDEX session_root ON session (root);
CREATE TABLE scope_state (
    session INTEGER NOT NULL REFERENCES session,
    scope NOT NULL,
    sees TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, scope, sees)
) WITHOUT ROWID;
CREATE TABLE event (
    session INTEGER NOT NULL REFERENCES session,
    seq INTEGER NOT NULL,
    id NOT NULL,
    scope NOT NULL,
    branch NOT NULL,
    time REAL,
    origin TEXT NOT NULL,
    role TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    plain TEXT NOT NULL,
    chain TEXT,
    body BLOB NOT NULL,
    UNIQUE (session, seq),
    UNIQUE (session, id)
);
CREATE INDEX event_chain ON event (session, chain) WHERE chain IS NOT NULL;
CREATE TABLE artifact (
    session INTEGER NOT NULL REFERENCES session,
    seq INTEGER NOT NULL,
    number INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (session, seq, number)
) WITHOUT ROWID;
CREATE INDEX artifact_sha256 ON artifact (sha256);
-- number counts the facts of a session in the order they came; append-only
CREATE TABLE fact (
    session INTEGER NOT NULL REFERENCES session,
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    scope NOT NULL,
    kind TEXT NOT NULL,
    key NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE unit (
    session INTEGER NOT NULL REFERENCES session,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    score REAL NOT NULL,
    tokens INTEGER NOT NULL,
    line INTEGER NOT NULL,
    text NOT NULL
);
CREATE INDEX unit_score ON unit (session, score);
-- word and name counts up to seq, the newest alone; later events are counted again from their pieces
CREATE TABLE tally (session INTEGER PRIMARY KEY REFERENCES session, seq INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE piece (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    number INTEGER NOT NULL,
    head NOT NULL,
    text NOT NULL
);
CREATE INDEX piece_seq ON piece (session, seq);
CREATE VIRTUAL TABLE search USING fts5 (
    scope, body, content='', columnsize=0, detail=column, tokenize="ascii tokenchars '_'"
);
-- boundary is the newest event that the text tells of: a fork in front of it does not inherit the row
CREATE TABLE checkpoint (
    session INTEGER NOT NULL REFERENCES session,
    number INTEGER NOT NULL,
    scope NOT NULL,
    sees TEXT NOT NULL,
    version INTEGER NOT NULL,
    boundary INTEGER NOT NULL,
    time REAL NOT NULL,
    author TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, number),
    UNIQUE (session, scope, sees, version)
);
CREATE TABLE written (
    session INTEGER NOT NULL REFERENCES session, hash TEXT NOT NULL, stands_for TEXT NOT NULL,
    PRIMARY KEY (session, hash)
) WITHOUT ROWID;
-- dirty while wanted > done; taken is what the holder of the lease answers for; since says when it became so
CREATE TABLE work (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session,
    scope NOT NULL,
    sees TEXT NOT NULL,
    wanted INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    taken INTEGER NOT NULL DEFAULT 0,
    since REAL NOT NULL,
    token INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    UNIQUE (session, scope, sees)
);
CREATE INDEX work_dirty ON work (since) WHERE wanted > done;
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session,
    scope NOT NULL,
    sees TEXT NOT NULL,
    time REAL NOT NULL,
    outcome TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX attempt_scope ON attempt (session, scope, sees);
"""

SECOND = """
-- later is when work came that the holder of the lease does not answer for: the row is dirty since then once it settles
ALTER TABLE work ADD COLUMN later REAL NOT NULL DEFAULT 0;
UPDATE work SET later = since;
-- tokens rise over the whole store
INSERT INTO meta SELECT 'work_token', coalesce(max(token), 0) FROM work;
"""

THIRD = """
-- vectors of pieces, by who made them; a vector is int8 components, each times scale
CREATE TABLE embedder (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, dimension INTEGER NOT NULL, UNIQUE (name, dimension)
);
CREATE TABLE vector (
    session INTEGER NOT NULL REFERENCES session,
    embedder INTEGER NOT NULL REFERENCES embedder,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    scale REAL NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (session, embedder, seq, place)
) WITHOUT ROWID;
"""

MIGRATIONS: tuple[str, ...] = (FIRST, SECOND, THIRD)
"""Step n leads from version n to n + 1. A step that was released is never edited."""

SESSION_TABLES = (
    "vector", "piece", "unit", "fact", "tally", "checkpoint", "attempt", "work", "scope_state", "written", "artifact",
    "event",
)  # fmt: skip
"""Everything that hangs on a session, in the order in which it is erased."""


def connect(path: str, *, full: bool) -> sqlite3.Connection:
    """A connection in autocommit mode: transactions are begun and ended by name. A database of another program is
    refused before anything of it is touched. Raises StoreError."""
    refuse_another(path)
    try:
        db = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=Connection
        )
        db.path = path
        _patiently(lambda: db.execute("PRAGMA journal_mode=WAL"))
        db.execute(f"PRAGMA synchronous={'FULL' if full else 'NORMAL'}")
        for pragma in ("foreign_keys=ON", "secure_delete=ON", "cache_size=-16384", "wal_autocheckpoint=4000"):
            db.execute(f"PRAGMA {pragma}")
    except (sqlite3.Error, StoreError) as error:
        raise StoreError(f"{path}: cannot be opened as a SQLite store ({error.__cause__ or error}).") from error
    return db


def _patiently(action: Callable[[], object]) -> None:
    """Changing the journal mode does not wait for a busy neighbour by itself."""
    for _ in range(100):
        try:
            action()
            return
        except StoreError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            time.sleep(0.05)
    action()


def migrate(db: sqlite3.Connection, path: str) -> bytes:
    """Bring the file to the newest version and return the store's secret. Raises SchemaTooNew, StoreError."""
    if secret := _current(db):
        return secret  # a look at a file that is up to date waits for no writer
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID")
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        version = meta.get("schema_version", 0)
        is_new = not meta and not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'scope_state'").fetchone()
        if not is_new and not (isinstance(version, int) and version and isinstance(meta.get("secret"), bytes)):
            raise StoreError(f"{path}: what the store says of itself (the table meta) is damaged. Take a backup of it.")
        if version > len(MIGRATIONS):
            raise SchemaTooNew(
                f"{path} has schema {version}; this foldmark knows {len(MIGRATIONS)}. Update foldmark to open it."
            )
        for step in MIGRATIONS[version:]:
            for statement in _statements(step):
                db.execute(statement)
        secret = meta.get("secret") or secrets.token_bytes(32)
        new = {"schema_version": len(MIGRATIONS), "secret": secret, "words_version": WORDS_VERSION}
        if meta.get("words_version", WORDS_VERSION) != WORDS_VERSION:
            rebuild_search(db)
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(new.items()))
        db.execute("COMMIT")
    except BaseException as error:
        db.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):  # while rows were fetched
            raise refused(path, error) from error
        raise
    return secret


def _current(db: sqlite3.Connection) -> bytes:
    """The secret of a store that needs nothing done; empty otherwise."""
    try:
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        version = int(meta["schema_version"])
    except (sqlite3.Error, StoreError, KeyError, ValueError, TypeError):
        return b""
    is_done = version == len(MIGRATIONS) and meta.get("words_version") == WORDS_VERSION
    secret = meta.get("secret")
    return secret if is_done and isinstance(secret, bytes) else b""


def _statements(script: str) -> list[str]:
    """Single statements (`executescript` would commit the transaction first)."""
    return [statement for statement in script.split(";\n") if statement.strip()]
