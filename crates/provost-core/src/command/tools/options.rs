//! The options of programs, read as they read them.

/// What comes before the command in the arguments of a wrapper.
#[derive(Debug)]
pub(super) struct Grammar {
    /// Options without a value, separated by spaces.
    pub(super) flags: &'static str,
    /// Options with a value, as the rest of the word or as the next.
    pub(super) valued: &'static str,
    /// How many words stand between the options and the command.
    pub(super) operands: usize,
}

/// Where the options of a wrapper end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At this place.
    At(usize),
    /// Nowhere for certain: this option is not known.
    Unknown(String),
}

impl Grammar {
    /// Where in `argv` the command begins; it may be behind its end.
    pub(super) fn command(&self, argv: &[String]) -> End {
        match self.options(argv) {
            End::At(at) => End::At((at + self.operands).min(argv.len())),
            unknown @ End::Unknown(_) => unknown,
        }
    }

    /// Where in `argv` the options end.
    pub(super) fn options(&self, argv: &[String]) -> End {
        let mut at = 1;
        while let Some(word) = argv.get(at) {
            if word == "--" {
                return End::At(at + 1);
            }
            if word == "-" || !word.starts_with('-') {
                break;
            }
            let taken = if word.starts_with("--") { self.long(word) } else { self.short(word) };
            match taken {
                Some(words) => at += words,
                None => return End::Unknown(word.clone()),
            }
        }
        End::At(at.min(argv.len()))
    }

    /// How many words a long option takes.
    fn long(&self, word: &str) -> Option<usize> {
        match word.split_once('=') {
            Some((name, _)) => has(self.valued, name).then_some(1),
            None if has(self.flags, word) => Some(1),
            None => has(self.valued, word).then_some(2),
        }
    }

    /// How many words short options take, which may stand together.
    fn short(&self, word: &str) -> Option<usize> {
        // `-vv` of some programs is an option of its own.
        if has(self.flags, word) {
            return Some(1);
        }
        for (at, letter) in word.char_indices().skip(1) {
            if letter_of(self.flags, letter) {
                continue;
            }
            let last = at + letter.len_utf8() == word.len();
            return letter_of(self.valued, letter).then_some(if last { 2 } else { 1 });
        }
        Some(1)
    }
}

pub(super) fn has(options: &str, option: &str) -> bool {
    options.split(' ').any(|known| known == option)
}

pub(super) fn letter_of(options: &str, letter: char) -> bool {
    options.split(' ').any(|known| {
        let mut chars = known.chars();
        (chars.next(), chars.next(), chars.next()) == (Some('-'), Some(letter), None)
    })
}

/// The first argument that is, or may be, one of these options.
///
/// A long option may be abbreviated, and a short one stand among others. What
/// only looks like one, such as the value of another option, counts too.
pub(super) fn any_of<'a>(argv: &'a [String], options: &str) -> Option<&'a String> {
    argv.iter().skip(1).find(|word| {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            let abbreviates =
                |known: &str| known.strip_prefix("--").is_some_and(|known| known.starts_with(name));
            return !name.is_empty() && options.split(' ').any(abbreviates);
        }
        // Some programs spell whole words with one dash: `-exec`, `-init`.
        word.len() > 1
            && word.starts_with('-')
            && (word.chars().skip(1).any(|letter| letter_of(options, letter))
                || has(options, word.split('=').next().unwrap_or(word)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAMMAR: Grammar = Grammar { flags: "-v --verbose", valued: "-k --kill", operands: 1 };

    #[track_caller]
    fn check(line: &str, expected: &End) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(&GRAMMAR.command(&argv), expected, "{line}");
    }

    #[test]
    fn options_end_where_the_program_says() {
        check("w 5 ls", &End::At(2));
        check("w -v -k 9 5 ls", &End::At(5));
        check("w -vk9 5 ls", &End::At(3));
        check("w -vk 9 5 ls", &End::At(4));
        check("w --kill=9 5 ls", &End::At(3));
        check("w --kill 9 -- 5 ls", &End::At(5));
        check("w -v", &End::At(2));
        check("w --kil=9 5 ls", &End::Unknown("--kil=9".into()));
        check("w --verbose=1 5 ls", &End::Unknown("--verbose=1".into()));
        check("w -x 5 ls", &End::Unknown("-x".into()));
        check("w -vx 5 ls", &End::Unknown("-vx".into()));
    }
}
