//! A Unix socket that only wakes its task for incoming data.
//!
//! Tokio also registers for write readiness, and a Unix socket becomes writable
//! each time the peer has read something. While a user types, each of these events
//! would wake a thread for nothing and compete with the program that shall respond.
//! So write readiness is requested only after a write would have blocked.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::{SendFlags, Shutdown};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// The sending half. Dropping it shuts down the write direction.
#[derive(Debug)]
pub(crate) struct SocketWriter {
    socket: OwnedFd,
}

/// Splits a socket into a receiver, polled like a pipe, and a writer.
pub(crate) fn split_socket(stream: UnixStream) -> io::Result<(pipe::Receiver, SocketWriter)> {
    let socket = OwnedFd::from(stream.into_std()?);
    let incoming = pipe::Receiver::from_owned_fd_unchecked(socket.try_clone()?)?;
    Ok((incoming, SocketWriter { socket }))
}

impl SocketWriter {
    /// Sends as much as possible without blocking; returns how many bytes.
    pub(crate) fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::send(&self.socket, bytes, flags)?)
    }

    /// Waits until the socket is writable.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        let end = self.socket.as_fd().try_clone_to_owned()?;
        pipe::Sender::from_owned_fd_unchecked(end)?.writable().await
    }

    /// Sends all bytes.
    pub(crate) async fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_send(bytes) {
                Ok(n_sent) => bytes = &bytes[n_sent..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Shuts down the write direction: the peer reads what was sent, then the end.
    pub(crate) fn shut_down(&self) {
        // Fails if the peer is gone, which does not matter.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
    }
}

impl Drop for SocketWriter {
    fn drop(&mut self) {
        self.shut_down();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn more_than_fits_is_sent_as_it_is_read_and_the_end_is_told() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let (mut incoming, outgoing) = split_socket(near).unwrap();
        far.write_all(b"asked").await.unwrap();
        let mut asked = [0; 5];
        incoming.read_exact(&mut asked).await.unwrap();
        assert_eq!(&asked, b"asked");
        let all: Vec<u8> = (0..4_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let expected = all.clone();
        let sending = tokio::spawn(async move { outgoing.send(&all).await });
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        assert!(read == expected, "{} bytes", read.len());
        sending.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_is_gone_is_noticed() {
        let (near, far) = UnixStream::pair().unwrap();
        let (_incoming, outgoing) = split_socket(near).unwrap();
        drop(far);
        let error = outgoing.send(b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
