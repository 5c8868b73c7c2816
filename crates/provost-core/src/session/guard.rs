//! Noticing a model that goes round in circles.

use provost_proto::Hash;

use crate::{canonical, chain};

/// How often the same may happen in a row before the model is told.
const TOLD: u32 = 3;

/// The calls of a turn, as far as they repeat.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    last: Option<Hash>,
    count: u32,
}

/// What a call was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Something new.
    New,
    /// The same as before, with the same result, for the third time.
    Again,
    /// And once more, though the model was told.
    Loop,
}

/// What the model is told.
pub const TELL: &str = "You have made this same call three times and got the same result. \
                        It will not change. Do something else, or say what is in your way.";

impl Guard {
    /// A call is over. Arguments are compared by what they mean, not by how they are
    /// spelled.
    pub fn see(&mut self, tool: &str, arguments: &str, output: &str) -> Seen {
        let meant = serde_json::from_str::<serde_json::Value>(arguments)
            .ok()
            .and_then(|value| canonical::to_vec(&value).ok())
            .unwrap_or_else(|| arguments.as_bytes().to_vec());
        let mut all = Vec::with_capacity(tool.len() + meant.len() + output.len() + 2);
        for part in [tool.as_bytes(), &meant, output.as_bytes()] {
            all.extend_from_slice(&(part.len() as u64).to_le_bytes());
            all.extend_from_slice(part);
        }
        let hash = chain::digest(&all);
        self.count = if self.last == Some(hash) { self.count.saturating_add(1) } else { 1 };
        self.last = Some(hash);
        match self.count {
            ..TOLD => Seen::New,
            TOLD => Seen::Again,
            _ => Seen::Loop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_same_call_is_told_and_the_fourth_is_a_loop() {
        let mut guard = Guard::default();
        let spellings = [r#"{"path":"a","b":1}"#, r#"{ "b": 1, "path": "a" }"#];
        let seen: Vec<_> =
            (0..4).map(|n| guard.see("fs.readFile", spellings[n % 2], "no such file")).collect();
        assert_eq!(seen, [Seen::New, Seen::New, Seen::Again, Seen::Loop]);
    }

    #[test]
    fn another_result_or_another_call_between_is_no_loop() {
        let mut guard = Guard::default();
        for n in 0..9 {
            assert_eq!(guard.see("t", "{}", &n.to_string()), Seen::New);
        }
        for _ in 0..9 {
            assert_eq!(guard.see("a", "{}", "x"), Seen::New);
            assert_eq!(guard.see("b", "{}", "x"), Seen::New);
        }
    }
}
