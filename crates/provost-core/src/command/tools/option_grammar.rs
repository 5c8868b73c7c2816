//! The options of programs, parsed as the programs do.

/// What precedes the command in the arguments of a wrapper.
#[derive(Debug)]
pub(super) struct OptionGrammar {
    /// Options without a value, separated by spaces.
    pub(super) flags: &'static str,
    /// Options with a value, in the same word or in the next.
    pub(super) valued: &'static str,
    /// How many operands are between the options and the command.
    pub(super) operands: usize,
}

/// Where the options of a wrapper end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OptionsEnd {
    /// At this index.
    At(usize),
    /// Uncertain: this option is unknown.
    UnknownOption(String),
}

impl OptionGrammar {
    /// The index in `argv` at which the command begins; may be behind the end.
    pub(super) fn find_command_start(&self, argv: &[String]) -> OptionsEnd {
        match self.find_options_end(argv) {
            OptionsEnd::At(at) => OptionsEnd::At((at + self.operands).min(argv.len())),
            unknown @ OptionsEnd::UnknownOption(_) => unknown,
        }
    }

    /// The index in `argv` at which the options end.
    pub(super) fn find_options_end(&self, argv: &[String]) -> OptionsEnd {
        let mut at = 1;
        while let Some(word) = argv.get(at) {
            if word == "--" {
                return OptionsEnd::At(at + 1);
            }
            if word == "-" || !word.starts_with('-') {
                break;
            }
            let taken = if word.starts_with("--") {
                self.long_option_width(word)
            } else {
                self.short_option_width(word)
            };
            match taken {
                Some(words) => at += words,
                None => return OptionsEnd::UnknownOption(word.clone()),
            }
        }
        OptionsEnd::At(at.min(argv.len()))
    }

    /// How many words a long option takes.
    fn long_option_width(&self, word: &str) -> Option<usize> {
        match word.split_once('=') {
            Some((name, _)) => contains_option(self.valued, name).then_some(1),
            None if contains_option(self.flags, word) => Some(1),
            None => contains_option(self.valued, word).then_some(2),
        }
    }

    /// How many words combined short options take.
    fn short_option_width(&self, word: &str) -> Option<usize> {
        // `-vv` is one option of some programs.
        if contains_option(self.flags, word) {
            return Some(1);
        }
        for (at, letter) in word.char_indices().skip(1) {
            if contains_short_option(self.flags, letter) {
                continue;
            }
            let last = at + letter.len_utf8() == word.len();
            return contains_short_option(self.valued, letter).then_some(if last { 2 } else { 1 });
        }
        Some(1)
    }
}

pub(super) fn contains_option(options: &str, option: &str) -> bool {
    options.split(' ').any(|known| known == option)
}

pub(super) fn contains_short_option(options: &str, letter: char) -> bool {
    options.split(' ').any(|known| {
        let mut chars = known.chars();
        (chars.next(), chars.next(), chars.next()) == (Some('-'), Some(letter), None)
    })
}

/// The first argument that is, or may be, one of these options.
///
/// A long option may be abbreviated, and short ones combined. A word that only looks like one,
/// such as the value of another option, counts too.
pub(super) fn find_any_option<'a>(argv: &'a [String], options: &str) -> Option<&'a String> {
    argv.iter().skip(1).find(|word| {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            let abbreviates =
                |known: &str| known.strip_prefix("--").is_some_and(|known| known.starts_with(name));
            return !name.is_empty() && options.split(' ').any(abbreviates);
        }
        // Some programs have long options with one dash: `-exec`, `-init`.
        word.len() > 1
            && word.starts_with('-')
            && (word.chars().skip(1).any(|letter| contains_short_option(options, letter))
                || contains_option(options, word.split('=').next().unwrap_or(word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: OptionGrammar =
        OptionGrammar { flags: "-v --verbose", valued: "-k --kill", operands: 1 };

    #[track_caller]
    fn check(line: &str, expected: &OptionsEnd) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(&GRAMMAR.find_command_start(&argv), expected, "{line}");
    }

    #[test]
    fn options_end_where_the_program_says() {
        check("w 5 ls", &OptionsEnd::At(2));
        check("w -v -k 9 5 ls", &OptionsEnd::At(5));
        check("w -vk9 5 ls", &OptionsEnd::At(3));
        check("w -vk 9 5 ls", &OptionsEnd::At(4));
        check("w --kill=9 5 ls", &OptionsEnd::At(3));
        check("w --kill 9 -- 5 ls", &OptionsEnd::At(5));
        check("w -v", &OptionsEnd::At(2));
        check("w --kil=9 5 ls", &OptionsEnd::UnknownOption("--kil=9".into()));
        check("w --verbose=1 5 ls", &OptionsEnd::UnknownOption("--verbose=1".into()));
        check("w -x 5 ls", &OptionsEnd::UnknownOption("-x".into()));
        check("w -vx 5 ls", &OptionsEnd::UnknownOption("-vx".into()));
    }
}
