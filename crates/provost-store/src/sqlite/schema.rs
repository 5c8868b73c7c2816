//! The tables, and the migrations of older files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

/// How long to wait for another program's lock on the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Each entry migrates to the next version. Never edit a released one; add another.
const MIGRATIONS: &[&str] = &[
    "
    -- The log. `record` holds the very bytes that were hashed.
    CREATE TABLE events (
        seq    INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL,
        hash   BLOB NOT NULL,
        record BLOB NOT NULL
    );
    -- The row id is part of every index, so this one finds a stream's events in order.
    CREATE INDEX events_of_stream ON events (stream);

    CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
    CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;

    -- Where a stream is, its last event says; one page less to write with every commit.
    CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

    -- How far the log once reached, so that a tail that was cut off is noticed. Written by
    -- commits that touch no document; those that do leave the same mark in `docs`.
    CREATE TABLE reached (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);
    INSERT INTO reached VALUES (1, 0);

    -- The commands that clients gave a key to.
    CREATE TABLE commands (
        principal TEXT NOT NULL,
        key       TEXT NOT NULL,
        request   BLOB NOT NULL,
        first     INTEGER NOT NULL,
        count     INTEGER NOT NULL,
        PRIMARY KEY (principal, key)
    ) WITHOUT ROWID;

    -- What was folded from the log; can be thrown away and folded again.
    CREATE TABLE docs (
        id   INTEGER PRIMARY KEY,
        view TEXT NOT NULL,
        key  TEXT NOT NULL,
        seq  INTEGER NOT NULL,
        doc  BLOB NOT NULL
    );
    CREATE UNIQUE INDEX docs_by_key ON docs (view, key);

    CREATE TABLE blobs (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL);
    ",
    "
    -- Documents in one tree instead of two, under short keys: `View::number` and the bytes of
    -- the id. What cannot be carried over is folded again when the views are.
    UPDATE reached SET seq = max(seq, coalesce((SELECT max(seq) FROM docs), 0));
    ALTER TABLE docs RENAME TO docs_1;
    CREATE TABLE docs (
        view INTEGER NOT NULL,
        key  BLOB NOT NULL,
        seq  INTEGER NOT NULL,
        doc  BLOB NOT NULL,
        PRIMARY KEY (view, key)
    ) WITHOUT ROWID;
    INSERT OR IGNORE INTO docs
        SELECT CASE view WHEN 'projects' THEN 1 WHEN 'tokens' THEN 2 WHEN 'actions' THEN 3
                         WHEN 'kernels' THEN 4 END,
               unhex(replace(key, '-', '')), seq, doc
        FROM docs_1 ORDER BY 1, 2;
    DROP TABLE docs_1;
    -- Up to which event the documents go; what lies behind is folded when the file is opened.
    ALTER TABLE reached ADD COLUMN folded INTEGER NOT NULL DEFAULT 0;
    UPDATE reached SET folded = coalesce((SELECT max(seq) FROM events), 0);
    ",
    "
    -- Where the log was once found shorter than it had been: the last event that was left, and
    -- how far it had reached. What is appended later must not hide it.
    CREATE TABLE cuts (seq INTEGER NOT NULL, reached INTEGER NOT NULL);
    ",
    "
    -- Actions that only looked have a view of their own: all is folded again when it is opened.
    UPDATE reached SET seq = max(seq, coalesce((SELECT max(seq) FROM docs), 0)), folded = 0;
    DELETE FROM docs;
    ",
    "
    -- Documents hold numbers as the log does: all is folded again when it is opened.
    UPDATE reached SET
        seq = max(seq, coalesce((SELECT max(seq) FROM docs), 0),
                  coalesce((SELECT max(seq) FROM events), 0)),
        folded = 0;
    DELETE FROM docs;
    -- The hash of the row, so that damage to it is noticed; rows of older files have none.
    ALTER TABLE commands ADD COLUMN digest BLOB;
    ",
    "
    -- Documents that are open or recent are listed under what they belong to, so that they are
    -- found without visiting the others: `ViewDocument::listing`. All is folded again when it is
    -- opened, for documents gained fields.
    UPDATE reached SET
        seq = max(seq, coalesce((SELECT max(seq) FROM docs), 0),
                  coalesce((SELECT max(seq) FROM events), 0)),
        folded = 0;
    DROP TABLE docs;
    CREATE TABLE docs (
        view   INTEGER NOT NULL,
        key    BLOB NOT NULL,
        seq    INTEGER NOT NULL,
        doc    BLOB NOT NULL,
        parent BLOB,
        open   INTEGER,
        at     INTEGER,
        PRIMARY KEY (view, key)
    ) WITHOUT ROWID;
    CREATE INDEX docs_listed ON docs (view, parent, open, at) WHERE parent IS NOT NULL;
    ",
    "
    -- Tokens (2) and usage (13) are listed too, so that the daemon's start reads the valid and
    -- the latest only. A document that is not JSON stays as it is: verification names it.
    UPDATE docs SET
        parent = zeroblob(16),
        open = json_extract(CAST(doc AS TEXT), '$.revokedAt') IS NULL,
        at = coalesce(json_extract(CAST(doc AS TEXT), '$.revokedAt'),
                      json_extract(CAST(doc AS TEXT), '$.expiresAt'), 9223372036854775807)
        WHERE view = 2 AND json_valid(CAST(doc AS TEXT));
    UPDATE docs SET
        parent = unhex(json_extract(CAST(doc AS TEXT), '$.project'), '-'),
        open = 0,
        at = json_extract(CAST(doc AS TEXT), '$.day') * 86400000000
        WHERE view = 13 AND json_valid(CAST(doc AS TEXT));
    ",
    "
    -- Files that older events were moved to: `segment`. An event up to the last one here is read
    -- from its file, even while its row is still there.
    CREATE TABLE segments (
        first    INTEGER PRIMARY KEY,
        last     INTEGER NOT NULL UNIQUE,
        prev     BLOB NOT NULL,
        hash     BLOB NOT NULL,
        first_at INTEGER NOT NULL,
        last_at  INTEGER NOT NULL,
        name     TEXT NOT NULL,
        digest   BLOB NOT NULL,
        bytes    INTEGER NOT NULL
    );
    CREATE TRIGGER segments_stay BEFORE UPDATE ON segments
        BEGIN SELECT RAISE(ABORT, 'segments are never changed'); END;
    CREATE TRIGGER segments_remain BEFORE DELETE ON segments
        BEGIN SELECT RAISE(ABORT, 'segments are never removed'); END;
    -- Which segments a blob is in: more than one, if the same content came again.
    CREATE TABLE segment_blobs (
        hash    BLOB NOT NULL,
        segment INTEGER NOT NULL,
        PRIMARY KEY (hash, segment)
    ) WITHOUT ROWID;
    -- The version that a stream reached in segments.
    ALTER TABLE streams ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
    DROP TRIGGER events_remain;
    CREATE TRIGGER events_remain BEFORE DELETE ON events
        WHEN OLD.seq > (SELECT coalesce(max(last), 0) FROM segments)
        BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
    ",
    "
    -- Events of other streams that name a project, so that an index has all events of a project.
    -- The fold fills it: all is folded again when it is opened.
    CREATE TABLE project_events (
        project BLOB NOT NULL,
        seq     INTEGER NOT NULL,
        PRIMARY KEY (project, seq)
    ) WITHOUT ROWID;
    UPDATE reached SET
        seq = max(seq, coalesce((SELECT max(seq) FROM docs), 0),
                  coalesce((SELECT max(seq) FROM events), 0)),
        folded = 0;
    DELETE FROM docs;
    ",
];

/// The version of files that this program writes.
pub(super) fn current_version() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// What the schema of a file differs in from the schema of its version, if it does.
pub(super) fn find_schema_difference(db: &Connection) -> Result<Option<String>, StoreError> {
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version == 0 || version > current_version() {
        return Ok(Some(format!("its version is {version}, which no log has")));
    }
    let expected = Connection::open_in_memory()?;
    for sql in MIGRATIONS.iter().take(usize::try_from(version).unwrap_or(0)) {
        expected.execute_batch(sql)?;
    }
    let list = |db: &Connection| -> rusqlite::Result<BTreeMap<String, Option<String>>> {
        let mut all = db.prepare("SELECT type || ' ' || name, sql FROM sqlite_master")?;
        all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    let (mut found, expected) = (list(db)?, list(&expected)?);
    for (name, sql) in expected {
        if found.remove(&name) != Some(sql) {
            return Ok(Some(format!("the {name} is missing or was changed")));
        }
    }
    Ok(found.into_keys().next().map(|name| format!("the {name} does not belong to a log")))
}

/// Opens the database for writing and migrates it.
pub(super) fn open_and_migrate(path: &Path) -> Result<Connection, StoreError> {
    // No event is read yet, so an error concerns the file as a whole.
    open_writable(path).map_err(|error| error.into_file_error(path))
}

fn open_writable(path: &Path) -> Result<Connection, StoreError> {
    let mut db = Connection::open(path)?;
    db.set_prepared_statement_cache_capacity(32);
    // Another process, such as `sqlite3` or a backup, may lock the file for a moment.
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    // The checkpoint thread makes the checkpoints; if it does not keep up, the writer makes one
    // itself at 256 MiB, which bounds the WAL. The limit gives the space back.
    db.pragma_update(None, "wal_autocheckpoint", 64 * 1024)?;
    db.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    db.pragma_update(None, "cache_size", -2000)?;
    migrate(&mut db, path)?;
    Ok(db)
}

/// A second writable connection, for checkpoints.
pub(super) fn open_for_checkpoints(path: &Path) -> Result<Connection, StoreError> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "cache_size", -64)?;
    Ok(db)
}

/// Opens the database for reading.
pub(super) fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.pragma_update(None, "cache_size", -1000)?;
    // Readers never wait for the writer in WAL mode, but recovery after a crash takes a lock for
    // a moment.
    db.busy_timeout(BUSY_TIMEOUT)?;
    Ok(db)
}

/// Opens a log for reading, even in a read-only folder.
pub(super) fn open_for_verification(path: &Path) -> Result<Connection, StoreError> {
    fs::metadata(path).map_err(|error| StoreError::io(path, &error))?;
    let looked = open_read_only(path).and_then(|db| {
        let _version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok(db)
    });
    let mut beside = path.as_os_str().to_owned();
    beside.push("-wal");
    let all_in_one = fs::metadata(beside).map_or(true, |wal| wal.len() == 0);
    match looked {
        // Readers of a WAL write a file beside the log. Where they cannot, nobody else writes
        // there either, so the file can be read as immutable.
        Err(StoreError::Database(_)) if all_in_one => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI;
            Ok(Connection::open_with_flags(immutable_uri(path), flags)?)
        }
        looked => looked,
    }
}

/// A path as a URI for SQLite, which then takes no lock and writes nothing.
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri + "?immutable=1"
}

fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = current_version();
    if found > known {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known });
    }
    for (version, sql) in (1_u32..).zip(MIGRATIONS).skip(usize::try_from(found).unwrap_or(0)) {
        let step = db.transaction()?;
        step.execute_batch(sql)?;
        step.pragma_update(None, "user_version", version)?;
        step.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_newer_provost_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        open_and_migrate(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = open_and_migrate(&path).unwrap_err().to_string();
        assert!(error.contains("written by a newer Provost (schema 99"), "{error}");
    }

    #[test]
    fn an_empty_file_is_brought_to_the_newest_schema_and_stays_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        for _ in 0..2 {
            let db = open_and_migrate(&path).unwrap();
            let version: usize = db.pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
            assert_eq!(version, MIGRATIONS.len());
        }
    }

    #[test]
    fn the_schema_of_a_new_file_is_the_golden_one() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_and_migrate(&folder.path().join("log.db")).unwrap();
        let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
        let mut text = format!("user_version {}\n", pragma("user_version"));
        let mut all = db
            .prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
            .unwrap();
        for sql in all.query_map([], |row| row.get::<_, String>(0)).unwrap() {
            writeln!(text, "\n{};", sql.unwrap()).unwrap();
        }
        expect_test::expect_file!["../../tests/golden/schema.sql"].assert_eq(&text);
    }

    #[test]
    fn the_documents_of_an_older_file_are_carried_over_and_how_far_it_reached_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.execute_batch(
            "INSERT INTO docs (view, key, seq, doc) VALUES
                ('actions', '0192e4a0-0000-7000-8000-0000000000ff', 8, x'7b7d'),
                ('projects', '0192e4a0-0000-7000-8000-000000000001', 7, x'7b7d'),
                ('projects', 'not an id', 9, x'7b7d'), ('of the future', 'x', 6, x'7b7d');",
        )
        .unwrap();
        old.execute_batch(MIGRATIONS[1]).unwrap();
        let ask = |sql| old.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(
            ask("SELECT group_concat(view || ' ' || hex(key) || ' ' || seq, ', ') FROM docs"),
            "1 0192E4A0000070008000000000000001 7, 3 0192E4A00000700080000000000000FF 8"
        );
        assert_eq!(ask("SELECT CAST(seq AS TEXT) FROM reached"), "9");
    }

    #[test]
    fn the_views_of_an_older_file_are_to_be_folded_again_and_how_far_it_reached_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let old = Connection::open(&path).unwrap();
        MIGRATIONS[..3].iter().for_each(|sql| old.execute_batch(sql).unwrap());
        old.pragma_update(None, "user_version", 3).unwrap();
        old.execute_batch(
            "INSERT INTO docs VALUES (3, x'00', 9, x'7b7d'); UPDATE reached SET seq = 8, folded = 9",
        )
        .unwrap();
        drop(old);
        let db = open_and_migrate(&path).unwrap();
        let ask = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(ask("SELECT count(*) FROM docs"), 0);
        assert_eq!((ask("SELECT seq FROM reached"), ask("SELECT folded FROM reached")), (9, 0));
    }

    #[test]
    fn the_database_itself_refuses_to_change_an_event() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_and_migrate(&folder.path().join("log.db")).unwrap();
        db.execute("INSERT INTO events VALUES (1, 1, x'00', x'00')", []).unwrap();
        for sql in ["UPDATE events SET record = x'01'", "DELETE FROM events"] {
            let error = db.execute(sql, []).unwrap_err().to_string();
            assert!(error.contains("events are never"), "{error}");
        }
    }
}
