//! Removes known secrets from what is stored or streamed.
//!
//! [`Secrets`] are the known values; a [`Redactor`] finds them in their usual encodings and
//! replaces them by `[redacted: NAME]`. Overlapping matches become one mark, so that no part of a
//! secret remains beside another. Unknown values, and values in other encodings, are not found:
//! see `docs/reference/limits.md`.

mod action_secrets;
mod password_options;
mod secret_forms;
mod secrets;
mod stream_redactor;
mod token;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use serde_json::Value;

pub use action_secrets::find_action_secrets;
pub use secrets::Secrets;
pub use stream_redactor::StreamRedactor;
pub use token::contains_own_token;

/// So many first bytes of a secret tell something of it.
const TELLING_BYTES: usize = 4;

/// There are too many secrets, or too long ones, to search for.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the known secrets cannot be looked for: {0}; unset variables that hold none")]
pub struct TooManySecrets(String);

/// Finds secrets and replaces them by marks.
pub struct Redactor {
    /// The first patterns are the prefixes of Provost's tokens, the others are secrets.
    finder: AhoCorasick,
    /// The mark of each pattern.
    marks: Vec<Arc<str>>,
    /// The sorted patterns, to find an incomplete match.
    sorted: Vec<Box<[u8]>>,
    /// The first bytes of all patterns.
    begins: [bool; 256],
    longest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} patterns)", self.marks.len())
    }
}

/// The beginning of a text that was dealt with before.
#[derive(Clone, Copy, Default)]
struct WrittenBytes {
    /// These bytes are covered by a mark.
    covered: usize,
    /// These bytes were written as they are.
    shown: usize,
}

struct SecretMatch<'a> {
    start: usize,
    end: usize,
    mark: &'a str,
}

impl Redactor {
    /// A redactor for these secrets, and for Provost's own tokens.
    pub fn new(secrets: &Secrets) -> Result<Self, TooManySecrets> {
        let patterns = secrets.known().iter().flat_map(|known| {
            secret_forms::encode_forms(&known.value).into_iter().map(|form| (form, &known.name))
        });
        Self::from_patterns(patterns.map(|(form, name)| (form, name.as_str())))
    }

    fn from_patterns<'a>(
        secrets: impl IntoIterator<Item = (Vec<u8>, &'a str)>,
    ) -> Result<Self, TooManySecrets> {
        let mut patterns: Vec<Vec<u8>> =
            token::TOKEN_PREFIXES.iter().map(|head| head.to_vec()).collect();
        let mut marks: Vec<Arc<str>> = patterns.iter().map(|_| token::TOKEN_MARK.into()).collect();
        let mut known: HashSet<Vec<u8>> = patterns.iter().cloned().collect();
        for (pattern, name) in secrets {
            if !pattern.is_empty() && known.insert(pattern.clone()) {
                patterns.push(pattern);
                marks.push(format!("[redacted: {name}]").into());
            }
        }
        let finder =
            AhoCorasick::new(&patterns).map_err(|error| TooManySecrets(error.to_string()))?;
        let mut begins = [false; 256];
        for first in patterns.iter().filter_map(|pattern| pattern.first()) {
            begins[usize::from(*first)] = true;
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0).max(token::MAX_TOKEN_BYTES);
        let mut sorted: Vec<Box<[u8]>> =
            patterns.into_iter().skip(token::TOKEN_PREFIXES.len()).map(Into::into).collect();
        sorted.sort_unstable();
        Ok(Self { finder, marks, sorted, begins, longest })
    }

    /// A fast check; false only if there is certainly nothing to redact.
    pub fn may_contain_secret(&self, bytes: &[u8]) -> bool {
        self.finder.is_match(bytes)
    }

    /// The text without secrets.
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.try_redact(text.as_bytes()) {
            None => Cow::Borrowed(text),
            // Patterns are whole characters, so the rest is valid UTF-8 too.
            Some((bytes, _)) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The bytes without secrets.
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.try_redact(bytes).map_or(Cow::Borrowed(bytes), |(bytes, _)| Cow::Owned(bytes))
    }

    /// The bytes without secrets and the number of marks; `None` if there is nothing to redact.
    pub fn try_redact(&self, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
        if !self.may_contain_secret(bytes) {
            return None;
        }
        let mut out = Vec::with_capacity(bytes.len());
        let (_, n_marks) =
            self.write_redacted(bytes, bytes.len(), WrittenBytes::default(), &mut out);
        (n_marks > 0).then_some((out, n_marks))
    }

    /// How many bytes before and behind a piece are needed to redact it.
    pub fn max_match_bytes(&self) -> usize {
        self.longest
    }

    /// The pieces between these offsets without secrets, and the number of marks. A secret across
    /// several pieces becomes a mark in the first of them, and is removed from the others.
    pub fn redact_pieces(&self, bytes: &[u8], cuts: &[usize]) -> (Vec<Vec<u8>>, usize) {
        let hits =
            if self.may_contain_secret(bytes) { self.find_matches(bytes) } else { Vec::new() };
        let mut hits = hits.into_iter().peekable();
        let (mut pieces, mut done, mut n_marks) = (Vec::new(), WrittenBytes::default(), 0);
        for &cut in cuts {
            let cut = cut.min(bytes.len());
            let mut out = Vec::new();
            let before = std::iter::from_fn(|| hits.next_if(|hit| hit.start < cut));
            n_marks += write_with_marks(bytes, cut, before, &mut done, &mut out);
            pieces.push(out);
        }
        (pieces, n_marks)
    }

    /// Redacts all strings in a value, including member names; returns the number of marks.
    pub fn redact_json(&self, value: &mut Value) -> usize {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => self.redact_string(text),
            Value::Array(items) => items.iter_mut().map(|item| self.redact_json(item)).sum(),
            Value::Object(members) => {
                let mut n_marks = members.values_mut().map(|member| self.redact_json(member)).sum();
                if members.keys().any(|name| self.may_contain_secret(name.as_bytes())) {
                    let named = std::mem::take(members).into_iter();
                    *members = named
                        .map(|(mut name, member)| {
                            n_marks += self.redact_string(&mut name);
                            (name, member)
                        })
                        .collect();
                }
                n_marks
            }
        }
    }

    /// Redacts a string in place; returns the number of marks.
    pub fn redact_string(&self, text: &mut String) -> usize {
        let Some((bytes, n_marks)) = self.try_redact(text.as_bytes()) else { return 0 };
        *text = String::from_utf8_lossy(&bytes).into_owned();
        n_marks
    }

    /// All matches, the earliest first, the longest of those with the same start.
    fn find_matches(&self, bytes: &[u8]) -> Vec<SecretMatch<'_>> {
        let found = self.finder.find_overlapping_iter(bytes).filter_map(|found| {
            let index = found.pattern().as_usize();
            let is_head = index < token::TOKEN_PREFIXES.len();
            let end =
                if is_head { token::find_token_end(bytes, found.end())? } else { found.end() };
            Some(SecretMatch { start: found.start(), end, mark: self.marks.get(index)? })
        });
        let mut hits: Vec<_> = found.collect();
        hits.sort_by_key(|hit| (hit.start, Reverse(hit.end)));
        hits
    }

    /// Writes the bytes up to `cut` with marks for the matches that begin before it. Returns how
    /// many bytes behind `cut` are covered, and the number of marks.
    fn write_redacted(
        &self,
        bytes: &[u8],
        cut: usize,
        mut done: WrittenBytes,
        out: &mut Vec<u8>,
    ) -> (usize, usize) {
        let before = self.find_matches(bytes).into_iter().take_while(|hit| hit.start < cut);
        let n_marks = write_with_marks(bytes, cut, before, &mut done, out);
        (done.covered - cut, n_marks)
    }

    /// The start of the first match that may continue behind the end.
    fn find_incomplete_match(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest - 1);
        (first..bytes.len())
            .find(|&at| {
                self.begins[usize::from(bytes[at])] && self.is_incomplete_match(&bytes[at..])
            })
            .unwrap_or(bytes.len())
    }

    /// Whether this is a proper prefix of a pattern.
    fn is_incomplete_match(&self, tail: &[u8]) -> bool {
        self.is_incomplete_secret(tail) || token::is_incomplete_token(tail)
    }

    /// Whether the beginning of a match tells little of what is to be redacted.
    fn tells_little(&self, tail: &[u8]) -> bool {
        tail.len() < TELLING_BYTES
            || (token::is_incomplete_prefix(tail) && !self.is_incomplete_secret(tail))
    }

    fn is_incomplete_secret(&self, tail: &[u8]) -> bool {
        let at = self.sorted.partition_point(|pattern| **pattern < *tail);
        // The first of them may be the tail itself, which is complete.
        let mut near = self.sorted.iter().skip(at).take(2);
        near.any(|pattern| pattern.len() > tail.len() && pattern.starts_with(tail))
    }
}

/// Writes the bytes up to `cut` with marks for these matches, and advances `done` behind what was
/// written or is covered by a mark. Returns the number of marks.
fn write_with_marks<'r>(
    bytes: &[u8],
    cut: usize,
    hits: impl Iterator<Item = SecretMatch<'r>>,
    done: &mut WrittenBytes,
    out: &mut Vec<u8>,
) -> usize {
    let WrittenBytes { covered, shown } = done;
    let write = |from: usize, to: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(bytes.get(from.max(*shown)..to).unwrap_or_default());
    };
    let mut n_marks = 0;
    for hit in hits {
        if hit.start >= *covered {
            write(*covered, hit.start, out);
            out.extend_from_slice(hit.mark.as_bytes());
            n_marks += 1;
        }
        *covered = (*covered).max(hit.end);
    }
    if *covered < cut {
        write(*covered, cut, out);
        *covered = cut;
    }
    n_marks
}

#[cfg(test)]
mod tests;
