//! What went wrong in a build, from what its tools printed.
//!
//! Tools say it in few ways: the place before the message on one line, the
//! message on one line and the place on one of the next, or the place first.
//! Whatever is not understood is no error here; it stays in the log.

mod line;
mod place;
#[cfg(test)]
mod tests;

use provost_proto::limits::{MAX_BUILD_DIAGNOSTICS, MAX_BUILD_MESSAGE_BYTES};
use provost_proto::runtime::{BuildDiagnostic, DiagnosticSeverity};

use super::ansi;
use line::{Heading, Said};
use place::Place;

/// How many lines after a message its place may stand.
const NEAR: usize = 6;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The errors first, then the warnings, each once: at most [`BUILD_ERRORS`].
    pub errors: Vec<BuildDiagnostic>,
    /// How many more there were.
    pub omitted: u32,
}

/// Reads what a build printed.
pub fn find(text: &str) -> Found {
    let text = ansi::plain(text);
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line.trim_end());
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    found: Vec<BuildDiagnostic>,
    /// A message whose place is to come, and how many lines ago it stood.
    message: Option<(DiagnosticSeverity, String, usize)>,
    /// A place whose message is to come.
    place: Option<Place>,
    /// A file under which its errors are listed.
    file: Option<String>,
    /// The last frame of a traceback.
    frame: Option<Place>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some((_, _, age)) = &mut self.message {
            *age += 1;
            if *age > NEAR {
                self.settle();
            }
        }
        match line::read(line) {
            Said::Whole(severity, place, message) => {
                self.settle();
                self.add(severity, Some(place), message);
            }
            Said::Message(severity, message) => {
                self.settle();
                self.message = Some((severity, message.to_owned(), 0));
            }
            Said::Arrow(place) => {
                if let Some((severity, message, _)) = self.message.take() {
                    self.add(severity, Some(place), &message);
                }
            }
            Said::Heading(Heading::Place(place)) => {
                self.settle();
                self.place = Some(place);
            }
            Said::Heading(Heading::File(file)) => self.file = Some(file.to_owned()),
            Said::Listed { severity, line, column, message } => {
                if let Some(file) = self.file.clone() {
                    let place = Place { file, line: Some(line), column: Some(column) };
                    self.add(severity, Some(place), message);
                }
            }
            Said::Frame(place) => self.frame = Some(place),
            Said::Raised(message) => {
                if let Some(place) = self.frame.take() {
                    self.add(DiagnosticSeverity::Error, Some(place), message);
                }
            }
            Said::Nothing => {
                if let Some(place) = self.place.take()
                    && !line.trim().is_empty()
                {
                    self.add(DiagnosticSeverity::Error, Some(place), line.trim());
                }
            }
        }
    }

    /// A message without a place is one all the same; a warning is not.
    fn settle(&mut self) {
        if let Some((severity, message, _)) = self.message.take()
            && severity == DiagnosticSeverity::Error
        {
            self.add(severity, None, &message);
        }
    }

    fn add(&mut self, severity: DiagnosticSeverity, place: Option<Place>, message: &str) {
        let mut end = message.len().min(MAX_BUILD_MESSAGE_BYTES);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let (file, line, column) =
            place.map_or((None, None, None), |place| (Some(place.file), place.line, place.column));
        let message = message[..end].trim().to_owned();
        let error = BuildDiagnostic { file, line, column, message, severity };
        if !self.found.contains(&error) {
            self.found.push(error);
        }
    }

    fn finish(mut self) -> Found {
        self.settle();
        let mut errors = self.found;
        errors.sort_by_key(|error| error.severity == DiagnosticSeverity::Warning);
        let omitted = errors.len().saturating_sub(MAX_BUILD_DIAGNOSTICS);
        errors.truncate(MAX_BUILD_DIAGNOSTICS);
        Found { errors, omitted: u32::try_from(omitted).unwrap_or(u32::MAX) }
    }
}
