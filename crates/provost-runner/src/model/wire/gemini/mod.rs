//! `streamGenerateContent` of Gemini.

mod decode;
mod encode;
mod partial_arguments;

pub(super) use decode::GeminiDecoder;
pub(super) use encode::{SKIP_SIGNATURE_VALIDATION, encode};
