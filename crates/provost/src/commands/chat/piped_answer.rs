//! An answer for a pipe: streamed text that is not repeated when an attempt restarts.

/// The text of one answer. What was written to a pipe cannot be taken back, so a new attempt
/// continues after the text that it repeats.
#[derive(Debug, Default)]
pub(super) struct PipedAnswer {
    /// Text of the current attempt.
    current: String,
    /// Text already written by an attempt that was aborted, until the current one is longer.
    aborted: String,
}

/// Text to write to the pipe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PipedChunk {
    pub(super) text: String,
    /// Whether the text before it is invalid, because this attempt differs.
    pub(super) is_restart: bool,
}

impl PipedAnswer {
    /// Adds text of the model.
    pub(super) fn push_text(&mut self, text: &str) -> PipedChunk {
        self.current.push_str(text);
        if self.aborted.is_empty() {
            return PipedChunk { text: text.to_owned(), is_restart: false };
        }
        if self.aborted.starts_with(&self.current) {
            return PipedChunk { text: String::new(), is_restart: false };
        }
        let aborted = std::mem::take(&mut self.aborted);
        match self.current.strip_prefix(&*aborted) {
            Some(more) => PipedChunk { text: more.to_owned(), is_restart: false },
            None => PipedChunk { text: format!("\n{}", self.current), is_restart: true },
        }
    }

    /// The attempt was aborted; the next text belongs to a new one.
    pub(super) fn restart_attempt(&mut self) {
        let current = std::mem::take(&mut self.current);
        if self.aborted.len() < current.len() {
            self.aborted = current;
        }
    }

    /// Ends the answer. If it is shorter than the aborted attempt, it is written again in full.
    pub(super) fn finish(&mut self) -> PipedChunk {
        let Self { current, aborted } = std::mem::take(self);
        if aborted.is_empty() || aborted == current || current.is_empty() {
            return PipedChunk { text: String::new(), is_restart: false };
        }
        PipedChunk { text: format!("\n{current}"), is_restart: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pipe holds after attempts of these chunks, and whether a part of it is invalid.
    fn piped(attempts: &[&[&str]]) -> (String, bool) {
        let (mut piped, mut all, mut is_restart) = (PipedAnswer::default(), String::new(), false);
        let mut pass = |chunk: PipedChunk| {
            all.push_str(&chunk.text);
            is_restart |= chunk.is_restart;
        };
        for (number, pieces) in attempts.iter().enumerate() {
            if number > 0 {
                piped.restart_attempt();
            }
            for piece in *pieces {
                pass(piped.push_text(piece));
            }
        }
        pass(piped.finish());
        (all, is_restart)
    }

    #[test]
    fn an_answer_that_restarts_is_written_once_if_it_repeats_itself() {
        let table: [(&str, &[&[&str]], &str, bool); 6] = [
            ("one attempt", &[&["one ", "two"]], "one two", false),
            (
                "the same again, and more",
                &[&["one ", "tw"], &["one", " two", " three"]],
                "one two three",
                false,
            ),
            (
                "aborted twice",
                &[&["one two"], &["one"], &["one two three"]],
                "one two three",
                false,
            ),
            ("something else", &[&["one "], &["two"]], "one \ntwo", true),
            (
                "something else later",
                &[&["one two"], &["one ", "three"]],
                "one two\none three",
                true,
            ),
            ("less", &[&["one two"], &["one"]], "one two\none", true),
        ];
        for (sentence, attempts, expected, is_restart) in table {
            assert_eq!(piped(attempts), (expected.to_owned(), is_restart), "{sentence}");
        }
    }
}
