//! Every error code is described in the reference, with its status.

use std::fs;

use anyhow::Result;
use provost_proto::Code;

use crate::shell::root;

/// The document that describes the codes.
const REFERENCE: &str = "docs/reference/http.md";

pub(crate) fn check() -> Result<Vec<String>> {
    let document = fs::read_to_string(root().join(REFERENCE))?;
    let missing =
        Code::ALL.iter().filter(|code| !describes(&document, code.as_str(), code.status()));
    Ok(missing
        .map(|code| format!("{REFERENCE} does not describe `{code}` with status {}", code.status()))
        .collect())
}

/// Whether a row of a table names the code in its first column and the status in its second.
fn describes(document: &str, code: &str, status: u16) -> bool {
    let mut rows = document.lines().filter_map(|line| {
        let mut columns = line.strip_prefix("| ")?.split(" | ");
        Some((columns.next()?, columns.next()?))
    });
    rows.any(|(codes, number)| codes.contains(&format!("`{code}`")) && number == status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_described_by_a_row_with_its_status() {
        let document = "text about `NOT_HERE`\n\n| code | status | meaning |\n|---|--:|---|\n\
                        | `ONE`, `TWO` | 409 | either |\n";
        assert!(describes(document, "ONE", 409));
        assert!(describes(document, "TWO", 409));
        assert!(!describes(document, "TWO", 404));
        assert!(!describes(document, "NOT_HERE", 409));
    }
}
