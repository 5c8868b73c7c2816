//! Logging of the daemon and the kernels, with secrets redacted.

use std::io::{self, IsTerminal as _, Write};

use anyhow::Context;
use provost_core::redact::Redactor;
use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// Logs text to a terminal, and JSON to anything else.
pub(crate) fn init_stderr_logging(config: &Config) -> anyhow::Result<()> {
    let filter = &config.log.value;
    let filter = EnvFilter::try_new(filter).with_context(|| {
        format!("`{filter}` is not a log filter\nhint: use info, debug or provost=debug")
    })?;
    let redactor: &'static Redactor = Box::leak(Box::new(Redactor::new(&config.secrets)?));
    let to = move || RedactedStderr { redactor };
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(to);
    if io::stderr().is_terminal() {
        lines.with_target(false).init();
    } else {
        lines.json().flatten_event(true).with_ansi(false).init();
    }
    Ok(())
}

/// Redacts each message, which arrives in one write.
///
/// Write errors (full disk, closed reader) are ignored: tracing would report them to the
/// same standard error, and panic when that fails too.
struct RedactedStderr {
    redactor: &'static Redactor,
}

impl Write for RedactedStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        drop(io::stderr().write_all(&self.redactor.redact_bytes(line)));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        drop(io::stderr().flush());
        Ok(())
    }
}
