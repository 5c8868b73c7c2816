//! `streamGenerateContent`, of Gemini.

mod arguments;
mod decode;
mod encode;

pub(super) use decode::Answer;
pub(super) use encode::{NO_SIGNATURE, encode};
