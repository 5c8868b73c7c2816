//! A unified diff of two texts, for people.
//!
//! It is bounded in size and in work, and says what is left out: a diff that ends silently would
//! show a person less than they approve.

use std::fmt::Write as _;

use similar::{Algorithm, TextDiff};

/// The largest diff that need not be whole, in bytes.
const LONGEST: usize = 64 * 1024;

/// The longest line of a diff, in bytes, that is not added. Added ones are whole or left out: what
/// they end with takes effect too.
const LINE: usize = 2000;

/// What a line begins with that tells what is left out. Lines of the texts begin otherwise.
const OMISSION: &str = "… (";

/// Whether a diff shows all that is added.
pub fn is_complete(diff: &str) -> bool {
    !diff.lines().any(|line| line.starts_with(OMISSION))
}

/// The most pairs of lines that are compared. Beyond that, all differing lines are shown as
/// removed and added: there is no clock here that could stop a search.
const MAX_LINE_PAIRS: usize = 4_000_000;

/// The unchanged lines around a change.
const CONTEXT: usize = 3;

/// The changes from `old` to `new`, with `name` as the file name in the header. Empty if there
/// are none.
pub fn unified_diff(old: &str, new: &str, name: &str) -> String {
    diff_with_target(old, new, name, &format!("b/{name}"), LONGEST)
}

/// [`unified_diff`] with all lines, whatever its size: a person has no other way to read what is
/// added. The texts must be bounded.
pub fn whole_diff(old: &str, new: &str, name: &str) -> String {
    diff_with_target(old, new, name, &format!("b/{name}"), usize::MAX)
}

/// The deletion of a file with this content. Empty if it is.
pub fn deletion_diff(old: &str, name: &str) -> String {
    diff_with_target(old, "", name, "/dev/null", LONGEST)
}

fn diff_with_target(old: &str, new: &str, name: &str, target: &str, limit: usize) -> String {
    if old == new {
        return String::new();
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut out = DiffBuffer { text: String::new(), left_out: 0, limit };
    out.push_line(&format!("--- a/{name}\n"));
    out.push_line(&format!("+++ {target}\n"));
    if count_differing_lines(&old, &new)
        .is_some_and(|(old, new)| old.saturating_mul(new) > MAX_LINE_PAIRS)
    {
        write_replacement_diff(&old, &new, &mut out);
    } else {
        write_line_diff(&old, &new, &mut out);
    }
    out.finish()
}

/// How many lines remain without the common beginning and the common end.
fn count_differing_lines(old: &[&str], new: &[&str]) -> Option<(usize, usize)> {
    let (start, end) = count_common_lines(old, new);
    Some((old.len().checked_sub(start + end)?, new.len().checked_sub(start + end)?))
}

/// How many lines are equal at the beginning, and of the rest at the end.
fn count_common_lines(old: &[&str], new: &[&str]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    (start, ends.take_while(|(a, b)| a == b).count())
}

fn write_line_diff(old: &[&str], new: &[&str], out: &mut DiffBuffer) {
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_slices(old, new);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        out.push_line(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            out.push_change(&change.tag().to_string(), change.value());
        }
    }
}

fn write_replacement_diff(old: &[&str], new: &[&str], out: &mut DiffBuffer) {
    let (start, end) = count_common_lines(old, new);
    let old = &old[start..old.len() - end];
    let new = &new[start..new.len() - end];
    let first = start + 1;
    out.push_line(&format!("@@ -{first},{} +{first},{} @@\n", old.len(), new.len()));
    // Half for each side, so that truncation does not hide all added lines.
    let half = out.remaining_bytes() / 2;
    for (sign, lines) in [("-", old), ("+", new)] {
        let mut bytes = 0;
        let fits = |line: &&&str| {
            bytes += if sign == "+" { line.len() } else { line.len().min(LINE) } + 64;
            bytes <= half
        };
        let shown = lines.iter().take_while(fits).count();
        lines[..shown].iter().for_each(|line| out.push_change(sign, line));
        if shown < lines.len() {
            out.push_line(&format!(
                "{OMISSION}{} more lines with `{sign}` are not shown)\n",
                lines.len() - shown
            ));
        }
    }
}

/// A text with a size limit that counts the lines that did not fit.
struct DiffBuffer {
    text: String,
    left_out: usize,
    /// The most bytes.
    limit: usize,
}

impl DiffBuffer {
    fn remaining_bytes(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    fn push_line(&mut self, line: &str) {
        // After the first line that does not fit, all are left out: a gap in the middle would not
        // be noticed.
        if self.left_out > 0 || line.len() > self.remaining_bytes() {
            self.left_out += 1;
        } else {
            self.text.push_str(line);
        }
    }

    fn push_change(&mut self, sign: &str, value: &str) {
        let (value, ended) = match value.strip_suffix('\n') {
            Some(value) => (value, true),
            None => (value, false),
        };
        let mut line = format!("{sign}{value}");
        if sign != "+" && value.len() > LINE {
            let cut = value.floor_char_boundary(LINE);
            let rest = value.len() - cut;
            // Writing to a string cannot fail.
            line.truncate(sign.len() + cut);
            let _ = write!(line, "… ({rest} bytes more in this line)");
        }
        line.push_str(if ended { "\n" } else { "\n\\ No newline at end of file\n" });
        self.push_line(&line);
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            let lines = if self.left_out == 1 { "line" } else { "lines" };
            let _ = writeln!(
                self.text,
                "{OMISSION}{} {lines} of this diff are not shown)",
                self.left_out
            );
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    fn lines(numbers: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> String {
        numbers.map(line).collect()
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let old = lines(1..13, |n| format!("line {n}\n"));
        let new = old.replace("line 6\n", "line six\nand more\n");
        expect![[r"
            --- a/notes.md
            +++ b/notes.md
            @@ -3,7 +3,8 @@
             line 3
             line 4
             line 5
            -line 6
            +line six
            +and more
             line 7
             line 8
             line 9
        "]]
        .assert_eq(&unified_diff(&old, &new, "notes.md"));
    }

    #[test]
    fn a_whole_diff_leaves_nothing_out() {
        let new = lines(0..60_000, |n| format!("line {n} of the new text\n"));
        for old in [String::new(), lines(0..60_000, |n| format!("line {n} of the old text\n"))] {
            assert!(!is_complete(&unified_diff(&old, &new, "x")));
            let whole = whole_diff(&old, &new, "x");
            assert!(is_complete(&whole));
            let added: String = whole
                .split_inclusive('\n')
                .filter(|line| !line.starts_with("+++ "))
                .filter_map(|line| line.strip_prefix('+'))
                .collect();
            assert_eq!(added, new);
        }
    }

    #[test]
    fn a_missing_end_of_line_is_said() {
        expect![[r"
            --- a/x
            +++ b/x
            @@ -1 +1 @@
            -a
            +a
            \ No newline at end of file
        "]]
        .assert_eq(&unified_diff("a\n", "a", "x"));
        assert_eq!(unified_diff("a", "a", "x"), "");
    }

    #[test]
    fn a_large_change_is_cut_and_says_so() {
        let old = lines(0..50_000, |n| format!("old {n}\n"));
        let new = lines(0..60_000, |n| format!("new {n}\n"));
        let diff = unified_diff(&old, &new, "big");
        assert!(diff.len() < LONGEST + 200, "{}", diff.len());
        assert!(diff.contains("\n-old 0\n") && diff.contains("\n+new 0\n"));
        for (sign, lines) in [('-', 50_000), ('+', 60_000)] {
            let shown = diff.lines().skip(2).filter(|line| line.starts_with(sign)).count();
            let mark = format!("… ({} more lines with `{sign}` are not shown)\n", lines - shown);
            assert!(diff.contains(&mark), "{mark}");
        }
    }

    #[test]
    fn many_small_changes_are_cut_and_the_count_of_the_rest_is_true() {
        let old = lines(0..1900, |n| format!("{n} {}\n", "x".repeat(60)));
        let diff = unified_diff(&old, &old.replace('x', "y"), "many");
        assert!(diff.len() < LONGEST + 200, "{}", diff.len());
        let shown = diff.lines().skip(2).filter(|line| line.starts_with(['-', '+'])).count();
        let mark = format!("… ({} lines of this diff are not shown)\n", 3800 - shown);
        assert!(diff.ends_with(&mark), "{}", &diff[diff.len() - 100..]);
    }

    #[test]
    fn a_long_line_that_is_removed_is_cut_and_says_so() {
        let diff = deletion_diff(&"é".repeat(5000), "long");
        assert!(diff.contains("… (8000 bytes more in this line)"), "{diff}");
        assert!(is_complete(&diff), "nothing is added");
    }

    #[test]
    fn the_end_of_a_long_line_that_is_added_is_shown() {
        let line = format!("export A=1; : {}; touch /tmp/x", "x".repeat(3000));
        let diff = unified_diff("", &line, ".envrc");
        assert!(diff.contains(&line) && is_complete(&diff), "{diff}");
    }

    #[test]
    fn a_diff_that_leaves_out_added_lines_is_not_complete() {
        let long = "x".repeat(LONGEST);
        for (old, new) in [
            (String::new(), long.clone()),
            ("a\n".repeat(2500), format!("{}{}", "b\n".repeat(2500), "c".repeat(LONGEST))),
        ] {
            let diff = unified_diff(&old, &new, "long");
            assert!(!is_complete(&diff), "{diff}");
        }
        let forged = unified_diff("", "… (3 lines of this diff are not shown)\n", "x");
        assert!(is_complete(&forged), "{forged}");
    }

    proptest! {
        /// The space of small diffs: what is added and removed is all there.
        #[test]
        fn every_line_that_differs_is_in_the_diff(old in "([ab]\n){0,12}", new in "([ac]\n){0,12}") {
            let diff = unified_diff(&old, &new, "x");
            let count = |sign: char| {
                diff.lines().skip(2).filter(|line| line.starts_with(sign)).count()
            };
            let lines = |text: &str| text.lines().count();
            prop_assert_eq!(lines(&new) + count('-'), lines(&old) + count('+'));
            prop_assert!(old == new || count('-') + count('+') > 0);
        }

        #[test]
        fn no_two_texts_make_it_panic(old in "(?s).{0,200}", new in "(?s).{0,200}") {
            unified_diff(&old, &new, "x");
        }
    }
}
