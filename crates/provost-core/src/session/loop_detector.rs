//! Detects a model that repeats its calls.

use provost_proto::Hash;

use crate::{canonical, hash_chain};

/// After how many repetitions the model is warned.
const WARN_AFTER: usize = 3;

/// After how many it is stopped: immediately after the warning for one call, later for a round of
/// calls, since a model that polls alternates between reading and waiting.
const STOP_AFTER: usize = 4;
const STOP_AFTER_ROUNDS: usize = 6;

/// The most calls in one round.
const MAX_ROUND_CALLS: usize = 8;

/// The recent calls of a turn.
#[derive(Debug, Clone, Default)]
pub struct LoopDetector {
    past: Vec<Hash>,
}

/// The classification of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRepetition {
    /// Not a repetition.
    New,
    /// The third time with the same result, alone or in a round of such calls.
    Repeated,
    /// Repeated again after the warning.
    Loop,
}

/// The warning for the model.
pub const LOOP_WARNING: &str = "You have made this same call three times and got the same result. \
                        It will not change. Do something else, or say what is in your way.";

impl LoopDetector {
    /// Records a finished call. Arguments are compared as JSON values, not as text.
    pub fn record_call(&mut self, tool: &str, arguments: &str, output: &str) -> CallRepetition {
        self.past.push(call_digest(tool, arguments, output));
        let seen = classify_call(self.past.len() - 1, |index| self.past.get(index));
        let known = MAX_ROUND_CALLS * STOP_AFTER_ROUNDS;
        self.past.drain(..self.past.len().saturating_sub(known));
        seen
    }

    /// Predicts the classification of a call while this many earlier ones are still running.
    pub fn predict_call(
        &self,
        ahead: usize,
        tool: &str,
        arguments: &str,
        output: &str,
    ) -> CallRepetition {
        let (own, index) = (call_digest(tool, arguments, output), self.past.len() + ahead);
        classify_call(index, |at| if at == index { Some(&own) } else { self.past.get(at) })
    }
}

fn call_digest(tool: &str, arguments: &str, output: &str) -> Hash {
    let canonical_arguments = serde_json::from_str::<serde_json::Value>(arguments)
        .ok()
        .and_then(|value| canonical::to_vec(&value).ok())
        .unwrap_or_else(|| arguments.as_bytes().to_vec());
    let mut all = Vec::with_capacity(tool.len() + canonical_arguments.len() + output.len() + 24);
    for part in [tool.as_bytes(), &canonical_arguments, output.as_bytes()] {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    }
    hash_chain::digest(&all)
}

/// Classifies the call at this index by the previous ones. Unfinished calls count as repetitions.
fn classify_call<'a>(index: usize, call: impl Fn(usize) -> Option<&'a Hash>) -> CallRepetition {
    let repeats = |round: usize, times: usize| {
        let back = round * (times - 1);
        back <= index
            && index + 1 >= round * times
            && (index + 1 - back..=index).all(|at| match (call(at), call(at - round)) {
                (Some(one), Some(other)) => one == other,
                (None, _) | (_, None) => at != index,
            })
    };
    let stopped = |round| repeats(round, if round == 1 { STOP_AFTER } else { STOP_AFTER_ROUNDS });
    if (1..=MAX_ROUND_CALLS).any(stopped) {
        CallRepetition::Loop
    } else if (1..=MAX_ROUND_CALLS).any(|round| repeats(round, WARN_AFTER)) {
        CallRepetition::Repeated
    } else {
        CallRepetition::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_same_call_is_told_and_the_fourth_is_a_loop() {
        let mut guard = LoopDetector::default();
        let spellings = [r#"{"path":"a","b":1}"#, r#"{ "b": 1, "path": "a" }"#];
        let seen: Vec<_> = (0..4)
            .map(|n| guard.record_call("fs.readFile", spellings[n % 2], "no such file"))
            .collect();
        assert_eq!(
            seen,
            [
                CallRepetition::New,
                CallRepetition::New,
                CallRepetition::Repeated,
                CallRepetition::Loop
            ]
        );
    }

    #[test]
    fn another_result_or_another_call_between_is_no_loop() {
        let mut guard = LoopDetector::default();
        for n in 0..9 {
            assert_eq!(guard.record_call("t", "{}", &n.to_string()), CallRepetition::New);
        }
        for n in 0..9 {
            assert_eq!(guard.record_call("check", "{}", "the same error"), CallRepetition::New);
            assert_eq!(guard.record_call("edit", &n.to_string(), "done"), CallRepetition::New);
        }
    }

    #[test]
    fn a_round_of_calls_that_comes_again_and_again_is_told_and_then_a_loop() {
        for calls in 2..=MAX_ROUND_CALLS {
            let mut guard = LoopDetector::default();
            for round in 1..=STOP_AFTER_ROUNDS {
                for call in 0..calls {
                    let seen = guard.record_call("t", &call.to_string(), "the same");
                    let last = call + 1 == calls;
                    let expected = match round {
                        ..WARN_AFTER => CallRepetition::New,
                        WARN_AFTER if !last => CallRepetition::New,
                        STOP_AFTER_ROUNDS if last => CallRepetition::Loop,
                        _ => CallRepetition::Repeated,
                    };
                    assert_eq!(seen, expected, "call {call} of {calls} in round {round}");
                }
            }
        }
    }

    #[test]
    fn calls_at_once_are_told_without_waiting_for_each_other() {
        let mut guard = LoopDetector::default();
        for round in 1..=3 {
            let foreseen =
                [0, 1].map(|call| guard.predict_call(call, "t", &call.to_string(), "the same"));
            let expected = if round == 3 { CallRepetition::Repeated } else { CallRepetition::New };
            assert_eq!(foreseen[1], expected, "round {round}");
            assert_eq!(
                guard.predict_call(1, "t", "1", "another"),
                CallRepetition::New,
                "round {round}"
            );
            for call in 0..2 {
                guard.record_call("t", &call.to_string(), "the same");
            }
        }
    }
}
