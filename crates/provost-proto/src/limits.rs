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
