//! Enforces the output limit against providers that ignore it.
//!
//! A server that ignores the limit would stream on at the user's cost. Only the provider can
//! count tokens, so a completion is cut only if it is too long by any count; one that turns out
//! too long at its end is marked as such.

use futures::StreamExt as _;
use futures::stream;

use super::{
    Completion, CompletionContent, CompletionItem, CompletionUsage, ModelError, ModelEvent,
    ModelOrigin, ModelStream, StopReason,
};

/// No model writes more bytes per token on average, except for short texts.
const MAX_BYTES_PER_TOKEN: usize = 8;

/// Allowance for short texts.
const EXTRA_BYTES: usize = 64;

/// A completion in progress.
struct OutputLimiter {
    /// Absent when reading has stopped.
    stream: Option<ModelStream>,
    origin: ModelOrigin,
    max_tokens: u32,
    /// Bytes that may still come.
    room: usize,
    /// The limit was exceeded.
    is_cut: bool,
    attempt: AttemptOutput,
}

/// The content of this attempt.
#[derive(Default)]
struct AttemptOutput {
    text: String,
    reasoning: String,
    bytes: usize,
    usage: CompletionUsage,
}

/// The stream, ended at the limit.
pub(super) fn limit_output(
    stream: ModelStream,
    origin: ModelOrigin,
    max_tokens: u32,
) -> ModelStream {
    let (stream, attempt) = (Some(stream), AttemptOutput::default());
    let limited = OutputLimiter {
        stream,
        origin,
        max_tokens,
        room: max_output_bytes(max_tokens),
        is_cut: false,
        attempt,
    };
    Box::pin(stream::unfold(limited, OutputLimiter::next))
}

fn max_output_bytes(max_tokens: u32) -> usize {
    usize::try_from(max_tokens)
        .unwrap_or(usize::MAX)
        .saturating_mul(MAX_BYTES_PER_TOKEN)
        .saturating_add(EXTRA_BYTES)
}

impl OutputLimiter {
    async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, Self)> {
        loop {
            if self.is_cut {
                // Dropping the stream closes the connection.
                self.stream = None;
                self.is_cut = false;
                let turn = Box::new(
                    std::mem::take(&mut self.attempt)
                        .into_truncated_completion(self.origin.clone()),
                );
                return Some((Ok(ModelEvent::End { turn }), self));
            }
            let event = match self.stream.as_mut()?.next().await? {
                Ok(event) => self.limit_event(event),
                Err(error) => return Some((Err(error), self)),
            };
            // A delta that did not fit may be empty now.
            if !is_empty_delta(&event) {
                return Some((Ok(event), self));
            }
        }
    }

    fn limit_event(&mut self, event: ModelEvent) -> ModelEvent {
        match event {
            ModelEvent::TextDelta { text } => {
                let text = self.truncate_delta(text);
                self.attempt.text.push_str(&text);
                ModelEvent::TextDelta { text }
            }
            ModelEvent::ReasoningDelta { text } => {
                let text = self.truncate_delta(text);
                self.attempt.reasoning.push_str(&text);
                ModelEvent::ReasoningDelta { text }
            }
            ModelEvent::ToolCallArguments { index, delta } => {
                ModelEvent::ToolCallArguments { index, delta: self.truncate_delta(delta) }
            }
            ModelEvent::Usage { usage } => {
                self.attempt.usage = usage;
                ModelEvent::Usage { usage }
            }
            event @ ModelEvent::Waiting { .. } => {
                self.attempt.usage = CompletionUsage::default();
                event
            }
            ModelEvent::Restarted { attempt } => {
                (self.attempt, self.room) =
                    (AttemptOutput::default(), max_output_bytes(self.max_tokens));
                ModelEvent::Restarted { attempt }
            }
            ModelEvent::End { mut turn } => {
                // Calls are executed; the turn checks what is left of the limit afterwards.
                let is_over = turn.usage.output > self.max_tokens.into();
                if is_over && matches!(turn.stop, StopReason::EndTurn | StopReason::StopSequence) {
                    turn.stop = StopReason::MaxTokens;
                }
                ModelEvent::End { turn }
            }
            event @ (ModelEvent::ToolCallBegin { .. }
            | ModelEvent::ToolCallEnd { .. }
            | ModelEvent::Refusal { .. }) => event,
        }
    }

    /// As much of a delta as fits.
    fn truncate_delta(&mut self, mut delta: String) -> String {
        let mut fits = delta.len().min(self.room);
        while !delta.is_char_boundary(fits) {
            fits -= 1;
        }
        self.is_cut = fits < delta.len();
        self.room -= fits;
        delta.truncate(fits);
        self.attempt.bytes = self.attempt.bytes.saturating_add(fits);
        delta
    }
}

fn is_empty_delta(event: &ModelEvent) -> bool {
    match event {
        ModelEvent::TextDelta { text } | ModelEvent::ReasoningDelta { text } => text.is_empty(),
        ModelEvent::ToolCallArguments { delta, .. } => delta.is_empty(),
        ModelEvent::ToolCallBegin { .. }
        | ModelEvent::ToolCallEnd { .. }
        | ModelEvent::Refusal { .. }
        | ModelEvent::Usage { .. }
        | ModelEvent::Waiting { .. }
        | ModelEvent::Restarted { .. }
        | ModelEvent::End { .. } => false,
    }
}

impl AttemptOutput {
    /// The truncated completion. Calls are dropped, since they could be incomplete.
    fn into_truncated_completion(self, origin: ModelOrigin) -> Completion {
        let Self { text, reasoning, bytes, mut usage } = self;
        if usage != CompletionUsage::default() {
            let estimate = provost_core::session::budget::estimate_tokens(bytes);
            usage.output = usage.output.max(estimate);
        }
        let mut items = Vec::new();
        if !reasoning.is_empty() {
            items.push(CompletionContent::Reasoning { text: reasoning });
        }
        if !text.is_empty() {
            items.push(CompletionContent::Text { text });
        }
        let items =
            items.into_iter().map(|content| CompletionItem { content, native: None }).collect();
        let (answered_by, response, native_usage) = (None, None, None);
        let stop = StopReason::MaxTokens;
        Completion { origin, items, stop, usage, answered_by, response, native_usage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> ModelOrigin {
        ModelOrigin { provider: "p".to_owned(), wire: None, model: "m".to_owned() }
    }

    fn word(text: &str) -> ModelEvent {
        ModelEvent::TextDelta { text: text.to_owned() }
    }

    fn end(output: u64, stop: StopReason) -> ModelEvent {
        let turn = AttemptOutput::default().into_truncated_completion(origin());
        let usage = CompletionUsage { output, ..CompletionUsage::default() };
        ModelEvent::End { turn: Box::new(Completion { stop, usage, ..turn }) }
    }

    async fn limited(events: Vec<ModelEvent>, max_tokens: u32) -> Vec<ModelEvent> {
        let stream: ModelStream = Box::pin(stream::iter(events.into_iter().map(Ok)));
        limit_output(stream, origin(), max_tokens).map(Result::unwrap).collect().await
    }

    fn ended(events: &[ModelEvent]) -> (String, StopReason) {
        let Some(ModelEvent::End { turn }) = events.last() else { panic!("no end: {events:?}") };
        (turn.text(), turn.stop.clone())
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_cut_where_it_is_too_long_by_any_count() {
        let events = limited(vec![word("é word"); 1000], 10).await;
        let (text, stop) = ended(&events);
        let room = 10 * MAX_BYTES_PER_TOKEN + EXTRA_BYTES;
        assert!(text.len() <= room && text.len() + 1 >= room, "{} of {room}", text.len());
        assert_eq!(stop, StopReason::MaxTokens);
        let mut shown = String::new();
        for event in &events {
            if let ModelEvent::TextDelta { text } = event {
                shown.push_str(text);
            }
        }
        assert_eq!(shown, text, "what is kept is what was shown");
    }

    #[tokio::test]
    async fn an_answer_that_was_too_long_says_so_and_any_other_is_as_it_was() {
        let (done, long) = (StopReason::EndTurn, StopReason::MaxTokens);
        for (output, stop, ends) in [
            (10, done.clone(), done.clone()),
            (11, done, long.clone()),
            (11, StopReason::ToolUse, StopReason::ToolUse),
            (11, StopReason::Refusal, StopReason::Refusal),
            (10, long.clone(), long),
        ] {
            let events = limited(vec![word("hi"), end(output, stop)], 10).await;
            assert_eq!((events.len(), ended(&events).1), (2, ends), "{output}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_begins_anew_has_all_of_its_room() {
        let words = vec![word(&"x".repeat(100)); 1];
        let again = ModelEvent::Restarted { attempt: 2 };
        let all = [words.clone(), vec![again], words, vec![end(3, StopReason::EndTurn)]].concat();
        let n_events = all.len();
        let events = limited(all, 10).await;
        assert_eq!((events.len(), ended(&events).1), (n_events, StopReason::EndTurn));
    }
}
