//! `find`: the commands it runs, the files it deletes and writes.

use super::super::Why;
use super::super::reader::Reader;
use super::{Run, WRAPPERS, never, plain};

/// Tests and actions without a word after them.
const ALONE: &[&str] = &[
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "!",
    ",",
    "(",
    ")",
    "-H",
    "-L",
    "-P",
    "-daystart",
    "-depth",
    "-d",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-ignore_readdir_race",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-nouser",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
    "-warn",
    "-nowarn",
    "-noignore_readdir_race",
];
/// Tests and actions with one word after them.
const VALUED: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// Looks at each action of it.
pub(super) fn look(reader: &mut Reader, run: Run) {
    let mut at = 1;
    while let Some(word) = run.argv.get(at) {
        at += match word.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => execute(reader, &run, at + 1),
            "-delete" => {
                reader.opaque(Why::Input, "-delete");
                1
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(path) = run.argv.get(at + 1) {
                    reader.writes(path);
                }
                if word == "-fprintf" { 3 } else { 2 }
            }
            known if ALONE.contains(&known) => 1,
            known if VALUED.contains(&known) || newer(known) => 2,
            // What is not known may be an action, and the command of one.
            path if run.unknown.contains(&at) && path.starts_with(['$', '`', '"']) => {
                reader.open(Why::Expansion, path);
                1
            }
            path if !path.starts_with('-') => 1,
            option => {
                reader.open(Why::UnknownOption, option);
                1
            }
        };
    }
    plain(reader, run);
}

/// `-newerXY`.
fn newer(word: &str) -> bool {
    word.strip_prefix("-newer").is_some_and(|kinds| kinds.len() == 2)
}

/// Adds the command of `-exec`, and says how many words it takes.
fn execute(reader: &mut Reader, run: &Run, from: usize) -> usize {
    let rest = run.argv.get(from..).unwrap_or_default();
    let plus = |at: usize| rest[at] == "+" && at > 0 && rest[at - 1] == "{}";
    let end = (0..rest.len()).find(|at| rest[*at] == ";" || plus(*at));
    // What it finds takes the place of `{}`, and is not known.
    reader.opaque(Why::Input, rest[..end.unwrap_or(rest.len())].join(" "));
    let Some(end) = end else { return rest.len() + 1 };
    let mut inner = run.clone();
    inner.argv = rest[..end].to_vec();
    let lost = run.unknown.iter().any(|place| *place < from);
    let held =
        (0..end).filter(|at| inner.argv[*at].contains("{}") || run.unknown.contains(&(from + at)));
    inner.unknown = held.collect();
    if lost && inner.unknown.first() != Some(&0) {
        inner.unknown.insert(0, 0);
    }
    inner.through.push("find".to_owned());
    if inner.through.len() > WRAPPERS {
        never(reader, inner, Why::TooDeep);
    } else {
        reader.run(inner);
    }
    end + 2
}
