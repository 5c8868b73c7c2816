//! Placeholders in the words of a command: the files that `find` finds, the input of `xargs`.

use std::borrow::Cow;

use super::analyzer::CommandAnalyzer;
use crate::command::CommandInvocation;

/// Input that may be any path.
const UNKNOWN_INPUT_PATH: &str = "$input";

/// What a placeholder stands for.
#[derive(Debug, Clone)]
pub(crate) struct PlaceholderValues {
    mark: String,
    paths: Vec<String>,
}

impl PlaceholderValues {
    /// A placeholder for these paths, which may contain globs.
    pub(crate) fn from_paths(mark: &str, paths: Vec<String>) -> Self {
        Self { mark: mark.to_owned(), paths }
    }

    /// A placeholder for any input.
    pub(crate) fn from_input(mark: &str) -> Self {
        Self::from_paths(mark, vec![UNKNOWN_INPUT_PATH.to_owned()])
    }

    /// The word with each of the paths substituted, or unchanged.
    fn substitute_into(&self, word: String) -> Vec<String> {
        let Some((before, after)) = word.split_once(&self.mark) else { return vec![word] };
        let one = |path: &String| {
            // `conf/**` followed by `.bak`: a file in there with that suffix.
            let ends = !after.is_empty() && !after.starts_with('/');
            let any = if ends && path.ends_with("**") { "/*" } else { "" };
            format!("{before}{path}{any}{after}")
        };
        self.paths.iter().map(one).collect()
    }
}

impl CommandAnalyzer {
    /// The arguments of the program, with placeholders substituted.
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

    /// Runs an analysis with these placeholders.
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
