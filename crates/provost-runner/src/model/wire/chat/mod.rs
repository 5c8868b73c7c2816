//! Chat Completions, as `OpenAI` defined it and as compatible servers speak it.

mod decode;
mod encode;
mod reasoning;

pub(super) use decode::ChatDecoder;
pub(super) use encode::encode;
