//! A request on its way, through as many attempts as it takes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, Response};

use super::api_key::redact_keys;
use super::model_client::{add_provider_headers, connection_error, format_error_chain};
use super::wire::strip_reasoning::strip_signed_reasoning;
use super::wire::{CompletionDecoder, EncodedRequest};
use super::{
    ModelError, ModelEvent, ModelOrigin, ModelTimeouts, Provider, RetryPolicy, WireFormat,
    http_response,
};

/// How long to read on after the answer is complete, so that the connection can be
/// used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Whom a request is for, and how it gets there.
pub(super) struct ProviderTarget {
    pub(super) provider: Arc<Provider>,
    pub(super) origin: ModelOrigin,
    pub(super) retry: RetryPolicy,
    pub(super) timeouts: ModelTimeouts,
}

/// A request on its way.
pub(super) struct RetryingRequest {
    way: ProviderTarget,
    ready: Option<(Client, EncodedRequest)>,
    attempt: u32,
    /// Something was shown since the beginning or the last `Restarted`.
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
        way: ProviderTarget,
        ready: Result<(Client, EncodedRequest), ModelError>,
    ) -> Self {
        let (ready, state) = match ready {
            Ok(ready) => (Some(ready), AttemptState::Connect),
            Err(error) => (None, AttemptState::Fail(error)),
        };
        let (was_shown, is_void, queue) = (false, false, VecDeque::new());
        Self { way, ready, attempt: 1, was_shown, is_void, queue, state }
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
                        let wire = self.way.provider.wire;
                        let decoder = Box::new(wire.decoder(self.way.origin.clone()));
                        self.state = AttemptState::Read(response, decoder);
                    }
                    Err(error) => self.handle_error(error),
                },
                AttemptState::Read(mut response, decoder) => {
                    let ModelTimeouts { idle, end, .. } = self.way.timeouts;
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
                        Ok(Ok(piece)) => self.process_chunk(response, decoder, piece),
                    }
                }
                AttemptState::Drain(response) => {
                    // The answer is complete; whatever comes now changes nothing.
                    drop(tokio::time::timeout(DRAIN_TIMEOUT, drain_response(response)).await);
                    return None;
                }
            }
        }
    }

    /// How long to wait for the first piece.
    fn first_chunk_timeout(&self) -> Duration {
        let ProviderTarget { provider, timeouts, .. } = &self.way;
        let is_silent = provider.is_local || provider.wire == WireFormat::Gemini;
        if is_silent { timeouts.first_of_silent } else { timeouts.first }
    }

    async fn send_request(&self) -> Result<Response, ModelError> {
        let Some((client, encoded)) = &self.ready else {
            return Err(ModelError::Unsendable("there is nothing to send".to_owned()));
        };
        let address = format!("{}{}", self.way.provider.base, encoded.path);
        let mut request = add_provider_headers(client.post(address), &self.way.provider);
        for (name, value) in &encoded.headers {
            request = request.header(*name, value);
        }
        let request = request.header("accept", "text/event-stream").json(&encoded.body);
        let patience = self.first_chunk_timeout();
        let response = match tokio::time::timeout(patience, request.send()).await {
            Err(_) => return Err(ModelError::Stalled(patience)),
            Ok(sent) => sent.map_err(connection_error)?,
        };
        http_response::check_stream_response(response, self.way.timeouts.idle).await
    }

    fn process_chunk(
        &mut self,
        response: Response,
        mut decoder: Box<CompletionDecoder>,
        piece: Option<Bytes>,
    ) {
        let mut events = Vec::new();
        let ended = piece.is_none();
        if let Some(piece) = piece {
            let fed = decoder.push_bytes(&piece, &mut events);
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

    /// The connection broke, or nothing more comes. If the model had said before why it
    /// stopped, nothing is missing but an ornament, and what is complete is not asked for
    /// again.
    fn handle_disconnect(&mut self, decoder: CompletionDecoder, why: ModelError) {
        let mut events = Vec::new();
        let finished = decoder.finish(&mut events);
        self.enqueue_events(&mut events);
        match finished {
            Ok(()) => self.state = AttemptState::Done,
            Err(_) => self.handle_error(why),
        }
    }

    /// Passes events on, with a mark where what was shown before is void.
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
        let error = error.map_message(|text| redact_keys(self.way.provider.secrets(), text));
        if error.is_rejected_reasoning()
            && let Some((_, encoded)) = &mut self.ready
            && strip_signed_reasoning(self.way.provider.wire, &mut encoded.body)
        {
            return self.schedule_retry(&error, Duration::ZERO);
        }
        let mut chance = [0];
        // Without randomness the waits are not spread, which is no reason to fail.
        let chance = getrandom::fill(&mut chance).map_or(128, |()| chance[0]);
        // What does not listen on this machine is not running, and waiting starts nothing.
        let is_gone = self.way.provider.is_local && matches!(error, ModelError::Connect(_));
        let wait = self.way.retry.backoff_delay(&error, self.attempt, chance);
        let Some(wait) = wait.filter(|_| !is_gone) else {
            self.state = AttemptState::Fail(error);
            return;
        };
        self.schedule_retry(&error, wait);
    }

    /// Makes another attempt after a while.
    fn schedule_retry(&mut self, error: &ModelError, wait: Duration) {
        tracing::info!(provider = %self.way.provider.name, attempt = self.attempt, %error, "retrying");
        self.attempt += 1;
        self.is_void = self.was_shown;
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let reason = error.to_string();
        self.queue.push_back(ModelEvent::Waiting { attempt: self.attempt, millis, reason });
        self.state = AttemptState::Backoff(wait);
    }
}

async fn drain_response(mut response: Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}
