//! Counts what the attempts of one completion used. Each attempt that a provider worked on is
//! paid for, whether it was finished, broke off or was cancelled: its input, and its output as
//! far as the provider reported it or as it was received.

use std::time::Duration;

use provost_core::session::budget::estimate_tokens;
use tokio::time::Instant;

use crate::model::{Completion, CompletionUsage, ModelEvent, ModelRequest};
use crate::session::error::TurnError;
use crate::session::history::completion_parts;
use crate::session::turn::request_completion::serialized_size;

/// What the attempts of one completion used.
pub(crate) struct AttemptMeter {
    /// The tokens of the request by estimate; `None` for a model that no provider charges for.
    input: Option<u64>,
    /// The last report of the current attempt.
    reported: CompletionUsage,
    /// Bytes of text, reasoning and calls in the current attempt.
    bytes: usize,
    /// When the current attempt starts; it uses nothing before.
    starts_at: Instant,
    ended: Vec<CompletionUsage>,
    is_estimated: bool,
}

impl AttemptMeter {
    pub(crate) fn new(request: &ModelRequest) -> Self {
        let is_script = request.model.starts_with("script/");
        Self {
            input: (!is_script).then(|| estimate_tokens(serialized_size(request))),
            reported: CompletionUsage::default(),
            bytes: 0,
            starts_at: Instant::now(),
            ended: Vec::new(),
            is_estimated: false,
        }
    }

    /// Counts an event. Returns what the attempt used if the event ends it.
    pub(crate) fn record_event(&mut self, event: &ModelEvent) -> Option<CompletionUsage> {
        match event {
            ModelEvent::TextDelta { text }
            | ModelEvent::ReasoningDelta { text }
            | ModelEvent::Refusal { text }
            | ModelEvent::ToolCallBegin { name: text, .. }
            | ModelEvent::ToolCallArguments { delta: text, .. } => self.bytes += text.len(),
            ModelEvent::Usage { usage } => self.reported = *usage,
            ModelEvent::Waiting { millis, is_charged, .. } => {
                let used = self.end_broken_attempt(*is_charged);
                self.starts_at = Instant::now() + Duration::from_millis(*millis);
                return used;
            }
            ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Restarted { .. }
            | ModelEvent::End { .. } => {}
        }
        None
    }

    /// Ends the last attempt. Returns what each attempt used, and whether any of it is an
    /// estimate.
    pub(crate) fn finish(
        mut self,
        end: Result<&Completion, &TurnError>,
    ) -> (Vec<CompletionUsage>, bool) {
        match end {
            Ok(answer) if answer.usage != CompletionUsage::default() => {
                self.ended.push(answer.usage);
            }
            Ok(answer) => {
                self.bytes = self.bytes.max(completion_parts::written_bytes(answer));
                self.end_broken_attempt(self.bytes > 0);
            }
            Err(TurnError::Model(error)) => {
                self.end_broken_attempt(error.is_charged());
            }
            Err(TurnError::Cancelled) => {
                self.end_broken_attempt(self.starts_at <= Instant::now());
            }
            Err(
                TurnError::UnknownModel(_)
                | TurnError::BudgetExceeded(_)
                | TurnError::UnknownPrice(_)
                | TurnError::Runner(_),
            ) => {
                self.end_broken_attempt(false);
            }
        }
        (self.ended, self.is_estimated)
    }

    /// Ends an attempt without its final report. What was received was paid for.
    fn end_broken_attempt(&mut self, is_charged: bool) -> Option<CompletionUsage> {
        let mut usage = std::mem::take(&mut self.reported);
        let bytes = std::mem::take(&mut self.bytes);
        let is_charged = is_charged || bytes > 0 || usage != CompletionUsage::default();
        let input = self.input.filter(|_| is_charged)?;
        let before = usage;
        if usage.input == 0 {
            usage.input = input;
        }
        // Some report one output token at the start of a stream and the rest at its end.
        usage.output = usage.output.max(estimate_tokens(bytes));
        if usage != before {
            self.is_estimated = true;
            // What the provider said that it costs is not all of it.
            usage.reported_usd = None;
        }
        self.ended.push(usage);
        Some(usage)
    }
}

/// The sum of what attempts used.
pub(crate) fn total_usage(attempts: &[CompletionUsage]) -> CompletionUsage {
    attempts.iter().fold(CompletionUsage::default(), |sum, one| CompletionUsage {
        input: sum.input.saturating_add(one.input),
        output: sum.output.saturating_add(one.output),
        cached_input: sum.cached_input.saturating_add(one.cached_input),
        cache_write: sum.cache_write.saturating_add(one.cache_write),
        reasoning: sum.reasoning.saturating_add(one.reasoning),
        // Costs are summed by attempt.
        reported_usd: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelError, ModelMessage};

    fn meter() -> AttemptMeter {
        AttemptMeter::new(&ModelRequest::new("p/m", vec![ModelMessage::user("x".repeat(4000))]))
    }

    fn text(n: usize) -> ModelEvent {
        ModelEvent::TextDelta { text: "x".repeat(n) }
    }

    fn usage(input: u64, output: u64) -> CompletionUsage {
        CompletionUsage { input, output, ..CompletionUsage::default() }
    }

    fn waiting(is_charged: bool) -> ModelEvent {
        ModelEvent::Waiting { attempt: 2, millis: 60_000, reason: String::new(), is_charged }
    }

    #[test]
    fn a_cancelled_attempt_pays_its_input_and_what_was_received() {
        let mut meter = meter();
        // As Anthropic reports at the start of a stream.
        meter.record_event(&ModelEvent::Usage { usage: usage(500, 1) });
        meter.record_event(&text(422));
        let (attempts, is_estimated) = meter.finish(Err(&TurnError::Cancelled));
        assert_eq!((attempts[0].input, is_estimated), (500, true));
        assert!(attempts[0].output >= 100, "{attempts:?}");
    }

    #[test]
    fn each_broken_attempt_pays_its_input() {
        let mut meter = meter();
        for _ in 0..4 {
            meter.record_event(&text(2000));
            assert!(meter.record_event(&waiting(true)).is_some());
        }
        meter.record_event(&text(2000));
        let broken = TurnError::Model(ModelError::Truncated(String::new()));
        let (attempts, is_estimated) = meter.finish(Err(&broken));
        let total = total_usage(&attempts);
        assert!(is_estimated && total.input >= 5 * 1000 && total.output >= 5 * 500, "{total:?}");
    }

    #[test]
    fn a_refused_attempt_and_one_that_has_not_started_pay_nothing() {
        let mut refused = meter();
        assert_eq!(refused.record_event(&waiting(false)), None);
        assert_eq!(refused.finish(Err(&TurnError::Cancelled)), (Vec::new(), false));
        let unreachable = TurnError::Model(ModelError::Connect(String::new()));
        assert_eq!(meter().finish(Err(&unreachable)), (Vec::new(), false));
    }
}
