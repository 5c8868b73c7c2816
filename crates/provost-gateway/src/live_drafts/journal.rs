//! The journal of a draft: a file beside the log that holds what a completion has streamed.
//!
//! Each line is a record. A record is handed to the operating system by one write, without waiting
//! for the disk: as a buffered append to the log it survives the death of the daemon, not a power
//! failure. The last line may be incomplete; what follows an unreadable line is ignored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use provost_core::fold::{EventMetadata, ViewDocument, ViewKind, fold_fact};
use provost_proto::session::CompletionDraft;
use provost_proto::{Actor, Fact, LogCursor, MessageId, SessionId, TurnId};
use provost_store::StoreError;
use serde_json::{Value, json};

use super::LiveDraft;
use crate::GatewayError;

/// The folder with the journals of all sessions.
#[derive(Debug)]
pub(super) struct DraftJournals {
    folder: PathBuf,
}

/// The journal of one draft, open for writing.
#[derive(Debug)]
pub(super) struct JournalWriter {
    path: PathBuf,
    file: File,
}

/// What a completion had streamed when its daemon ended.
#[derive(Debug, Clone, PartialEq)]
pub struct JournaledDraft {
    /// The turn.
    pub turn: TurnId,
    /// The message that the completion was to become.
    pub message: MessageId,
    /// The last event of the log before the completion began.
    pub since: LogCursor,
    /// What it said, and how much each broken attempt had streamed.
    pub draft: CompletionDraft,
    /// How many times it was restarted.
    pub restarts: usize,
    path: PathBuf,
}

impl DraftJournals {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Begins the journal of a draft. An earlier one of its session stays, if what it holds could
    /// not be appended to the log.
    pub(super) fn create(&self, draft: &LiveDraft) -> Result<JournalWriter, GatewayError> {
        let (session, message) = (draft.session().uuid(), draft.message().uuid());
        let path = self.folder.join(format!("{session}.{message}.jsonl"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(&self.folder)
                    .map_err(|error| journal_error(&self.folder, &error))?;
                options.open(&path)
            }
            opened => opened,
        };
        let file = file.map_err(|error| journal_error(&path, &error))?;
        let mut journal = JournalWriter { path, file };
        let head = json!({
            "session": draft.session(),
            "turn": draft.turn(),
            "message": draft.message(),
            "since": draft.since(),
        });
        journal.write_line(head.to_string().into_bytes())?;
        Ok(journal)
    }

    /// All journals, in the order in which their drafts began.
    pub(super) fn read_all(&self) -> Result<Vec<JournaledDraft>, GatewayError> {
        let mut drafts = Vec::new();
        for path in self.list()? {
            let file = File::open(&path).map_err(|error| journal_error(&path, &error))?;
            match read_journal(&path, BufReader::new(file)) {
                Ok(Some(journaled)) => drafts.push(journaled),
                // The daemon ended before the first line was written.
                Ok(None) => {}
                Err(error) => return Err(journal_error(&path, &error)),
            }
        }
        // Ids are in order of creation.
        drafts.sort_by_key(|journaled| journaled.message);
        Ok(drafts)
    }

    pub(super) fn remove_all(&self) -> Result<(), GatewayError> {
        for path in self.list()? {
            remove_file(&path)?;
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<PathBuf>, GatewayError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(journal_error(&self.folder, &error)),
            Ok(entries) => entries,
        };
        let paths: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(|error| journal_error(&self.folder, &error))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        Ok(paths)
    }
}

impl JournaledDraft {
    /// Removes the journal, when what it holds is in the log.
    pub fn remove_journal(&self) -> Result<(), GatewayError> {
        remove_file(&self.path)
    }
}

impl JournalWriter {
    /// Appends a fact. When this returns, it survives the end of the daemon.
    pub(super) fn write_fact(&mut self, fact: &Fact) -> Result<(), GatewayError> {
        let line = serde_json::to_vec(fact);
        self.write_line(line.map_err(|error| StoreError::NotCanonical(error.to_string()))?)
    }

    fn write_line(&mut self, mut line: Vec<u8>) -> Result<(), GatewayError> {
        line.push(b'\n');
        self.file.write_all(&line).map_err(|error| journal_error(&self.path, &error))
    }

    /// What it holds is in the log.
    pub(super) fn remove(self) -> Result<(), GatewayError> {
        remove_file(&self.path)
    }
}

/// Reads a journal; `None` if it has no first line.
fn read_journal(path: &Path, reader: impl io::BufRead) -> io::Result<Option<JournaledDraft>> {
    let mut lines = reader.split(b'\n');
    let Some(head) = lines.next().transpose()? else { return Ok(None) };
    let head: Value = serde_json::from_slice(&head).unwrap_or_default();
    let (Ok(session), Ok(turn), Ok(message), Ok(since)) = (
        serde_json::from_value::<SessionId>(head["session"].clone()),
        serde_json::from_value(head["turn"].clone()),
        serde_json::from_value(head["message"].clone()),
        serde_json::from_value(head["since"].clone()),
    ) else {
        return Ok(None);
    };
    let metadata =
        EventMetadata { cursor: since, at: 0, principal: "", actor: &Actor::Daemon, command: None };
    let (mut doc, mut restarts) = (None, 0);
    for line in lines {
        let Ok(fact) = serde_json::from_slice::<Fact>(&line?) else { break };
        restarts += usize::from(matches!(fact, Fact::AttemptRestarted(_)));
        doc = fold_fact(ViewKind::Drafts, doc, metadata, &fact);
    }
    let draft = doc.and_then(ViewDocument::into_draft).unwrap_or_else(|| CompletionDraft {
        session,
        turn,
        reasoning: String::new(),
        text: String::new(),
        calls: Vec::new(),
        retrying: None,
        broken_attempts: Vec::new(),
    });
    let path = path.to_owned();
    Ok(Some(JournaledDraft { turn, message, since, draft, restarts, path }))
}

fn remove_file(path: &Path) -> Result<(), GatewayError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(journal_error(path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn journal_error(path: &Path, error: &io::Error) -> GatewayError {
    if error.kind() == io::ErrorKind::StorageFull {
        return StoreError::NoSpace.into();
    }
    StoreError::Io { path: path.to_owned(), why: error.to_string() }.into()
}
