//! Walking the hash chain.

use std::collections::HashMap;

use provost_core::chain::{self, Record};
use provost_core::fold::World;
use provost_proto::{AuditReport, BadEvent, Hash, Seq, Stream, Version};
use rusqlite::{Connection, Row};

use crate::StoreError;

/// Walks the log from the first event to the last and stops at the first that
/// is not what it was. Memory does not grow with the log, only with the number
/// of streams and of documents.
pub(super) fn walk(db: &mut Connection) -> Result<AuditReport, StoreError> {
    let step = db.transaction()?;
    let head: (Seq, Vec<u8>) =
        step.query_row("SELECT seq, hash FROM head", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut walk = Walk::default();
    let bad = {
        let mut all = step.prepare(
            "SELECT e.seq, s.name, e.hash, e.record FROM events e
             LEFT JOIN streams s ON s.id = e.stream ORDER BY e.seq",
        )?;
        let mut rows = all.query([])?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    if let Err(why) = walk.step(row) {
                        break Some(why);
                    }
                }
                Ok(None) => break walk.end(head.0, &head.1).err(),
                // SQLite itself cannot read the page any more.
                Err(error) => break Some(format!("it cannot be read: {error}")),
            }
        }
    };
    let bad = bad.map(|why| BadEvent { seq: walk.seq + 1, why });
    Ok(AuditReport { events: walk.seq, head: walk.hash, bad })
}

struct Walk {
    seq: Seq,
    hash: Hash,
    versions: HashMap<Stream, Version>,
    world: World,
}

impl Default for Walk {
    fn default() -> Self {
        Self { seq: 0, hash: Hash::ZERO, versions: HashMap::new(), world: World::default() }
    }
}

impl Walk {
    fn step(&mut self, row: &Row<'_>) -> Result<(), String> {
        let text = |error: rusqlite::Error| error.to_string();
        let seq: Seq = row.get(0).map_err(text)?;
        if seq != self.seq + 1 {
            return Err(format!("it is missing; the next one is event {seq}"));
        }
        let record = row.get_ref(3).map_err(text)?.as_blob().map_err(|_| "it is not bytes")?;
        let stored = row.get_ref(2).map_err(text)?.as_blob().map_err(|_| "it has no hash")?;
        let hash = chain::link(&self.hash, record);
        if stored != hash.as_bytes() {
            return Err("its bytes do not match its hash".to_owned());
        }
        let read = Record::read(record).map_err(|error| format!("it is not an event: {error}"))?;
        if read.seq != seq {
            return Err(format!("it says it is event {}", read.seq));
        }
        let stream = row.get_ref(1).map_err(text)?.as_str().unwrap_or_default();
        if read.stream.to_string() != stream {
            return Err(format!("it is filed under `{stream}` but belongs to {}", read.stream));
        }
        let version = self.versions.entry(read.stream).or_default();
        if read.version != *version + 1 {
            return Err(format!("it is version {} of {stream}, after {version}", read.version));
        }
        *version = read.version;
        (self.seq, self.hash) = (seq, hash);
        self.world.apply(&read.into_event(hash, hash));
        Ok(())
    }

    /// The log must end where its head says, or its tail was cut off.
    fn end(&self, seq: Seq, hash: &[u8]) -> Result<(), String> {
        if seq == self.seq && hash == self.hash.as_bytes() {
            Ok(())
        } else if seq > self.seq {
            Err(format!("the log ends here, but it once reached event {seq}"))
        } else {
            Err("the head of the log names another last event".to_owned())
        }
    }
}
