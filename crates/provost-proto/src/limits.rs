//! The limits, in one place, each with its reason.

/// The largest event body kept inline. A longer one goes to the blob store and
/// is referenced, so that walking the log stays cheap.
pub const INLINE_BODY: usize = 4 * 1024;

/// The largest blob: what a request for an action may hold, and a little more.
/// Larger things do not belong into the log's database.
pub const BLOB: usize = 24 * 1024 * 1024;

/// The largest JSON body of an HTTP request, unless a route says otherwise.
pub const REQUEST_BODY: usize = 1024 * 1024;

/// The largest body of a request for an action: 16 MiB of a file, in base64.
pub const ACTION_BODY: usize = 23 * 1024 * 1024;

/// The longest path in a request.
pub const PATH: usize = 4096;

/// The longest path of a project's folder: however it is escaped, the event that
/// opens it has an inline body.
pub const PROJECT_PATH: usize = 1024;

/// How many events one page of `/api/audit` holds at most.
pub const AUDIT_PAGE: usize = 500;

/// The longest a token may live, in minutes: a year.
pub const TOKEN_MINUTES: u32 = 366 * 24 * 60;

/// How long a browser stays logged in, in minutes.
pub const BROWSER_MINUTES: u32 = 30 * 24 * 60;

/// How many login links may wait to be used. Asking for one more forgets the oldest.
pub const LOGIN_LINKS: usize = 16;

/// The longest idempotency key of a client.
pub const COMMAND_KEY: usize = 128;

/// The longest label, name or role in a request.
pub const NAME: usize = 128;

/// How many lines of output a crash report holds at most: what a person reads.
pub const CRASH_LINES: usize = 200;

/// The longest line in a crash report, in bytes; the rest of it is cut off, so
/// that a report stays below half a megabyte.
pub const CRASH_LINE: usize = 2 * 1024;

/// How many errors of a build are kept: whoever has more mends the first ones first.
pub const BUILD_ERRORS: usize = 100;

/// The longest message of a build error, in bytes.
pub const BUILD_MESSAGE: usize = 2 * 1024;

/// How many bytes one page of the runtime's log holds at most.
pub const LOG_PAGE: usize = 256 * 1024;

/// How many bytes of the runtime's log are kept.
pub const LOG_KEPT: u64 = 16 * 1024 * 1024;

/// The longest frame from a terminal: a snapshot of a wide screen with all its
/// scrollback and a color in every cell is smaller.
pub const TERMINAL_FRAME: usize = 16 * 1024 * 1024;

/// The longest frame to a terminal: a large paste comes in several.
pub const TERMINAL_INPUT: usize = 64 * 1024;

/// How much input may wait for a terminal's program; more is refused, never dropped.
pub const TERMINAL_WAITING: usize = 1024 * 1024;

/// How many bytes of a terminal's output are kept, to go on from.
pub const TERMINAL_RING: usize = 8 * 1024 * 1024;

/// How many lines above the screen a terminal keeps in cells.
pub const TERMINAL_SCROLLBACK: usize = 2000;

/// How many bytes a client may have received and not acknowledged: as much is
/// under way to one that keeps up, and one that does not is sent no more.
pub const TERMINAL_WINDOW: u64 = 512 * 1024;

/// A client need not acknowledge more often than after so many bytes: every
/// acknowledgment is a message on the way of what is typed.
pub const TERMINAL_ACK: u64 = TERMINAL_WINDOW / 8;

/// A client further behind than this gets a fresh snapshot instead of the missing
/// bytes, which would take longer to draw.
pub const TERMINAL_BEHIND: u64 = 256 * 1024;

/// The widest terminal. Cells cost memory.
pub const TERMINAL_COLS: u16 = 1000;

/// The tallest terminal.
pub const TERMINAL_ROWS: u16 = 500;

/// The longest title of a terminal, in bytes.
pub const TERMINAL_TITLE: usize = 1024;

/// How long a ticket for a terminal is good, in seconds.
pub const TICKET_SECONDS: u64 = 30;

/// How many tickets may wait to be used. Asking for one more forgets the oldest.
pub const TICKETS: usize = 64;

/// The longest message in a conversation, in bytes. Longer texts are files.
pub const MESSAGE: usize = 256 * 1024;

/// How many messages may wait for their turn in one conversation.
pub const QUEUED_MESSAGES: usize = 16;

/// How much of what a tool returns a model is told, in bytes; the middle of more
/// is left out.
pub const TOOL_OUTPUT: usize = 64 * 1024;

/// How many calls of one answer are carried out; more are told to come again.
pub const TOOL_CALLS: usize = 32;

/// The most text of a delta that is put together while the log is busy.
pub const DELTA: usize = 32 * 1024;

/// The longest text of an answer, with its reasoning. One that goes on is cut there.
pub const ANSWER: usize = 8 * 1024 * 1024;

/// How many sessions may hand a task on, one below the other.
pub const HANDOFFS: u8 = 3;

/// The longest title of a conversation, in characters.
pub const TITLE: usize = 80;
