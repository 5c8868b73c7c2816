//! Responses, of `OpenAI`, and of servers that imitate it.

mod decode;
mod encode;

pub(super) use decode::ResponsesDecoder;
pub(super) use encode::encode;
