//! Noticing a model that goes round in circles.

use provost_proto::Hash;

use crate::{canonical, chain};

/// How often the same may happen in a row before the model is told.
const TOLD: usize = 3;

/// How often before it is stopped: one call at once after it was told; some together later,
/// since a model that waits for something looks and sleeps by turns.
const STOPPED: usize = 4;
const STOPPED_TOGETHER: usize = 6;

/// How many calls may make one round of a circle.
const ROUND: usize = 8;

/// The calls of a turn, as far back as they are looked at.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    past: Vec<Hash>,
}

/// What a call was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Something new.
    New,
    /// The same as before, with the same result, for the third time, alone or in a round of
    /// calls that all were.
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
        self.past.push(digest(tool, arguments, output));
        let seen = seen(self.past.len() - 1, |place| self.past.get(place));
        let known = ROUND * STOPPED_TOGETHER;
        self.past.drain(..self.past.len().saturating_sub(known));
        seen
    }

    /// What it will be, where so many calls before it were made with it and are not over.
    pub fn foresee(&self, ahead: usize, (tool, arguments): (&str, &str), output: &str) -> Seen {
        let (own, place) = (digest(tool, arguments, output), self.past.len() + ahead);
        seen(place, |at| if at == place { Some(&own) } else { self.past.get(at) })
    }
}

fn digest(tool: &str, arguments: &str, output: &str) -> Hash {
    let meant = serde_json::from_str::<serde_json::Value>(arguments)
        .ok()
        .and_then(|value| canonical::to_vec(&value).ok())
        .unwrap_or_else(|| arguments.as_bytes().to_vec());
    let mut all = Vec::with_capacity(tool.len() + meant.len() + output.len() + 24);
    for part in [tool.as_bytes(), &meant, output.as_bytes()] {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    }
    chain::digest(&all)
}

/// What the call at this place is, given those before it. Those that are not over yet count
/// as what they may become: the same again.
fn seen<'a>(place: usize, call: impl Fn(usize) -> Option<&'a Hash>) -> Seen {
    let repeats = |round: usize, times: usize| {
        let back = round * (times - 1);
        back <= place
            && place + 1 >= round * times
            && (place + 1 - back..=place).all(|at| match (call(at), call(at - round)) {
                (Some(one), Some(other)) => one == other,
                (None, _) | (_, None) => at != place,
            })
    };
    let stopped = |round| repeats(round, if round == 1 { STOPPED } else { STOPPED_TOGETHER });
    if (1..=ROUND).any(stopped) {
        Seen::Loop
    } else if (1..=ROUND).any(|round| repeats(round, TOLD)) {
        Seen::Again
    } else {
        Seen::New
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
        for n in 0..9 {
            assert_eq!(guard.see("check", "{}", "the same error"), Seen::New);
            assert_eq!(guard.see("edit", &n.to_string(), "done"), Seen::New);
        }
    }

    #[test]
    fn a_round_of_calls_that_comes_again_and_again_is_told_and_then_a_loop() {
        for calls in 2..=ROUND {
            let mut guard = Guard::default();
            for round in 1..=STOPPED_TOGETHER {
                for call in 0..calls {
                    let seen = guard.see("t", &call.to_string(), "the same");
                    let last = call + 1 == calls;
                    let expected = match round {
                        ..TOLD => Seen::New,
                        TOLD if !last => Seen::New,
                        STOPPED_TOGETHER if last => Seen::Loop,
                        _ => Seen::Again,
                    };
                    assert_eq!(seen, expected, "call {call} of {calls} in round {round}");
                }
            }
        }
    }

    #[test]
    fn calls_at_once_are_told_without_waiting_for_each_other() {
        let mut guard = Guard::default();
        for round in 1..=3 {
            let foreseen =
                [0, 1].map(|call| guard.foresee(call, ("t", &call.to_string()), "the same"));
            let expected = if round == 3 { Seen::Again } else { Seen::New };
            assert_eq!(foreseen[1], expected, "round {round}");
            assert_eq!(guard.foresee(1, ("t", "1"), "another"), Seen::New, "round {round}");
            for call in 0..2 {
                guard.see("t", &call.to_string(), "the same");
            }
        }
    }
}
