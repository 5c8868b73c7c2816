user_version 9

CREATE INDEX docs_listed ON docs (view, parent, open, at) WHERE parent IS NOT NULL;

CREATE INDEX events_of_stream ON events (stream);

CREATE TABLE blobs (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL);

CREATE TABLE commands (
        principal TEXT NOT NULL,
        key       TEXT NOT NULL,
        request   BLOB NOT NULL,
        first     INTEGER NOT NULL,
        count     INTEGER NOT NULL, digest BLOB,
        PRIMARY KEY (principal, key)
    ) WITHOUT ROWID;

CREATE TABLE cuts (seq INTEGER NOT NULL, reached INTEGER NOT NULL);

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

CREATE TABLE events (
        seq    INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL,
        hash   BLOB NOT NULL,
        record BLOB NOT NULL
    );

CREATE TABLE project_events (
        project BLOB NOT NULL,
        seq     INTEGER NOT NULL,
        PRIMARY KEY (project, seq)
    ) WITHOUT ROWID;

CREATE TABLE reached (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, folded INTEGER NOT NULL DEFAULT 0);

CREATE TABLE segment_blobs (
        hash    BLOB NOT NULL,
        segment INTEGER NOT NULL,
        PRIMARY KEY (hash, segment)
    ) WITHOUT ROWID;

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

CREATE TABLE streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, archived INTEGER NOT NULL DEFAULT 0);

CREATE TRIGGER events_remain BEFORE DELETE ON events
        WHEN OLD.seq > (SELECT coalesce(max(last), 0) FROM segments)
        BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;

CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;

CREATE TRIGGER segments_remain BEFORE DELETE ON segments
        BEGIN SELECT RAISE(ABORT, 'segments are never removed'); END;

CREATE TRIGGER segments_stay BEFORE UPDATE ON segments
        BEGIN SELECT RAISE(ABORT, 'segments are never changed'); END;
