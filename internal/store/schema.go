package store

// migration is one step of the schema; the numbers of steps taken is the file's user_version. A step that has been released is never changed.
type migration struct {
	sql string
	// destructive says that data are dropped or rewritten: the file is copied before.
	destructive bool
}

// migrations are all steps, in order. Times are microseconds since 1970, 0 = none; texts are never NULL, "" = none. A parent may be gone.
var migrations = []migration{{sql: `
CREATE TABLE sessions (
	id TEXT PRIMARY KEY NOT NULL,
	root_id TEXT NOT NULL, -- the session that its lineage began with
	parent_session_id TEXT NOT NULL DEFAULT '',
	source TEXT NOT NULL DEFAULT '', user_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
	cwd TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '',
	enabled TEXT NOT NULL DEFAULT '', disabled TEXT NOT NULL DEFAULT '', -- JSON lists
	started_at INTEGER NOT NULL DEFAULT 0, ended_at INTEGER NOT NULL DEFAULT 0, end_reason TEXT NOT NULL DEFAULT '',
	active_at INTEGER NOT NULL DEFAULT 0,
	message_count INTEGER NOT NULL DEFAULT 0, call_count INTEGER NOT NULL DEFAULT 0,
	input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,
	archived INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE UNIQUE INDEX sessions_title ON sessions(title) WHERE title <> '';
CREATE INDEX sessions_parent ON sessions(parent_session_id);
CREATE INDEX sessions_active ON sessions(active_at);

CREATE TABLE messages (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
	pos INTEGER NOT NULL, -- order within the session
	role TEXT NOT NULL,
	content TEXT NOT NULL DEFAULT '',
	calls TEXT NOT NULL DEFAULT '', -- what tool_calls say, to be searched
	tool_call_id TEXT NOT NULL DEFAULT '', tool_calls TEXT NOT NULL DEFAULT '', tool_name TEXT NOT NULL DEFAULT '',
	failed INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT '',
	timestamp INTEGER NOT NULL DEFAULT 0, token_count INTEGER NOT NULL DEFAULT 0, finish_reason TEXT NOT NULL DEFAULT '',
	reasoning TEXT NOT NULL DEFAULT '', provider_data TEXT NOT NULL DEFAULT '',
	active INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX messages_order ON messages(session_id, pos, role);

CREATE TABLE todos (
	session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
	pos INTEGER NOT NULL, id TEXT NOT NULL, content TEXT NOT NULL, status TEXT NOT NULL,
	PRIMARY KEY (session_id, pos)
) WITHOUT ROWID;

CREATE TABLE events (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
	kind TEXT NOT NULL, data TEXT NOT NULL, timestamp INTEGER NOT NULL
);
CREATE INDEX events_session ON events(session_id);

CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;

CREATE VIRTUAL TABLE messages_fts USING fts5(content, calls, content='messages', content_rowid='id', tokenize='trigram');
CREATE TRIGGER messages_inserted AFTER INSERT ON messages BEGIN
	INSERT INTO messages_fts(rowid, content, calls) VALUES (new.id, new.content, new.calls);
END;
CREATE TRIGGER messages_deleted AFTER DELETE ON messages BEGIN
	INSERT INTO messages_fts(messages_fts, rowid, content, calls) VALUES ('delete', old.id, old.content, old.calls);
END;
CREATE TRIGGER messages_updated AFTER UPDATE OF content, calls ON messages BEGIN
	INSERT INTO messages_fts(messages_fts, rowid, content, calls) VALUES ('delete', old.id, old.content, old.calls);
	INSERT INTO messages_fts(rowid, content, calls) VALUES (new.id, new.content, new.calls);
END;
`}}
