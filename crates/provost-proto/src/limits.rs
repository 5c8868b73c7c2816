//! All limits, each with its reason.

/// The largest event body that is stored inline. A longer one is stored as a blob and referenced,
/// so that reading the log stays cheap.
pub const MAX_INLINE_BODY_BYTES: usize = 4 * 1024;

/// The largest blob: a bit more than the largest request for an action. Larger data does not
/// belong into the database of the log.
pub const MAX_BLOB_BYTES: usize = 24 * 1024 * 1024;

/// The largest JSON body of an HTTP request, unless a route has its own limit.
pub const MAX_REQUEST_BODY_BYTES: usize = 1024 * 1024;

/// The largest body of a request for an action: 16 MiB of a file, in base64.
pub const MAX_ACTION_BODY_BYTES: usize = 23 * 1024 * 1024;

/// The longest path in a request.
pub const MAX_PATH_BYTES: usize = 4096;

/// The longest path of a project folder: however it is escaped, the event that opens it has an
/// inline body.
pub const MAX_PROJECT_PATH_BYTES: usize = 1024;

/// The most events in one page of `/api/audit`.
pub const MAX_AUDIT_PAGE_EVENTS: usize = 500;

/// The longest lifetime of a token, in minutes: a year.
pub const MAX_TOKEN_MINUTES: u32 = 366 * 24 * 60;

/// How long a browser stays logged in, in minutes.
pub const BROWSER_LOGIN_MINUTES: u32 = 30 * 24 * 60;

/// The most unused login links. One more invalidates the oldest.
pub const MAX_LOGIN_LINKS: usize = 16;

/// The longest idempotency key of a client.
pub const MAX_IDEMPOTENCY_KEY_BYTES: usize = 128;

/// The longest label, name or role in a request.
pub const MAX_NAME_BYTES: usize = 128;

/// The most lines of output in a crash report.
pub const MAX_CRASH_LINES: usize = 200;

/// The longest line in a crash report, in bytes; longer ones are truncated, so that a report
/// stays below half a megabyte.
pub const MAX_CRASH_LINE_BYTES: usize = 2 * 1024;

/// The most diagnostics of a build that are kept: people fix the first ones first.
pub const MAX_BUILD_DIAGNOSTICS: usize = 100;

/// The longest message of a build error, in bytes.
pub const MAX_BUILD_MESSAGE_BYTES: usize = 2 * 1024;

/// The most bytes in one page of the runtime's log.
pub const MAX_LOG_PAGE_BYTES: usize = 256 * 1024;

/// How many bytes of the runtime's log are kept.
pub const LOG_RETAINED_BYTES: u64 = 16 * 1024 * 1024;

/// The longest frame from a terminal: a snapshot of a wide screen with all its scrollback and a
/// color in every cell is smaller.
pub const MAX_TERMINAL_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// The longest frame to a terminal: a large paste is split.
pub const MAX_TERMINAL_INPUT_BYTES: usize = 64 * 1024;

/// The most pending input for a terminal; more is refused, never dropped.
pub const MAX_TERMINAL_PENDING_BYTES: usize = 1024 * 1024;

/// How many bytes of a terminal's output are kept for reconnecting clients.
pub const TERMINAL_RING_BYTES: usize = 8 * 1024 * 1024;

/// How many lines of scrollback a terminal keeps.
pub const TERMINAL_SCROLLBACK_LINES: usize = 2000;

/// The most bytes that a client may have received and not acknowledged: enough in flight for a
/// client that keeps up; another one is sent no more.
pub const TERMINAL_WINDOW_BYTES: u64 = 512 * 1024;

/// A client need not acknowledge more often than after this many bytes: acknowledgments delay
/// input.
pub const TERMINAL_ACK_BYTES: u64 = TERMINAL_WINDOW_BYTES / 8;

/// A client that is further behind gets a snapshot instead of the missing bytes, which would take
/// longer to draw.
pub const TERMINAL_RESYNC_BYTES: u64 = 256 * 1024;

/// The widest terminal, in columns. Cells cost memory.
pub const MAX_TERMINAL_COLS: u16 = 1000;

/// The tallest terminal, in rows.
pub const MAX_TERMINAL_ROWS: u16 = 500;

/// The longest title of a terminal, in bytes.
pub const MAX_TERMINAL_TITLE_BYTES: usize = 1024;

/// The lifetime of a terminal ticket, in seconds.
pub const TICKET_SECONDS: u64 = 30;

/// The most unused tickets. One more invalidates the oldest.
pub const MAX_TICKETS: usize = 64;

/// The longest message of a session, in bytes. Longer texts belong into files.
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// The most queued messages of one session.
pub const MAX_QUEUED_MESSAGES: usize = 16;

/// The most bytes of a tool's output that a model gets; the middle of a longer one is left out.
pub const MAX_TOOL_OUTPUT_BYTES: usize = 64 * 1024;

/// The most tool calls of one completion that are run; the model is told to repeat the others.
pub const MAX_TOOL_CALLS: usize = 32;

/// The longest text of a completion with its reasoning and tool calls, in bytes. A longer one is
/// cut off.
pub const MAX_COMPLETION_BYTES: usize = 8 * 1024 * 1024;

/// The deepest nesting of handoffs.
pub const MAX_HANDOFF_DEPTH: u8 = 3;

/// The longest title of a session, in characters.
pub const MAX_TITLE_CHARS: usize = 80;

/// The size of the log beyond which requests of agents are refused, in bytes.
pub const MAX_LOG_BYTES: u64 = 64 << 30;

/// The most characters of a text that an agent types into the terminal which its action shows; the
/// event has the whole.
pub const MAX_AGENT_INPUT_CHARS: usize = 1024;

/// How much of a running command's output its document holds, in bytes. A document is written
/// again with every chunk.
pub const MAX_COMMAND_OUTPUT_BYTES: usize = 16 * 1024;

/// The most resolved approvals, and the most ended grants, that a page is sent at first.
pub const MAX_RESOLVED_DOCUMENTS: usize = 30;

/// The most documents in one page of a list: approvals that were resolved, grants that ended,
/// sessions that are not active.
pub const MAX_LISTED_DOCUMENTS: usize = 50;

/// The most sessions that a page is sent at first, besides those that are active.
pub const MAX_RECENT_SESSIONS: usize = 50;

/// The most items, and the most turns, of a session that a page is sent at first.
pub const MAX_RECENT_ITEMS: usize = 200;

/// The most texts that agents typed into a project's terminal which a page is sent.
pub const MAX_AGENT_INPUTS: usize = 20;

/// The most events that a reconnecting page is told about one by one; one that is further behind
/// gets a new snapshot.
pub const MAX_RESUME_EVENTS: u64 = 5000;

/// The largest message of a stream of documents, in bytes, unless one document is larger.
pub const MAX_DOCUMENT_MESSAGE_BYTES: usize = 256 * 1024;

/// The most bytes that are put back into the events of one page: more than most reports have,
/// and little enough to be held a few times.
pub const MAX_WHOLE_BODIES_BYTES: u64 = 8 * 1024 * 1024;

/// The most events in one page of `/api/events`.
pub const MAX_EVENT_PAGE_EVENTS: usize = 200;

/// The longest title of a notebook, in characters: one line of a list.
pub const MAX_NOTEBOOK_TITLE_CHARS: usize = 200;

/// The most cells of a notebook that are not deleted. All are shown at once.
pub const MAX_NOTEBOOK_CELLS: usize = 10_000;

/// The longest source of a cell, in bytes. It is in one document, which each edit writes again.
pub const MAX_CELL_SOURCE_BYTES: usize = 1024 * 1024;

/// The most metadata of a cell, in bytes of JSON. It is in the document of the cell.
pub const MAX_CELL_METADATA_BYTES: usize = 64 * 1024;

/// The most metadata of a notebook, in bytes of JSON: the state of widgets is stored there.
pub const MAX_NOTEBOOK_METADATA_BYTES: usize = 1024 * 1024;

/// The longest position of a cell, in bytes. Positions grow when cells are inserted in one place
/// again and again, by a byte for about six cells.
pub const MAX_CELL_POSITION_BYTES: usize = 256;

/// The most slots of a notebook: one per kind of cell that is executed, and some more.
pub const MAX_NOTEBOOK_SLOTS: usize = 8;

/// The most outputs in one page: few enough that adding one is cheap, many enough that opening
/// a notebook reads few pages.
pub const MAX_PAGE_OUTPUTS: u32 = 32;

/// The most bytes of outputs in one page, unless one output is longer. A page is written again
/// with every output.
pub const MAX_PAGE_OUTPUT_BYTES: u32 = 16 * 1024;

/// The longest output, in bytes; larger data is stored as an artifact. With its escapes it
/// fits into a blob.
pub const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// The most outputs of one execution, also those that were cleared: nobody reads more, and a
/// program in an endless loop must not fill the log.
pub const MAX_EXECUTION_OUTPUTS: u32 = 1_000_000;

/// The longest text that is appended to an output at once, in bytes.
pub const MAX_APPENDED_BYTES: usize = 1024 * 1024;

/// The longest display name, in bytes. Jupyter's are 32 hexadecimal digits.
pub const MAX_DISPLAY_NAME_BYTES: usize = 256;

/// The most outputs with the same display name that are replaced: each is an event. The oldest
/// ones stay as they are.
pub const MAX_DISPLAY_PLACES: usize = 32;

/// The longest prompt of a program, and the longest input for it, in bytes.
pub const MAX_NOTEBOOK_INPUT_BYTES: usize = 64 * 1024;

/// The longest reason for the end of an execution or a runtime session, in bytes.
pub const MAX_REASON_BYTES: usize = 4 * 1024;

/// How often the lease of a runtime session is renewed, in milliseconds.
pub const LEASE_RENEWAL_MS: u64 = 15_000;

/// How long a lease is valid, in milliseconds: one renewal may be lost.
pub const LEASE_VALID_MS: u64 = 30_000;

/// The most commands that a client sends at once.
pub const MAX_COMMAND_BATCH: usize = 1000;

/// The most events in one message of `/api/sync`.
pub const MAX_NOTEBOOK_BATCH_EVENTS: usize = 100;

/// About the most bytes of events in one message of `/api/sync`; one larger event has a message
/// of its own.
pub const MAX_NOTEBOOK_BATCH_BYTES: usize = 64 * 1024;

/// The most events that a client of `/api/sync` is sent when it comes back; one that is further
/// behind gets a snapshot.
pub const MAX_NOTEBOOK_RESUME_EVENTS: u64 = 10_000;

/// The largest message of a client of `/api/sync`.
pub const MAX_SYNC_MESSAGE_BYTES: usize = 1024 * 1024;

/// The most notebooks that one connection follows.
pub const MAX_SYNC_SUBSCRIPTIONS: usize = 16;

/// The most bytes of presence in a notebook.
pub const MAX_PRESENCE_BYTES: usize = 1024;

/// The largest artifact of a notebook, in bytes.
pub const MAX_ARTIFACT_BYTES: usize = 16 * 1024 * 1024;
