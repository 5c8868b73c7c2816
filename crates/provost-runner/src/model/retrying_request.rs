//! A request in progress, with its retries.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use provost_core::exact_json;
use reqwest::{Client, Response};

use super::api_key::redact_keys;
use super::model_client::{add_provider_headers, connection_error, format_error_chain};
use super::wire::strip_reasoning::strip_signed_reasoning;
use super::wire::{CompletionDecoder, EncodedRequest};
use super::{
    ModelError, ModelEvent, ModelOrigin, ModelTimeouts, Provider, RetryPolicy, WireFormat,
    http_response,
};

/// How long to read after the response is complete, so that the connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The provider of a request, and its retries and timeouts.
pub(super) struct ProviderTarget {
    pub(super) provider: Arc<Provider>,
    pub(super) origin: ModelOrigin,
    pub(super) retry: RetryPolicy,
    pub(super) timeouts: ModelTimeouts,
}

/// A request in progress.
pub(super) struct RetryingRequest {
    target: ProviderTarget,
    ready: Option<(Client, EncodedRequest)>,
    attempt: u32,
    /// Something was shown since the start or the last `Restarted`.
    was_shown: bool,
    /// What was shown comes from an attempt that failed.
    is_void: bool,
    queue: VecDeque<ModelEvent>,
    state: AttemptState,
}

enum AttemptState {
    Connect,
    Read(Response, Box<CompletionDecoder>),
    Backoff(Duration),
    Fail(ModelError),
    Drain(Response),
    Done,
}

impl RetryingRequest {
    /// A request that is about to be sent; one that cannot be sent fails at once.
    pub(super) fn new(
        target: ProviderTarget,
        ready: Result<(Client, EncodedRequest), ModelError>,
    ) -> Self {
        let (ready, state) = match ready {
            Ok(ready) => (Some(ready), AttemptState::Connect),
            Err(error) => (None, AttemptState::Fail(error)),
        };
        let (was_shown, is_void, queue) = (false, false, VecDeque::new());
        Self { target, ready, attempt: 1, was_shown, is_void, queue, state }
    }

    /// The next event. Runs inside the stream, which keeps it across polls, so that it
    /// may be awaited in a `select!` and nothing is lost.
    pub(super) async fn next(mut self) -> Option<(Result<ModelEvent, ModelError>, Self)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some((Ok(event), self));
            }
            match std::mem::replace(&mut self.state, AttemptState::Done) {
                AttemptState::Done => return None,
                AttemptState::Fail(error) => return Some((Err(error), self)),
                AttemptState::Backoff(wait) => {
                    tokio::time::sleep(wait).await;
                    self.state = AttemptState::Connect;
                }
                AttemptState::Connect => match self.send_request().await {
                    Ok(response) => {
                        let wire = self.target.provider.wire;
                        let decoder = Box::new(wire.decoder(self.target.origin.clone()));
                        self.state = AttemptState::Read(response, decoder);
                    }
                    Err(error) => self.handle_error(error),
                },
                AttemptState::Read(mut response, decoder) => {
                    let ModelTimeouts { idle, end, .. } = self.target.timeouts;
                    let patience = match (decoder.has_begun(), decoder.has_stopped()) {
                        (_, true) => end.min(idle),
                        (true, false) => idle,
                        (false, false) => self.first_chunk_timeout(),
                    };
                    match tokio::time::timeout(patience, response.chunk()).await {
                        Err(_) => self.handle_disconnect(*decoder, ModelError::Stalled(patience)),
                        Ok(Err(error)) => {
                            self.handle_disconnect(
                                *decoder,
                                ModelError::Truncated(format_error_chain(error)),
                            );
                        }
                        Ok(Ok(chunk)) => self.process_chunk(response, decoder, chunk),
                    }
                }
                AttemptState::Drain(response) => {
                    // The response is complete; further bytes change nothing.
                    drop(tokio::time::timeout(DRAIN_TIMEOUT, drain_response(response)).await);
                    return None;
                }
            }
        }
    }

    /// How long to wait for the first chunk.
    fn first_chunk_timeout(&self) -> Duration {
        let ProviderTarget { provider, timeouts, .. } = &self.target;
        let is_silent = provider.is_local || provider.wire == WireFormat::Gemini;
        if is_silent { timeouts.first_of_silent } else { timeouts.first }
    }

    async fn send_request(&self) -> Result<Response, ModelError> {
        let Some((client, encoded)) = &self.ready else {
            return Err(ModelError::Unsendable("the request was not encoded".to_owned()));
        };
        let address = format!("{}{}", self.target.provider.base, encoded.path);
        let mut request = add_provider_headers(client.post(address), &self.target.provider);
        for (name, value) in &encoded.headers {
            request = request.header(*name, value);
        }
        let request = request
            .header("accept", "text/event-stream")
            .header("content-type", "application/json")
            .body(exact_json::to_text(&encoded.body));
        let patience = self.first_chunk_timeout();
        let response = match tokio::time::timeout(patience, request.send()).await {
            Err(_) => return Err(ModelError::Stalled(patience)),
            Ok(sent) => sent.map_err(connection_error)?,
        };
        http_response::check_stream_response(response, self.target.timeouts.idle).await
    }

    fn process_chunk(
        &mut self,
        response: Response,
        mut decoder: Box<CompletionDecoder>,
        chunk: Option<Bytes>,
    ) {
        let mut events = Vec::new();
        let ended = chunk.is_none();
        if let Some(chunk) = chunk {
            let fed = decoder.push_bytes(&chunk, &mut events);
            self.enqueue_events(&mut events);
            if let Err(error) = fed {
                return self.handle_error(error);
            }
        }
        if !ended && !decoder.is_done() {
            self.state = AttemptState::Read(response, decoder);
            return;
        }
        let finished = decoder.finish(&mut events);
        self.enqueue_events(&mut events);
        match finished {
            Ok(()) if ended => self.state = AttemptState::Done,
            Ok(()) => self.state = AttemptState::Drain(response),
            Err(error) => self.handle_error(error),
        }
    }

    /// The connection broke, or no more data comes. If the stop reason was received before, the
    /// completion is complete and not requested again.
    fn handle_disconnect(&mut self, decoder: CompletionDecoder, why: ModelError) {
        let mut events = Vec::new();
        let finished = decoder.finish(&mut events);
        self.enqueue_events(&mut events);
        match finished {
            Ok(()) => self.state = AttemptState::Done,
            Err(_) => self.handle_error(why),
        }
    }

    /// Forwards events, with `Restarted` where what was shown before is void.
    fn enqueue_events(&mut self, events: &mut Vec<ModelEvent>) {
        for event in events.drain(..) {
            let counts = event.is_shown() || matches!(event, ModelEvent::End { .. });
            if counts && std::mem::take(&mut self.is_void) {
                self.was_shown = false;
                self.queue.push_back(ModelEvent::Restarted { attempt: self.attempt });
            }
            self.was_shown |= event.is_shown();
            self.queue.push_back(event);
        }
    }

    fn handle_error(&mut self, error: ModelError) {
        let error = error.map_message(|text| redact_keys(self.target.provider.secrets(), text));
        if error.is_rejected_reasoning()
            && let Some((_, encoded)) = &mut self.ready
            && strip_signed_reasoning(self.target.provider.wire, &mut encoded.body)
        {
            return self.schedule_retry(&error, Duration::ZERO);
        }
        let mut chance = [0];
        // Without randomness the delays have no jitter, which is no reason to fail.
        let chance = getrandom::fill(&mut chance).map_or(128, |()| chance[0]);
        // A server on this machine that does not listen is not running; waiting does not help.
        let is_gone = self.target.provider.is_local && matches!(error, ModelError::Connect(_));
        let wait = self.target.retry.backoff_delay(&error, self.attempt, chance);
        let Some(wait) = wait.filter(|_| !is_gone) else {
            self.state = AttemptState::Fail(error);
            return;
        };
        self.schedule_retry(&error, wait);
    }

    /// Schedules another attempt.
    fn schedule_retry(&mut self, error: &ModelError, wait: Duration) {
        tracing::info!(provider = %self.target.provider.name, attempt = self.attempt, %error, "retrying");
        self.attempt += 1;
        self.is_void = self.was_shown;
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let reason = error.to_string();
        self.queue.push_back(ModelEvent::Waiting {
            attempt: self.attempt,
            millis,
            reason,
            is_charged: error.is_charged(),
        });
        self.state = AttemptState::Backoff(wait);
    }
}

async fn drain_response(mut response: Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}
