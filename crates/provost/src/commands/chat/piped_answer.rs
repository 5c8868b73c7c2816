//! What of an answer goes into a pipe: its text as it comes, and once.

/// The text of one answer, for a reader who cannot be told to forget something.
#[derive(Debug, Default)]
pub(super) struct PipedAnswer {
    /// What was said in the attempt that goes on.
    said: String,
    /// What was passed on of an attempt that broke off, until this one has said more.
    void: String,
}

/// What is passed on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PipedChunk {
    pub(super) text: String,
    /// The lines before it do not count.
    pub(super) anew: bool,
}

impl PipedAnswer {
    /// The model says something.
    pub(super) fn push_text(&mut self, text: &str) -> PipedChunk {
        self.said.push_str(text);
        if self.void.is_empty() {
            return PipedChunk { text: text.to_owned(), anew: false };
        }
        if self.void.starts_with(&self.said) {
            return PipedChunk { text: String::new(), anew: false };
        }
        let void = std::mem::take(&mut self.void);
        match self.said.strip_prefix(&*void) {
            Some(more) => PipedChunk { text: more.to_owned(), anew: false },
            None => PipedChunk { text: format!("\n{}", self.said), anew: true },
        }
    }

    /// The answer broke off and begins anew.
    pub(super) fn restart_attempt(&mut self) {
        let said = std::mem::take(&mut self.said);
        if self.void.len() < said.len() {
            self.void = said;
        }
    }

    /// The answer is over: what it said less than the one that broke off is said again.
    pub(super) fn finish(&mut self) -> PipedChunk {
        let Self { said, void } = std::mem::take(self);
        if void.is_empty() || void == said || said.is_empty() {
            return PipedChunk { text: String::new(), anew: false };
        }
        PipedChunk { text: format!("\n{said}"), anew: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pipe has after attempts of these pieces, and whether something in it is void.
    fn piped(attempts: &[&[&str]]) -> (String, bool) {
        let (mut piped, mut all, mut anew) = (PipedAnswer::default(), String::new(), false);
        let mut pass = |passed: PipedChunk| {
            all.push_str(&passed.text);
            anew |= passed.anew;
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
        (all, anew)
    }

    #[test]
    fn an_answer_that_begins_anew_is_passed_on_once_if_it_says_the_same() {
        let table: [(&str, &[&[&str]], &str, bool); 6] = [
            ("one attempt", &[&["one ", "two"]], "one two", false),
            (
                "the same again, and more",
                &[&["one ", "tw"], &["one", " two", " three"]],
                "one two three",
                false,
            ),
            (
                "broken off twice",
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
        for (sentence, attempts, expected, anew) in table {
            assert_eq!(piped(attempts), (expected.to_owned(), anew), "{sentence}");
        }
    }
}
