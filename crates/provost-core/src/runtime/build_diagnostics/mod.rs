//! Extracts errors and warnings from the output of build tools.
//!
//! Tools use few formats: the location before the message on one line, the message first and the
//! location within the next lines, or the location first. Other lines are ignored; they remain in
//! the log.

mod diagnostic_line;
mod source_location;
#[cfg(test)]
mod tests;

use provost_proto::limits::{MAX_BUILD_DIAGNOSTICS, MAX_BUILD_MESSAGE_BYTES};
use provost_proto::runtime::{BuildDiagnostic, DiagnosticSeverity};

use super::ansi;
use diagnostic_line::{DiagnosticHeading, DiagnosticLine};
use source_location::SourceLocation;

/// The most lines between a message and its location.
const MAX_LOCATION_DISTANCE: usize = 6;

/// The extracted diagnostics.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildDiagnostics {
    /// The errors first, then the warnings, without duplicates: at most [`MAX_BUILD_DIAGNOSTICS`].
    pub errors: Vec<BuildDiagnostic>,
    /// How many more there were.
    pub omitted: u32,
}

/// Parses the output of a build.
pub fn parse_build_output(text: &str) -> BuildDiagnostics {
    let text = ansi::strip_ansi(text);
    let mut reader = DiagnosticReader::default();
    for line in text.lines() {
        reader.read_line(line.trim_end());
    }
    reader.finish()
}

#[derive(Default)]
struct DiagnosticReader {
    found: Vec<BuildDiagnostic>,
    /// A message whose location follows, and how many lines ago it was.
    message: Option<(DiagnosticSeverity, String, usize)>,
    /// A location whose message follows.
    location: Option<SourceLocation>,
    /// The file of the diagnostics that are listed below it.
    file: Option<String>,
    /// The last frame of a traceback.
    frame: Option<SourceLocation>,
}

impl DiagnosticReader {
    fn read_line(&mut self, line: &str) {
        if let Some((_, _, age)) = &mut self.message {
            *age += 1;
            if *age > MAX_LOCATION_DISTANCE {
                self.flush_message();
            }
        }
        match diagnostic_line::classify_line(line) {
            DiagnosticLine::Complete(severity, location, message) => {
                self.flush_message();
                self.add_diagnostic(severity, Some(location), message);
            }
            DiagnosticLine::Message(severity, message) => {
                self.flush_message();
                self.message = Some((severity, message.to_owned(), 0));
            }
            DiagnosticLine::Location(location) => {
                if let Some((severity, message, _)) = self.message.take() {
                    self.add_diagnostic(severity, Some(location), &message);
                }
            }
            DiagnosticLine::Heading(DiagnosticHeading::Location(location)) => {
                self.flush_message();
                self.location = Some(location);
            }
            DiagnosticLine::Heading(DiagnosticHeading::File(file)) => {
                self.file = Some(file.to_owned());
            }
            DiagnosticLine::Listed { severity, line, column, message } => {
                if let Some(file) = self.file.clone() {
                    let location = SourceLocation { file, line: Some(line), column: Some(column) };
                    self.add_diagnostic(severity, Some(location), message);
                }
            }
            DiagnosticLine::TracebackFrame(location) => self.frame = Some(location),
            DiagnosticLine::TracebackError(message) => {
                if let Some(location) = self.frame.take() {
                    self.add_diagnostic(DiagnosticSeverity::Error, Some(location), message);
                }
            }
            DiagnosticLine::Other => {
                if let Some(location) = self.location.take()
                    && !line.trim().is_empty()
                {
                    self.add_diagnostic(DiagnosticSeverity::Error, Some(location), line.trim());
                }
            }
        }
    }

    /// An error without a location is kept; a warning is not.
    fn flush_message(&mut self) {
        if let Some((severity, message, _)) = self.message.take()
            && severity == DiagnosticSeverity::Error
        {
            self.add_diagnostic(severity, None, &message);
        }
    }

    fn add_diagnostic(
        &mut self,
        severity: DiagnosticSeverity,
        location: Option<SourceLocation>,
        message: &str,
    ) {
        let mut end = message.len().min(MAX_BUILD_MESSAGE_BYTES);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let (file, line, column) = location.map_or((None, None, None), |location| {
            (Some(location.file), location.line, location.column)
        });
        let message = message[..end].trim().to_owned();
        let error = BuildDiagnostic { file, line, column, message, severity };
        if !self.found.contains(&error) {
            self.found.push(error);
        }
    }

    fn finish(mut self) -> BuildDiagnostics {
        self.flush_message();
        let mut errors = self.found;
        errors.sort_by_key(|error| error.severity == DiagnosticSeverity::Warning);
        let omitted = errors.len().saturating_sub(MAX_BUILD_DIAGNOSTICS);
        errors.truncate(MAX_BUILD_DIAGNOSTICS);
        BuildDiagnostics { errors, omitted: u32::try_from(omitted).unwrap_or(u32::MAX) }
    }
}
