//! Sends a message for a client and follows its turn; cancels it if the client disconnects.

use std::sync::Arc;

use provost_gateway::Operator;
use provost_proto::{Code, MessageId, SessionId};
use provost_runner::session::TurnPrompt;
use provost_store::StoreError;

use crate::AppState;
use crate::api_error::ApiError;
use crate::stream::turn_cursor::{TurnCursor, TurnEnd, TurnEvent};

/// Follows the turn of one message. Dropping it before the end cancels the turn.
pub(super) struct CompletionListener {
    cursor: TurnCursor,
    cancel_guard: TurnCancelGuard,
}

impl CompletionListener {
    /// Sends the message. In a task of its own, so that a client that disconnects meanwhile
    /// leaves no turn without a guard.
    pub(super) async fn send_and_listen(
        app: &Arc<AppState>,
        by: Operator,
        session: SessionId,
        prompt: TurnPrompt,
    ) -> Result<Self, ApiError> {
        let app = Arc::clone(app);
        let sending = tokio::spawn(async move {
            let accepted = app.runner.send_message(&by, session, prompt).await?;
            let cursor = TurnCursor::new(&app, &accepted);
            let message = accepted.sent.message;
            Ok(Self {
                cursor,
                cancel_guard: TurnCancelGuard { app, session, message, is_over: false },
            })
        });
        let failed = |_| ApiError::new(Code::Internal, "cannot send the message");
        sending.await.map_err(failed)?
    }

    /// The id of the completion.
    pub(super) fn completion_id(&self) -> String {
        format!("chatcmpl-{}", self.cancel_guard.message.uuid())
    }

    /// The next event of the turn; `None` after its end.
    pub(super) async fn next(&mut self) -> Result<Option<TurnEvent>, StoreError> {
        let mut next = self.cursor.next().await?;
        let end = next.as_mut().map(|next| &mut next.end);
        // A held message would stay queued, but this client does not wait for it.
        if let Some(Some(TurnEnd::Failed(body))) = end
            && self.cursor.is_held()
        {
            match self
                .cancel_guard
                .app
                .runner
                .cancel_message(self.cancel_guard.session, self.cancel_guard.message)
                .await
            {
                Ok(()) => {
                    "the previous turn was cancelled, so this message was withdrawn"
                        .clone_into(&mut body.error);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot withdraw the message of a client that does not wait");
                }
            }
        }
        self.cancel_guard.is_over = next.as_ref().is_none_or(|next| next.end.is_some());
        Ok(next)
    }
}

/// Cancels the turn of the message, and no other, if dropped before it is over.
struct TurnCancelGuard {
    app: Arc<AppState>,
    session: SessionId,
    message: MessageId,
    is_over: bool,
}

impl Drop for TurnCancelGuard {
    fn drop(&mut self) {
        // A daemon that stops leaves its turns to be resumed.
        if self.is_over || self.app.closing.is_cancelled() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (app, session, message) = (Arc::clone(&self.app), self.session, self.message);
        runtime.spawn(async move {
            if let Err(error) = app.runner.cancel_message(session, message).await {
                tracing::debug!(%error, "cannot cancel the turn of a disconnected client");
            }
        });
    }
}
