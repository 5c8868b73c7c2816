//! `fs.readFile`: the content of a file, or a part of it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_core::action::{BytesEncoding, FileRange, MAX_FILE_READ_BYTES, ReadFile};
use provost_proto::{Code, Hash};
use provost_sandbox::root_dir::{OpenedFile, RootDir};
use serde::Serialize;

use super::hash_content;
use crate::ActionError;
use crate::error::from_io;

/// The result of `fs.readFile`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadFileResult {
    /// The content, in the encoding of `encoding`.
    pub content: String,
    /// The encoding of the content.
    pub encoding: BytesEncoding,
    /// The size of the whole file, in bytes.
    pub size: u64,
    /// The hash of the whole file, if this is the whole file.
    pub hash: Option<Hash>,
    /// The offset of the content in the file, in bytes.
    pub offset: u64,
    /// How many bytes of the file the content is.
    pub length: u64,
    /// Whether the file continues after the content.
    pub truncated: bool,
    /// The first line, if lines were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// How many lines, if lines were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_count: Option<u64>,
}

/// How many bytes of an incomplete UTF-8 character there can be.
const MAX_PARTIAL_CHAR_BYTES: u64 = 3;

pub(super) fn run(
    root: &RootDir,
    action: &ReadFile,
    stop: &dyn Fn() -> bool,
) -> Result<ReadFileResult, ActionError> {
    let read = || match action.range() {
        FileRange::Whole => read_whole(root, action),
        FileRange::Bytes { offset, length } => {
            read_byte_range(root.open_read(action.path.as_ref())?, action, offset, length)
        }
        FileRange::Lines { start, count } => {
            read_line_range(root.open_read(action.path.as_ref())?, start, count, stop)
        }
    };
    read().map_err(|error| error.with_path(&action.path))
}

fn read_whole(root: &RootDir, action: &ReadFile) -> Result<ReadFileResult, ActionError> {
    let bytes = root.read(action.path.as_ref(), MAX_FILE_READ_BYTES).map_err(|error| {
        let mut error = ActionError::from(error);
        if error.code == Code::TooLarge {
            error.message += "; ask for a part with `offset` and `length`, or with `startLine`";
        }
        error
    })?;
    whole_file_result(bytes, action.encoding)
}

/// The result for a file that was read as a whole.
pub(crate) fn whole_file_result(
    bytes: Vec<u8>,
    encoding: BytesEncoding,
) -> Result<ReadFileResult, ActionError> {
    let size = bytes.len() as u64;
    let hash = Some(hash_content(&bytes));
    Ok(ReadFileResult {
        content: encode_content(bytes, encoding)?,
        encoding,
        size,
        hash,
        offset: 0,
        length: size,
        truncated: false,
        start_line: None,
        line_count: None,
    })
}

fn encode_content(bytes: Vec<u8>, encoding: BytesEncoding) -> Result<String, ActionError> {
    match encoding {
        BytesEncoding::Base64 => Ok(STANDARD.encode(bytes)),
        BytesEncoding::Utf8 => String::from_utf8(bytes).map_err(|_| binary_file_error()),
    }
}

fn binary_file_error() -> ActionError {
    let message = "the file is not UTF-8 text; ask for it with `encoding` = `base64`";
    ActionError::new(Code::BinaryFile, message)
}

fn read_byte_range(
    opened: OpenedFile,
    action: &ReadFile,
    offset: u64,
    length: Option<u64>,
) -> Result<ReadFileResult, ActionError> {
    let OpenedFile { mut file, stat } = opened;
    let limit = length.unwrap_or(MAX_FILE_READ_BYTES);
    let io = |error| from_io("read the file", &error);
    file.seek(SeekFrom::Start(offset)).map_err(io)?;
    let mut bytes = Vec::new();
    file.take(limit + MAX_PARTIAL_CHAR_BYTES).read_to_end(&mut bytes).map_err(io)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).min(bytes.len());
    let skipped = match action.encoding {
        BytesEncoding::Base64 => {
            bytes.truncate(limit);
            0
        }
        BytesEncoding::Utf8 => trim_to_char_boundaries(&mut bytes, offset, limit),
    };
    let (offset, length) = (offset + skipped, bytes.len() as u64);
    let is_whole = offset == 0 && length == stat.size;
    Ok(ReadFileResult {
        hash: is_whole.then(|| hash_content(&bytes)),
        content: encode_content(bytes, action.encoding)?,
        encoding: action.encoding,
        size: stat.size,
        offset,
        length,
        truncated: offset.saturating_add(length) < stat.size,
        start_line: None,
        line_count: None,
    })
}

/// Trims to whole characters: an incomplete one at the beginning belongs to the
/// read before, one at the end to the next. If the limit does not cover a single
/// character, that one is returned, so that reading on makes progress.
fn trim_to_char_boundaries(bytes: &mut Vec<u8>, offset: u64, limit: usize) -> u64 {
    let inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let begin =
        if offset == 0 { 0 } else { bytes.iter().take(3).take_while(|b| inside(b)).count() };
    let ends_character = |end: usize| bytes.get(end).is_none_or(|byte| !inside(byte));
    let mut end = limit.max(begin);
    while end > begin && limit - end.min(limit) < 3 && !ends_character(end) {
        end -= 1;
    }
    if end == begin {
        end = (begin + 1..=bytes.len()).find(|end| ends_character(*end)).unwrap_or(bytes.len());
    }
    bytes.truncate(end);
    bytes.drain(..begin.min(end));
    begin as u64
}

fn read_line_range(
    opened: OpenedFile,
    start: u64,
    count: Option<u64>,
    stop: &dyn Fn() -> bool,
) -> Result<ReadFileResult, ActionError> {
    let size = opened.stat.size;
    let mut reader = BufReader::with_capacity(64 * 1024, opened.file);
    let offset = skip_lines(&mut reader, start - 1, stop)?;
    let mut bytes = Vec::new();
    let mut n_lines = 0;
    while n_lines < count.unwrap_or(u64::MAX) && (bytes.len() as u64) < MAX_FILE_READ_BYTES {
        if stop() {
            return Err(ActionError::cancelled());
        }
        let room = MAX_FILE_READ_BYTES + MAX_PARTIAL_CHAR_BYTES - bytes.len() as u64;
        let n_read = reader.by_ref().take(room).read_until(b'\n', &mut bytes);
        if n_read.map_err(|error| from_io("read the file", &error))? == 0 {
            break;
        }
        n_lines += 1;
    }
    let limit = usize::try_from(MAX_FILE_READ_BYTES).unwrap_or(usize::MAX).min(bytes.len());
    trim_to_char_boundaries(&mut bytes, 0, limit);
    let length = bytes.len() as u64;
    Ok(ReadFileResult {
        hash: (offset == 0 && length == size).then(|| hash_content(&bytes)),
        content: encode_content(bytes, BytesEncoding::Utf8)?,
        encoding: BytesEncoding::Utf8,
        size,
        offset,
        length,
        truncated: offset.saturating_add(length) < size,
        start_line: Some(start),
        line_count: Some(n_lines),
    })
}

/// Skips lines; returns how many bytes they have.
fn skip_lines(
    reader: &mut BufReader<File>,
    mut n_lines: u64,
    stop: &dyn Fn() -> bool,
) -> Result<u64, ActionError> {
    let mut offset = 0;
    while n_lines > 0 {
        if stop() {
            return Err(ActionError::cancelled());
        }
        let buffer = reader.fill_buf().map_err(|error| from_io("read the file", &error))?;
        if buffer.is_empty() {
            break;
        }
        let mut used = buffer.len();
        for end in memchr::memchr_iter(b'\n', buffer) {
            n_lines -= 1;
            if n_lines == 0 {
                used = end + 1;
                break;
            }
        }
        reader.consume(used);
        offset += used as u64;
    }
    Ok(offset)
}
