//! What takes the place of a mark in the words of a command, or follows them: the files
//! that `find` finds, what `xargs` reads.

use std::borrow::Cow;

use super::analyzer::CommandAnalyzer;
use crate::command::CommandInvocation;

/// What is read from elsewhere, and may be any path.
const UNKNOWN_INPUT_PATH: &str = "$input";

/// What a mark stands for while a command is read.
#[derive(Debug, Clone)]
pub(crate) struct PlaceholderValues {
    mark: String,
    places: Vec<String>,
}

impl PlaceholderValues {
    /// A mark that stands for these paths, which may have globs.
    pub(crate) fn from_paths(mark: &str, places: Vec<String>) -> Self {
        Self { mark: mark.to_owned(), places }
    }

    /// A mark that stands for whatever is read.
    pub(crate) fn from_input(mark: &str) -> Self {
        Self::from_paths(mark, vec![UNKNOWN_INPUT_PATH.to_owned()])
    }

    /// A word with each of the places in it, or as it is.
    fn substitute_into(&self, word: String) -> Vec<String> {
        let Some((before, after)) = word.split_once(&self.mark) else { return vec![word] };
        let one = |place: &String| {
            // `conf/**` and `.bak` behind it: a file in there whose name ends so.
            let ends = !after.is_empty() && !after.starts_with('/');
            let any = if ends && place.ends_with("**") { "/*" } else { "" };
            format!("{before}{place}{any}{after}")
        };
        self.places.iter().map(one).collect()
    }
}

impl CommandAnalyzer {
    /// The words behind the program, as far as it is known what they will be.
    pub(crate) fn substituted_arguments<'a>(
        &self,
        run: &'a CommandInvocation,
    ) -> Cow<'a, [String]> {
        let words = run.argv.get(1..).unwrap_or_default();
        let more = run.unknown.last() == Some(&run.argv.len());
        if self.filled.is_empty() && !more {
            return Cow::Borrowed(words);
        }
        let mut given = words.to_vec();
        for filled in &self.filled {
            given = given.into_iter().flat_map(|word| filled.substitute_into(word)).collect();
        }
        given.extend(more.then(|| UNKNOWN_INPUT_PATH.to_owned()));
        Cow::Owned(given)
    }

    /// Reads something while marks stand for these.
    pub(crate) fn with_placeholders(
        &mut self,
        marks: Vec<PlaceholderValues>,
        read: impl FnOnce(&mut Self),
    ) {
        let before = self.filled.len();
        self.filled.extend(marks);
        read(self);
        self.filled.truncate(before);
    }
}
