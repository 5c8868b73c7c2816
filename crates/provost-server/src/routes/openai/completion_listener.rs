//! A client that waits for the answer to what it said.

use std::sync::Arc;

use provost_gateway::Operator;
use provost_proto::{Code, MessageId, SessionId};
use provost_runner::session::TurnPrompt;
use provost_store::StoreError;

use crate::AppState;
use crate::api_error::ApiError;
use crate::stream::turn_cursor::{TurnCursor, TurnEnd, TurnEvent};

/// What it hears. If it goes before the end, nobody wants the answer.
pub(super) struct CompletionListener {
    talk: TurnCursor,
    wanted: TurnCancelGuard,
}

impl CompletionListener {
    /// Says something. A client that goes while it is said has begun a turn as well.
    pub(super) async fn send_and_listen(
        door: &Arc<AppState>,
        by: Operator,
        session: SessionId,
        prompt: TurnPrompt,
    ) -> Result<Self, ApiError> {
        let door = Arc::clone(door);
        let saying = tokio::spawn(async move {
            let taken = door.runner.send_message(&by, session, prompt).await?;
            let talk = TurnCursor::new(&door, &taken);
            let message = taken.sent.message;
            Ok(Self { talk, wanted: TurnCancelGuard { door, session, message, is_over: false } })
        });
        let failed = |_| ApiError::new(Code::Internal, "the message could not be said");
        saying.await.map_err(failed)?
    }

    /// The name of the answer.
    pub(super) fn completion_id(&self) -> String {
        format!("chatcmpl-{}", self.wanted.message.uuid())
    }

    /// The next event of the turn; `None` after its end.
    pub(super) async fn next(&mut self) -> Result<Option<TurnEvent>, StoreError> {
        let mut said = self.talk.next().await?;
        let end = said.as_mut().map(|said| &mut said.end);
        // What is held back would wait on, and the client does not.
        if let Some(Some(TurnEnd::Failed(problem))) = end
            && self.talk.is_held()
        {
            match self
                .wanted
                .door
                .runner
                .cancel_message(self.wanted.session, self.wanted.message)
                .await
            {
                Ok(()) => {
                    "the turn before was stopped, so that this message was taken back"
                        .clone_into(&mut problem.error);
                }
                Err(error) => tracing::warn!(%error, "a message that nobody waits for stays"),
            }
        }
        self.wanted.is_over = said.as_ref().is_none_or(|said| said.end.is_some());
        Ok(said)
    }
}

/// Dropped before it is over, it ends the turn of the message, and no other.
struct TurnCancelGuard {
    door: Arc<AppState>,
    session: SessionId,
    message: MessageId,
    is_over: bool,
}

impl Drop for TurnCancelGuard {
    fn drop(&mut self) {
        // A daemon that stops leaves its turns to the next.
        if self.is_over || self.door.closing.is_cancelled() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (door, session, message) = (Arc::clone(&self.door), self.session, self.message);
        runtime.spawn(async move {
            if let Err(error) = door.runner.cancel_message(session, message).await {
                tracing::debug!(%error, "a turn that nobody waits for goes on");
            }
        });
    }
}
