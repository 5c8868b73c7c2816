//! The Responses API of `OpenAI` and of compatible servers.

mod decode;
mod encode;

pub(super) use decode::ResponsesDecoder;
pub(super) use encode::encode;
