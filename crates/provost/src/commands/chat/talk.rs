//! A conversation at a terminal: prompt, turn, prompt.

use std::process::ExitCode;

use provost_proto::session::{FinishReason, SessionDetail};
use provost_runner::model::Usd;

use super::command::{HELP, Typed};
use super::end::{End, lacks};
use super::keyboard::Keyboard;
use super::leaving::Leaving;
use super::turn::{Begin, Chat, interrupts};
use super::waiting::{tell_held, tell_unsent};
use crate::commands::place::short;
use crate::output::{self, bold, faint, line, plain, plain_lines, remark};

/// What a person wants next.
enum Next {
    Turn(Begin),
    Again,
    Leave,
}

pub(super) async fn talk(mut chat: Chat, is_old: bool) -> anyhow::Result<ExitCode> {
    chat.greet();
    if is_old {
        chat.recall().await?;
    }
    let mut keyboard = Keyboard::start();
    let mut leaving = Leaving::listen()?;
    loop {
        let next = tokio::select! {
            biased;
            status = leaving.next() => return Ok(ExitCode::from(status)),
            next = chat.prompt(&mut keyboard) => next?,
        };
        let begin = match next {
            Next::Leave => {
                tell_unsent(keyboard.hold());
                return Ok(ExitCode::SUCCESS);
            }
            Next::Again => continue,
            Next::Turn(begin) => begin,
        };
        chat.keyboard = Some(keyboard);
        let end = chat.turn(begin, &mut leaving).await;
        // Whoever closed the input has said everything.
        let mut back = chat.keyboard.take();
        if let Some(status) = over(end, back.as_mut())? {
            return Ok(ExitCode::from(status));
        }
        let Some(back) = back else { return Ok(ExitCode::SUCCESS) };
        keyboard = back;
    }
}

/// Says how a turn ended; the status, if the person left meanwhile.
fn over(end: anyhow::Result<End>, keyboard: Option<&mut Keyboard>) -> anyhow::Result<Option<u8>> {
    match end {
        Ok(End::Well(reason)) => {
            if let Some((what, _)) = lacks(reason) {
                remark(what);
            }
            if reason == FinishReason::MaxTokens {
                remark(&faint("/continue goes on."));
            }
        }
        Ok(End::Badly { why, .. }) => remark(&plain_lines(&why)),
        Ok(End::Stopped { why, .. }) => {
            remark(&plain_lines(&why));
            tell_held(keyboard.map_or(&[], Keyboard::hold));
        }
        Ok(End::Held { .. }) => {
            remark(
                "the turn before was stopped, so that what you said waits (CANCELLED); \
                 /continue sends it, /drop takes it back",
            );
            tell_held(keyboard.map_or(&[], Keyboard::hold));
        }
        Ok(End::CutOff { why }) => remark(&format!("{}; /continue goes on", plain(&why))),
        Ok(End::Left(status)) => {
            tell_unsent(keyboard.map_or(&[], Keyboard::hold));
            return Ok(Some(status));
        }
        Err(error) if error.is::<output::Closed>() => return Err(error),
        Err(error) => remark(&plain_lines(&format!("{error:#}"))),
    }
    Ok(None)
}

impl Chat {
    fn greet(&self) {
        let id = short(&self.session.id.to_string());
        let (model, role) = (plain(&self.session.model), plain(&self.session.role));
        remark(&faint(&format!("{model} as `{role}`, session {id}. /help lists commands.")));
    }

    /// What the person types next.
    async fn prompt(&mut self, keyboard: &mut Keyboard) -> anyhow::Result<Next> {
        let mut interrupts = interrupts()?;
        output::bytes(bold("> ").as_bytes())?;
        let typed = tokio::select! {
            typed = keyboard.next() => typed,
            _ = interrupts.recv() => {
                tokio::select! {
                    stopped = self.stop_joined() => if stopped? { return Ok(Next::Again) },
                    _ = interrupts.recv() => return Ok(Next::Leave),
                }
                remark(&faint("\nCtrl-C again leaves."));
                tokio::select! {
                    typed = keyboard.next() => typed,
                    _ = interrupts.recv() => return Ok(Next::Leave),
                }
            }
        };
        let Some(typed) = typed else { return Ok(Next::Leave) };
        match Typed::read(&typed) {
            Typed::Say(_) if !keyboard.held.is_empty() => {
                // What waited comes first, as everywhere.
                keyboard.release(Some(typed));
            }
            Typed::Say(text) => return Ok(Next::Turn(Begin::Say(text))),
            Typed::Continue => {
                keyboard.release(None);
                return Ok(Next::Turn(Begin::GoOn));
            }
            Typed::Drop => self.take_back(keyboard).await?,
            Typed::Quit => return Ok(Next::Leave),
            Typed::Nothing => {}
            Typed::Help => line(HELP)?,
            Typed::Cancel => {
                if !self.stop_any().await? {
                    remark("Nothing goes on.");
                }
            }
            Typed::Cost => line(&self.cost().await?)?,
            Typed::Unknown(why) => remark(&plain(&why)),
            Typed::Role(role) => self.change(role, None).await,
            Typed::Model(model) => {
                let role = self.session.role.clone();
                self.change(role, Some(model)).await;
            }
        }
        Ok(Next::Again)
    }

    /// Goes on in a new session; the old one stays.
    async fn change(&mut self, role: String, model: Option<String>) {
        match super::open(&self.client, &self.project, role, model).await {
            Ok(session) => {
                self.session = session;
                self.greet();
            }
            Err(error) => remark(&plain_lines(&format!("{error:#}"))),
        }
    }

    /// What the session used and cost.
    pub(super) async fn cost(&self) -> anyhow::Result<String> {
        let path = format!("/api/sessions/{}", self.session.id.uuid());
        let SessionDetail { session, .. } = self.client.get(&path).await?;
        let usage = session.usage;
        Ok(format!(
            "{} tokens in ({} from a cache), {} out ({} for reasoning): {}",
            usage.input,
            usage.cached_input,
            usage.output,
            usage.reasoning,
            Usd::from_nanos(session.cost)
        ))
    }
}
