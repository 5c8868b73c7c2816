//! A client that waits for the answer to what it said.

use std::sync::Arc;

use provost_gateway::Operator;
use provost_proto::{Code, MessageId, SessionId};
use provost_runner::session::TurnPrompt;
use provost_store::StoreError;

use crate::Door;
use crate::problem::Failure;
use crate::talk::{Ended, Said, Talk};

/// What it hears. If it goes before the end, nobody wants the answer.
pub(super) struct Listener {
    talk: Talk,
    wanted: Wanted,
}

impl Listener {
    /// Says something. A client that goes while it is said has begun a turn as well.
    pub(super) async fn begin(
        door: &Arc<Door>,
        by: Operator,
        session: SessionId,
        prompt: TurnPrompt,
    ) -> Result<Self, Failure> {
        let door = Arc::clone(door);
        let saying = tokio::spawn(async move {
            let taken = door.runner.send_message(&by, session, prompt).await?;
            let talk = Talk::new(&door, &taken);
            let message = taken.sent.message;
            Ok(Self { talk, wanted: Wanted { door, session, message, is_over: false } })
        });
        let failed = |_| Failure::new(Code::Internal, "the message could not be said");
        saying.await.map_err(failed)?
    }

    /// The name of the answer.
    pub(super) fn id(&self) -> String {
        format!("chatcmpl-{}", self.wanted.message.uuid())
    }

    /// The next event of the turn; `None` after its end.
    pub(super) async fn next(&mut self) -> Result<Option<Said>, StoreError> {
        let mut said = self.talk.next().await?;
        let end = said.as_mut().map(|said| &mut said.end);
        // What is held back would wait on, and the client does not.
        if let Some(Some(Ended::Badly(problem))) = end
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
struct Wanted {
    door: Arc<Door>,
    session: SessionId,
    message: MessageId,
    is_over: bool,
}

impl Drop for Wanted {
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
