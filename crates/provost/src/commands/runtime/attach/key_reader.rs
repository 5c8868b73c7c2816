//! What is typed, and the one thing that is meant for us: how to leave.
//!
//! Ctrl-\ and then `d` detaches. Ctrl-\ twice types it once; before any other
//! key it is typed as it is.

use std::io::Read as _;

use tokio::sync::mpsc;

/// Pieces that may wait. One that waits makes the keyboard wait.
const KEY_CHANNEL_CAPACITY: usize = 16;

/// Ctrl-\.
const DETACH_PREFIX_KEY: u8 = 0x1c;

/// The keyboard.
#[derive(Debug)]
pub(super) struct KeyReader {
    typed: mpsc::Receiver<Vec<u8>>,
    prefix: DetachPrefix,
}

/// What somebody typed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KeyInput {
    /// For the terminal.
    pub(super) keys: Vec<u8>,
    /// Whether it was enough after that.
    pub(super) leaves: bool,
}

impl KeyReader {
    /// Reads in a thread of its own, which ends with us: nothing else can wait
    /// for a key and still be interrupted.
    pub(super) fn spawn() -> Self {
        let (to, typed) = mpsc::channel(KEY_CHANNEL_CAPACITY);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            let mut stdin = std::io::stdin().lock();
            while let Ok(n_read) = stdin.read(&mut buffer) {
                if n_read == 0 || to.blocking_send(buffer[..n_read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { typed, prefix: DetachPrefix::default() }
    }

    /// What is typed next. A keyboard that is gone has left.
    pub(super) async fn next(&mut self) -> KeyInput {
        match self.typed.recv().await {
            Some(bytes) => self.prefix.parse_keys(&bytes),
            None => KeyInput { keys: Vec::new(), leaves: true },
        }
    }

    /// Takes what is typed while nobody listens; tells whether it was to leave.
    pub(super) async fn discard_next(&mut self) -> bool {
        self.next().await.leaves
    }
}

/// Whether the last key was Ctrl-\.
#[derive(Debug, Default)]
struct DetachPrefix(bool);

impl DetachPrefix {
    fn parse_keys(&mut self, bytes: &[u8]) -> KeyInput {
        let mut typed = KeyInput::default();
        let keys = &mut typed.keys;
        for &byte in bytes {
            match (std::mem::take(&mut self.0), byte) {
                (true, b'd') => {
                    typed.leaves = true;
                    return typed;
                }
                (true, DETACH_PREFIX_KEY) => keys.push(DETACH_PREFIX_KEY),
                (false, DETACH_PREFIX_KEY) => self.0 = true,
                (true, _) => keys.extend([DETACH_PREFIX_KEY, byte]),
                (false, _) => keys.push(byte),
            }
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_keys_together_leave() {
        let keys = |bytes: &[u8]| KeyInput { keys: bytes.to_vec(), leaves: false };
        let leaves = |bytes: &[u8]| KeyInput { keys: bytes.to_vec(), leaves: true };
        for (pieces, last) in [
            (&[&b"\x1cd"[..]][..], leaves(b"")),
            (&[b"\x1c", b"d"], leaves(b"")),
            (&[b"ls\r\x1cd more"], leaves(b"ls\r")),
            (&[b"d"], keys(b"d")),
            (&[b"\x1c"], keys(b"")),
            (&[b"\x1c", b"\x1c"], keys(b"\x1c")),
            (&[b"\x1c\x1cd"], keys(b"\x1cd")),
            (&[b"\x1cx"], keys(b"\x1cx")),
        ] {
            let mut prefix = DetachPrefix::default();
            let read: Vec<_> = pieces.iter().map(|piece| prefix.parse_keys(piece)).collect();
            assert_eq!(read.last(), Some(&last), "{pieces:?}");
        }
    }
}
