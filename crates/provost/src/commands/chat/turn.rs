//! One turn of a conversation: begun, followed to its end, and given up with the call
//! that began it.

use std::io;
use std::time::Duration;

use anyhow::Context as _;
use provost_proto::session::{SendMessageRequest, SendMessageResponse, SessionView};
use provost_proto::{Project, TurnId};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::end::{End, Which};
use super::keyboard::Keyboard;
use super::leaving::Leaving;
use crate::client::Client;
use crate::commands::events::newest;
use crate::output::{CLOSED, Closed, remark};

/// How long whoever leaves waits until the turn has ended. The daemon ends it anyway.
const GRACE: Duration = Duration::from_secs(5);

/// A conversation.
pub(super) struct Chat {
    pub(super) client: Client,
    pub(super) session: SessionView,
    pub(super) project: Project,
    pub(super) json: bool,
    /// Where a person types, if one does.
    pub(super) keyboard: Option<Keyboard>,
    /// The turn that went on when the person came, which somebody else began.
    pub(super) joined: Option<TurnId>,
}

/// What begins a turn.
pub(super) enum Begin {
    Say(String),
    GoOn,
}

/// What came of beginning one.
enum Begun {
    Turn(Which),
    /// Somebody left meanwhile, with this status.
    Left(u8),
}

impl Chat {
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/api/sessions/{}{rest}", self.session.id.uuid())
    }

    async fn begin(&self, begin: Begin) -> anyhow::Result<Which> {
        match begin {
            Begin::Say(text) => {
                let sent: SendMessageResponse =
                    self.client.post(&self.path("/messages"), &SendMessageRequest { text }).await?;
                Ok(Which { turn: sent.turn, message: Some(sent.message) })
            }
            Begin::GoOn => {
                let told: Value = self.client.post(&self.path("/continue"), &json!({})).await?;
                let turn = serde_json::from_value(told["turn"].clone());
                Ok(Which { turn: Some(turn.context("the daemon named no turn")?), message: None })
            }
        }
    }

    /// Ends the turn that this began, and no other; done when nothing of it runs.
    pub(super) async fn cancel(&self, which: &Which) -> anyhow::Result<()> {
        let Some(message) = which.message else {
            let _told: Value = self.client.post(&self.path("/cancel"), &json!({})).await?;
            return Ok(());
        };
        let path = self.path(&format!("/messages/{}/cancel", message.uuid()));
        self.client.tell(Method::POST, &path).await
    }

    /// The same for who leaves, and does not wait for long; tells whether it was done.
    async fn give_up(&self, which: &Which) -> bool {
        matches!(tokio::time::timeout(GRACE, self.cancel(which)).await, Ok(Ok(())))
    }

    /// The same for whom a signal ends, who reads what became of the turn.
    async fn end(&self, which: &Which) {
        let is_done = self.give_up(which).await;
        remark(match (is_done, which.turn) {
            (true, Some(_)) => "The turn was ended.",
            (true, None) => "What you said was taken back.",
            (false, _) => "The daemon did not answer; `provost sessions` shows what goes on.",
        });
    }

    /// Begins a turn, shows it as it comes, and answers what it asks. Whoever leaves
    /// before its end, or closes the output, wants no answer, and the turn ends too.
    pub(super) async fn turn(
        &mut self,
        begin: Begin,
        leaving: &mut Leaving,
    ) -> anyhow::Result<End> {
        let mut interrupts = interrupts()?;
        let after = newest(&self.client).await?;
        let mut which = match self.begun(begin, leaving).await? {
            Begun::Turn(which) => which,
            Begun::Left(status) => return Ok(End::Left(status)),
        };
        let status = tokio::select! {
            end = self.follow(after, &mut which, &mut interrupts) => match end {
                Err(error) if error.is::<Closed>() => CLOSED,
                // Nothing can be printed, so that nobody would hear the rest.
                Err(error) if error.is::<io::Error>() => {
                    self.give_up(&which).await;
                    return Err(error);
                }
                end => return end,
            },
            status = leaving.next() => {
                self.end(&which).await;
                return Ok(End::Left(status));
            }
        };
        self.give_up(&which).await;
        Ok(End::Left(status))
    }

    /// What was said when somebody leaves must be known, to be withdrawn.
    async fn begun(&self, begin: Begin, leaving: &mut Leaving) -> anyhow::Result<Begun> {
        let beginning = self.begin(begin);
        tokio::pin!(beginning);
        let status = tokio::select! {
            which = &mut beginning => return which.map(Begun::Turn),
            status = leaving.next() => status,
        };
        if let Ok(Ok(which)) = tokio::time::timeout(GRACE, beginning).await {
            self.end(&which).await;
        }
        Ok(Begun::Left(status))
    }
}

/// Every Ctrl-C from now on, also one that comes while something else is done.
pub(super) fn interrupts() -> anyhow::Result<Signal> {
    signal(SignalKind::interrupt()).context("cannot hear Ctrl-C")
}
