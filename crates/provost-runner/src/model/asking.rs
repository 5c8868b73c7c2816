//! A request on its way, through as many attempts as it takes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Client, Response};

use super::key::scrub;
use super::transport::{connect, told, with_headers};
use super::wire::forget::forget;
use super::wire::{Decoder, Encoded};
use super::{ModelError, ModelEvent, Origin, Provider, Retry, Timeouts, Wire, answer};

/// How long to read on after the answer is complete, so that the connection can be
/// used again.
const LINGER: Duration = Duration::from_millis(200);

/// Whom a request is for, and how it gets there.
pub(super) struct Way {
    pub(super) provider: Arc<Provider>,
    pub(super) origin: Origin,
    pub(super) retry: Retry,
    pub(super) timeouts: Timeouts,
}

/// A request on its way.
pub(super) struct Asking {
    way: Way,
    ready: Option<(Client, Encoded)>,
    attempt: u32,
    /// Something was shown since the beginning or the last `Restarted`.
    was_shown: bool,
    /// What was shown comes from an attempt that failed.
    is_void: bool,
    queue: VecDeque<ModelEvent>,
    state: State,
}

enum State {
    Connect,
    Read(Response, Box<Decoder>),
    Wait(Duration),
    Fail(ModelError),
    Linger(Response),
    Over,
}

impl Asking {
    /// A request that is about to be sent; one that cannot be sent fails at once.
    pub(super) fn new(way: Way, ready: Result<(Client, Encoded), ModelError>) -> Self {
        let (ready, state) = match ready {
            Ok(ready) => (Some(ready), State::Connect),
            Err(error) => (None, State::Fail(error)),
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
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Fail(error) => return Some((Err(error), self)),
                State::Wait(wait) => {
                    tokio::time::sleep(wait).await;
                    self.state = State::Connect;
                }
                State::Connect => match self.connect().await {
                    Ok(response) => {
                        let wire = self.way.provider.wire;
                        let decoder = Box::new(wire.decoder(self.way.origin.clone()));
                        self.state = State::Read(response, decoder);
                    }
                    Err(error) => self.failed(error),
                },
                State::Read(mut response, decoder) => {
                    let Timeouts { idle, end, .. } = self.way.timeouts;
                    let patience = match (decoder.has_begun(), decoder.has_stopped()) {
                        (_, true) => end.min(idle),
                        (true, false) => idle,
                        (false, false) => self.patience(),
                    };
                    match tokio::time::timeout(patience, response.chunk()).await {
                        Err(_) => self.broken(*decoder, ModelError::Stalled(patience)),
                        Ok(Err(error)) => {
                            self.broken(*decoder, ModelError::Truncated(told(error)));
                        }
                        Ok(Ok(piece)) => self.read(response, decoder, piece),
                    }
                }
                State::Linger(response) => {
                    // The answer is complete; whatever comes now changes nothing.
                    drop(tokio::time::timeout(LINGER, drain(response)).await);
                    return None;
                }
            }
        }
    }

    /// How long to wait for the first piece.
    fn patience(&self) -> Duration {
        let Way { provider, timeouts, .. } = &self.way;
        let is_silent = provider.is_local || provider.wire == Wire::Gemini;
        if is_silent { timeouts.first_of_silent } else { timeouts.first }
    }

    async fn connect(&self) -> Result<Response, ModelError> {
        let Some((client, encoded)) = &self.ready else {
            return Err(ModelError::Unsendable("there is nothing to send".to_owned()));
        };
        let address = format!("{}{}", self.way.provider.base, encoded.path);
        let mut request = with_headers(client.post(address), &self.way.provider);
        for (name, value) in &encoded.headers {
            request = request.header(*name, value);
        }
        let request = request.header("accept", "text/event-stream").json(&encoded.body);
        let patience = self.patience();
        let response = match tokio::time::timeout(patience, request.send()).await {
            Err(_) => return Err(ModelError::Stalled(patience)),
            Ok(sent) => sent.map_err(connect)?,
        };
        answer::checked(response, self.way.timeouts.idle).await
    }

    fn read(&mut self, response: Response, mut decoder: Box<Decoder>, piece: Option<Bytes>) {
        let mut events = Vec::new();
        let ended = piece.is_none();
        if let Some(piece) = piece {
            let fed = decoder.feed(&piece, &mut events);
            self.take(&mut events);
            if let Err(error) = fed {
                return self.failed(error);
            }
        }
        if !ended && !decoder.is_done() {
            self.state = State::Read(response, decoder);
            return;
        }
        let finished = decoder.finish(&mut events);
        self.take(&mut events);
        match finished {
            Ok(()) if ended => self.state = State::Over,
            Ok(()) => self.state = State::Linger(response),
            Err(error) => self.failed(error),
        }
    }

    /// The connection broke, or nothing more comes. If the model had said before why it
    /// stopped, nothing is missing but an ornament, and what is complete is not asked for
    /// again.
    fn broken(&mut self, decoder: Decoder, why: ModelError) {
        let mut events = Vec::new();
        let finished = decoder.finish(&mut events);
        self.take(&mut events);
        match finished {
            Ok(()) => self.state = State::Over,
            Err(_) => self.failed(why),
        }
    }

    /// Passes events on, with a mark where what was shown before is void.
    fn take(&mut self, events: &mut Vec<ModelEvent>) {
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

    fn failed(&mut self, error: ModelError) {
        let error = error.map(|text| scrub(self.way.provider.secrets(), text));
        if error.is_about_reasoning()
            && let Some((_, encoded)) = &mut self.ready
            && forget(self.way.provider.wire, &mut encoded.body)
        {
            return self.again(&error, Duration::ZERO);
        }
        let mut chance = [0];
        // Without randomness the waits are not spread, which is no reason to fail.
        let chance = getrandom::fill(&mut chance).map_or(128, |()| chance[0]);
        // What does not listen on this machine is not running, and waiting starts nothing.
        let is_gone = self.way.provider.is_local && matches!(error, ModelError::Connect(_));
        let wait = self.way.retry.wait(&error, self.attempt, chance);
        let Some(wait) = wait.filter(|_| !is_gone) else {
            self.state = State::Fail(error);
            return;
        };
        self.again(&error, wait);
    }

    /// Makes another attempt after a while.
    fn again(&mut self, error: &ModelError, wait: Duration) {
        tracing::info!(provider = %self.way.provider.name, attempt = self.attempt, %error, "retrying");
        self.attempt += 1;
        self.is_void = self.was_shown;
        let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let reason = error.to_string();
        self.queue.push_back(ModelEvent::Waiting { attempt: self.attempt, millis, reason });
        self.state = State::Wait(wait);
    }
}

async fn drain(mut response: Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}
