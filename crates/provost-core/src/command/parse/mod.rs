//! From the text of a line to simple commands: validation, words, and the walk over the grammar.

pub(crate) mod analyzer;
mod brace_expansion;
mod expansion;
pub(crate) mod line_validation;
#[cfg(test)]
mod parser_agreement;
pub(crate) mod placeholders;
mod plain_line_parser;
mod shell_word;
pub(crate) mod simple_command;
