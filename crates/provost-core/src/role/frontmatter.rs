//! The block between two lines `---`, and how its YAML is parsed.

use serde::de::DeserializeOwned;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

use super::RoleFault;

/// The longest frontmatter, in bytes.
pub(super) const LONGEST: usize = 16 * 1024;

/// The parts of a file; joined, they are the file, byte for byte.
#[derive(Debug)]
pub(super) struct FrontmatterParts<'a> {
    /// An optional byte order mark, and the first `---` with its line end.
    pub(super) head: &'a str,
    /// The lines between.
    pub(super) yaml: &'a str,
    /// Everything after the second `---`.
    pub(super) body: &'a str,
}

/// Splits a file.
pub(super) fn split(text: &str) -> Result<FrontmatterParts<'_>, (usize, RoleFault)> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let Some(first) = text[mark..].split_inclusive('\n').next().filter(|line| is_fence(line))
    else {
        return Err((1, RoleFault::NoFrontmatter));
    };
    let (head, rest) = text.split_at(mark + first.len());
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) {
            let (yaml, body) = (&rest[..end], &rest[end + line.len()..]);
            return Ok(FrontmatterParts { head, yaml, body });
        }
        end += line.len();
        if end > LONGEST {
            return Err((1, RoleFault::FrontmatterTooLarge));
        }
    }
    Err((1, RoleFault::FrontmatterNotClosed))
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t', '\r', '\n']) == "---"
}

/// Parses the YAML. A role needs no anchors, merge keys, tags, second document or deep nesting,
/// so they are refused; `no` is a string, not a boolean.
pub(super) fn parse_yaml<T: DeserializeOwned>(yaml: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2048,
            max_nodes: 1024,
            max_depth: 16,
            flow_nesting_limit: 16,
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_total_scalar_bytes: LONGEST,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(yaml, options)
}
