//! Reads the keyboard, and recognizes the keys that detach.
//!
//! Ctrl-\ and then `d` detaches. Ctrl-\ twice sends one; before any other key it
//! is sent unchanged.

use std::io::Read as _;

use tokio::sync::mpsc;

/// Buffered reads. A full channel stops the reader, and so the keyboard.
const KEY_CHANNEL_CAPACITY: usize = 16;

/// Ctrl-\.
const DETACH_PREFIX_KEY: u8 = 0x1c;

/// Reader of standard input.
#[derive(Debug)]
pub(super) struct KeyReader {
    typed: mpsc::Receiver<Vec<u8>>,
    prefix: DetachPrefix,
}

/// Keys that were typed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KeyInput {
    /// Bytes for the terminal.
    pub(super) keys: Vec<u8>,
    /// Whether the user detaches after these keys.
    pub(super) detaches: bool,
}

impl KeyReader {
    /// Reads in a separate thread, which ends with the process: a blocking read of a
    /// terminal cannot be cancelled.
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

    /// The next keys. A closed standard input detaches.
    pub(super) async fn next(&mut self) -> KeyInput {
        match self.typed.recv().await {
            Some(bytes) => self.prefix.parse_keys(&bytes),
            None => KeyInput { keys: Vec::new(), detaches: true },
        }
    }

    /// Discards the next keys; returns whether they detach.
    pub(super) async fn discard_next(&mut self) -> bool {
        self.next().await.detaches
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
                    typed.detaches = true;
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
    fn only_the_two_keys_together_detach() {
        let keys = |bytes: &[u8]| KeyInput { keys: bytes.to_vec(), detaches: false };
        let detaches = |bytes: &[u8]| KeyInput { keys: bytes.to_vec(), detaches: true };
        for (pieces, last) in [
            (&[&b"\x1cd"[..]][..], detaches(b"")),
            (&[b"\x1c", b"d"], detaches(b"")),
            (&[b"ls\r\x1cd more"], detaches(b"ls\r")),
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
