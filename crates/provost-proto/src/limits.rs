//! The limits, in one place, each with its reason.

/// The largest event body kept inline. A longer one goes to the blob store and
/// is referenced, so that walking the log stays cheap.
pub const MAX_INLINE_BODY_BYTES: usize = 4 * 1024;

/// The largest blob: what a request for an action may hold, and a little more.
/// Larger things do not belong into the log's database.
pub const MAX_BLOB_BYTES: usize = 24 * 1024 * 1024;

/// The largest JSON body of an HTTP request, unless a route says otherwise.
pub const MAX_REQUEST_BODY_BYTES: usize = 1024 * 1024;

/// The largest body of a request for an action: 16 MiB of a file, in base64.
pub const MAX_ACTION_BODY_BYTES: usize = 23 * 1024 * 1024;

/// The longest path in a request.
pub const MAX_PATH_BYTES: usize = 4096;

/// The longest path of a project's folder: however it is escaped, the event that
/// opens it has an inline body.
pub const MAX_PROJECT_PATH_BYTES: usize = 1024;

/// How many events one page of `/api/audit` holds at most.
pub const MAX_AUDIT_PAGE_EVENTS: usize = 500;

/// The longest a token may live, in minutes: a year.
pub const MAX_TOKEN_MINUTES: u32 = 366 * 24 * 60;

/// How long a browser stays logged in, in minutes.
pub const BROWSER_LOGIN_MINUTES: u32 = 30 * 24 * 60;

/// How many login links may wait to be used. Asking for one more forgets the oldest.
pub const MAX_LOGIN_LINKS: usize = 16;

/// The longest idempotency key of a client.
pub const MAX_IDEMPOTENCY_KEY_BYTES: usize = 128;

/// The longest label, name or role in a request.
pub const MAX_NAME_BYTES: usize = 128;

/// How many lines of output a crash report holds at most: what a person reads.
pub const MAX_CRASH_LINES: usize = 200;

/// The longest line in a crash report, in bytes; the rest of it is cut off, so
/// that a report stays below half a megabyte.
pub const MAX_CRASH_LINE_BYTES: usize = 2 * 1024;

/// How many errors of a build are kept: whoever has more mends the first ones first.
pub const MAX_BUILD_DIAGNOSTICS: usize = 100;

/// The longest message of a build error, in bytes.
pub const MAX_BUILD_MESSAGE_BYTES: usize = 2 * 1024;

/// How many bytes one page of the runtime's log holds at most.
pub const MAX_LOG_PAGE_BYTES: usize = 256 * 1024;

/// How many bytes of the runtime's log are kept.
pub const LOG_RETAINED_BYTES: u64 = 16 * 1024 * 1024;

/// The longest frame from a terminal: a snapshot of a wide screen with all its
/// scrollback and a color in every cell is smaller.
pub const MAX_TERMINAL_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// The longest frame to a terminal: a large paste comes in several.
pub const MAX_TERMINAL_INPUT_BYTES: usize = 64 * 1024;

/// How much input may wait for a terminal's program; more is refused, never dropped.
pub const MAX_TERMINAL_PENDING_BYTES: usize = 1024 * 1024;

/// How many bytes of a terminal's output are kept, to go on from.
pub const TERMINAL_RING_BYTES: usize = 8 * 1024 * 1024;

/// How many lines above the screen a terminal keeps in cells.
pub const TERMINAL_SCROLLBACK_LINES: usize = 2000;

/// How many bytes a client may have received and not acknowledged: as much is
/// under way to one that keeps up, and one that does not is sent no more.
pub const TERMINAL_WINDOW_BYTES: u64 = 512 * 1024;

/// A client need not acknowledge more often than after so many bytes: every
/// acknowledgment is a message on the way of what is typed.
pub const TERMINAL_ACK_BYTES: u64 = TERMINAL_WINDOW_BYTES / 8;

/// A client further behind than this gets a fresh snapshot instead of the missing
/// bytes, which would take longer to draw.
pub const TERMINAL_RESYNC_BYTES: u64 = 256 * 1024;

/// The widest terminal. Cells cost memory.
pub const MAX_TERMINAL_COLS: u16 = 1000;

/// The tallest terminal.
pub const MAX_TERMINAL_ROWS: u16 = 500;

/// The longest title of a terminal, in bytes.
pub const MAX_TERMINAL_TITLE_BYTES: usize = 1024;

/// How long a ticket for a terminal is good, in seconds.
pub const TICKET_SECONDS: u64 = 30;

/// How many tickets may wait to be used. Asking for one more forgets the oldest.
pub const MAX_TICKETS: usize = 64;

/// The longest message in a conversation, in bytes. Longer texts are files.
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// How many messages may wait for their turn in one conversation.
pub const MAX_QUEUED_MESSAGES: usize = 16;

/// How much of what a tool returns a model is told, in bytes; the middle of more
/// is left out.
pub const MAX_TOOL_OUTPUT_BYTES: usize = 64 * 1024;

/// How many calls of one answer are carried out; more are told to come again.
pub const MAX_TOOL_CALLS: usize = 32;

/// The most text of a delta that is put together while the log is busy.
pub const MAX_DELTA_BYTES: usize = 32 * 1024;

/// The longest text of an answer, with its reasoning. One that goes on is cut there.
pub const MAX_COMPLETION_BYTES: usize = 8 * 1024 * 1024;

/// How many sessions may hand a task on, one below the other.
pub const MAX_HANDOFF_DEPTH: u8 = 3;

/// The longest title of a conversation, in characters.
pub const MAX_TITLE_CHARS: usize = 80;
