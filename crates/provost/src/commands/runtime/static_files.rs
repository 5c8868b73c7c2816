//! `provost static`: serves the files of a folder. The kernel starts it in the sandbox
//! for projects that consist of static pages.
//!
//! A path is resolved component by component below an open directory, and links are not
//! followed, so no path leaves the folder. (The sandbox blocks `openat2`, which would do
//! it in one call.)

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use tokio::net::TcpListener;

use crate::args::StaticArgs;
use crate::output::print_line;

/// Bytes per chunk of a response.
const CHUNK_SIZE: usize = 64 * 1024;

pub(crate) async fn run(args: StaticArgs) -> anyhow::Result<ExitCode> {
    let root_name = args.root.display().to_string();
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(&args.root, flags, Mode::empty())
        .with_context(|| format!("cannot open the folder {root_name}"))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .await
        .with_context(|| format!("cannot listen on port {}", args.port))?;
    let address = listener.local_addr()?;
    print_line(&format!("Serving {root_name} on http://{address}/"))?;
    let router = axum::Router::new().fallback(handle_request).with_state(Arc::new(root));
    axum::serve(listener, router).await?;
    Ok(ExitCode::SUCCESS)
}

async fn handle_request(State(root): State<Arc<OwnedFd>>, request: Request) -> Response {
    let head = request.method() == Method::HEAD;
    if !head && request.method() != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response();
    }
    let path = request.uri().path();
    let Some(name) = decode_path(path) else { return not_found_response() };
    match open_entry(&root, &name) {
        Ok(StaticEntry::File(file)) => file_response(file, Path::new(&name), head),
        Ok(StaticEntry::Folder) if !path.ends_with('/') => {
            (StatusCode::MOVED_PERMANENTLY, [(LOCATION, format!("{path}/"))]).into_response()
        }
        Ok(StaticEntry::Folder) => {
            let index = format!("{name}index.html");
            match open_entry(&root, &index) {
                Ok(StaticEntry::File(file)) => file_response(file, Path::new(&index), head),
                Ok(StaticEntry::Folder) | Err(_) => not_found_response(),
            }
        }
        Err(_) => not_found_response(),
    }
}

enum StaticEntry {
    File(File),
    Folder,
}

/// Opens the file or folder at a path below the root.
fn open_entry(root: &OwnedFd, path: &str) -> io::Result<StaticEntry> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let Some((last, folders)) = names.split_last() else { return Ok(StaticEntry::Folder) };
    let mut folder = root.try_clone()?;
    for name in folders {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = openat(&folder, *name, flags, Mode::empty())?;
    }
    // `NONBLOCK`: opening a FIFO must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let found = openat(&folder, *last, flags, Mode::empty())?;
    let kind = FileType::from_raw_mode(fstat(&found)?.st_mode);
    if kind.is_dir() {
        Ok(StaticEntry::Folder)
    } else if kind.is_file() && !path.ends_with('/') {
        Ok(StaticEntry::File(File::from(found)))
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn file_response(file: File, path: &Path, head: bool) -> Response {
    let size = file.metadata().map(|found| found.len()).unwrap_or_default();
    let headers = [
        (CONTENT_TYPE, content_type(path).to_owned()),
        (CONTENT_LENGTH, size.to_string()),
        // Edits must be visible at the next reload.
        (CACHE_CONTROL, "no-cache".to_owned()),
    ];
    if head {
        return headers.into_response();
    }
    let pieces = stream::unfold(file, |mut file| async move {
        let mut piece = vec![0; CHUNK_SIZE];
        let n_read = file.read(&mut piece).ok().filter(|n_read| *n_read > 0)?;
        piece.truncate(n_read);
        Some((Ok::<_, Infallible>(Bytes::from(piece)), file))
    });
    (headers, Body::from_stream(pieces)).into_response()
}

fn not_found_response() -> Response {
    let page = "<!doctype html><title>Not found</title><h1>Not found</h1>";
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}

/// The percent-decoded path; `None` if it is not UTF-8 or has a component with a leading dot.
fn decode_path(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let text = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(text, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    // Components with a leading dot are never pages: `..`, `.git`, `.env`.
    let hidden = text.split('/').any(|part| part.starts_with('.'));
    (!hidden && !text.contains('\0')).then_some(text)
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "txt" | "md" => "text/plain; charset=utf-8",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        "pdf" => "application/pdf",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mp3" => "audio/mpeg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_reaches_a_parent_or_a_hidden_file() {
        for (path, expected) in [
            ("/a/b.html", Some("/a/b.html")),
            ("/a%20b", Some("/a b")),
            ("/..", None),
            ("/%2e%2e/etc/passwd", None),
            ("/a/..%2f..%2fetc/passwd", None),
            ("/.git/config", None),
            ("/%00", None),
            ("/%zz", None),
            ("/%", None),
            ("/%ff", None),
        ] {
            assert_eq!(decode_path(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn files_are_found_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("site/sub")).unwrap();
        std::fs::write(at("site/sub/page.html"), "x").unwrap();
        std::fs::write(at("secret"), "x").unwrap();
        std::os::unix::fs::symlink("../secret", at("site/link")).unwrap();
        std::os::unix::fs::symlink("..", at("site/up")).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let root = open(at("site"), flags, Mode::empty()).unwrap();
        assert!(matches!(open_entry(&root, "/sub/page.html"), Ok(StaticEntry::File(_))));
        assert!(matches!(open_entry(&root, "/sub"), Ok(StaticEntry::Folder)));
        assert!(matches!(open_entry(&root, "/"), Ok(StaticEntry::Folder)));
        for path in ["/none", "/link", "/up/secret", "/sub/page.html/", "/sub/page.html/x"] {
            assert!(open_entry(&root, path).is_err(), "{path}");
        }
    }
}
