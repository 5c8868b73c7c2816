//! A minimal HTTP client: one `GET` to a server of the project.
//!
//! Hand-written, because it needs so little: one connection, one request, a response
//! that is cut off at a limit and at a deadline.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The largest response head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(in crate::host) enum HttpError {
    /// The connection failed or was closed.
    #[error("the connection failed: {0}")]
    Disconnected(#[from] io::Error),
    /// No response within the time limit.
    #[error("no response in time")]
    TimedOut,
    /// The response is not HTTP.
    #[error("the response is not HTTP")]
    NotHttp,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct HttpResponse {
    pub(in crate::host) status: u16,
    /// With lower-case names.
    pub(in crate::host) headers: Vec<(String, String)>,
    pub(in crate::host) body: Vec<u8>,
    /// Whether the body was longer than the limit.
    pub(in crate::host) truncated: bool,
}

impl HttpResponse {
    /// The first value of a header.
    pub(in crate::host) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Requests a path, and reads at most `limit` bytes of the body.
pub(in crate::host) async fn get(
    address: SocketAddr,
    path: &str,
    limit: usize,
    time_limit: Duration,
) -> Result<HttpResponse, HttpError> {
    timeout(time_limit, send_request(address, path, limit))
        .await
        .map_err(|_| HttpError::TimedOut)?
}

async fn send_request(
    address: SocketAddr,
    path: &str,
    limit: usize,
) -> Result<HttpResponse, HttpError> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{}\r\nUser-Agent: provost\r\n\
         Accept: text/html, */*;q=0.8\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n",
        address.port()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    let (mut response, body) = loop {
        if let Some(end) = find_bytes(&bytes, b"\r\n\r\n") {
            let response =
                parse_head(bytes.get(..end).unwrap_or_default()).ok_or(HttpError::NotHttp)?;
            // Informational responses such as `100 Continue` come first.
            if (100..200).contains(&response.status) {
                bytes.drain(..end + 4);
                continue;
            }
            break (response, bytes.split_off(end + 4));
        }
        let is_not_http = bytes.len() >= 5 && !bytes.starts_with(b"HTTP/");
        if bytes.len() > MAX_HEAD_BYTES || is_not_http {
            return Err(HttpError::NotHttp);
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(HttpError::NotHttp);
        }
    };
    let chunked =
        response.header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    let length = response.header("content-length").and_then(|value| value.parse().ok());
    let mut body = ResponseBody { bytes: body, chunked, length };
    while limit > 0 && !body.is_complete(limit) {
        if stream.read_buf(&mut body.bytes).await? == 0 {
            break;
        }
    }
    (response.body, response.truncated) = body.into_decoded(limit);
    Ok(response)
}

fn find_bytes(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn parse_head(bytes: &[u8]) -> Option<HttpResponse> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(HttpResponse { status, headers: headers.collect(), body: Vec::new(), truncated: false })
}

/// A body that is being read.
struct ResponseBody {
    bytes: Vec<u8>,
    chunked: bool,
    length: Option<usize>,
}

impl ResponseBody {
    /// Whether no more needs to be read.
    fn is_complete(&self, limit: usize) -> bool {
        if self.chunked {
            let (decoded, whole) = decode_chunked(&self.bytes);
            return whole || decoded.len() > limit;
        }
        self.bytes.len() > limit || self.length.is_some_and(|length| self.bytes.len() >= length)
    }

    fn into_decoded(self, limit: usize) -> (Vec<u8>, bool) {
        let mut body = if self.chunked { decode_chunked(&self.bytes).0 } else { self.bytes };
        let truncated = body.len() > limit;
        body.truncate(limit);
        (body, truncated)
    }
}

/// The content of the complete chunks, and whether the last chunk is among them.
fn decode_chunked(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut content = Vec::new();
    while let Some(end) = find_bytes(bytes, b"\r\n") {
        let line = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
        let size = line.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else { return (content, true) };
        if size == 0 {
            return (content, true);
        }
        let rest = bytes.get(end + 2..).unwrap_or_default();
        content.extend_from_slice(rest.get(..size.min(rest.len())).unwrap_or_default());
        bytes = rest.get(size.saturating_add(2)..).unwrap_or_default();
    }
    (content, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn fetch_from(raw: &'static [u8], limit: usize) -> Result<HttpResponse, HttpError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _n_read = stream.read(&mut request).await.unwrap();
            stream.write_all(raw).await.unwrap();
        });
        let response = get(address, "/", limit, Duration::from_secs(10)).await;
        server.await.unwrap();
        response
    }

    #[tokio::test]
    async fn responses_of_all_shapes_are_read() {
        for (raw, body, truncated) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..], "hello", false),
            (b"HTTP/1.0 200 OK\r\n\r\nto the end", "to the end", false),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\n\r\n",
                "abcde",
                false,
            ),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "", false),
            (b"HTTP/1.1 200 OK\r\n\r\nmuch more than is wanted", "much more ", true),
        ] {
            let response = fetch_from(raw, 10).await.unwrap();
            assert_eq!(String::from_utf8(response.body).unwrap(), body);
            assert_eq!(response.truncated, truncated, "{body}");
        }
    }

    #[tokio::test]
    async fn a_response_that_is_not_http_is_an_error() {
        for raw in [&b"SSH-2.0-x\r\n"[..], b"", b"HTTP/1.1 twohundred\r\n\r\n"] {
            let error = fetch_from(raw, 10).await.unwrap_err();
            assert!(matches!(error, HttpError::NotHttp), "{error}");
        }
    }
}
