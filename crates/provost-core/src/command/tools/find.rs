//! `find` and `fd`: the commands that they run, the files that they delete and write.

use super::option_grammar::find_any_option;
use super::{
    CommandInvocation, MAX_WRAPPERS, add_invocation, add_unbounded_invocation,
    analyze_risky_options,
};
use crate::command::parse::analyzer::CommandAnalyzer;
use crate::command::parse::placeholders::PlaceholderValues;
use crate::command::{CodeInjection, OpaqueReason};
use crate::glob::{WordPattern, escape_pattern};

/// The placeholder for a found file.
const FOUND_PLACEHOLDER: &str = "{}";

/// Tests and actions without an argument.
const FLAG_PREDICATES: &[&str] = &[
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
/// Tests and actions with one argument.
const VALUED_PREDICATES: &[&str] = &[
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

/// Analyzes each action.
pub(super) fn analyze_find(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    let mut at = 1;
    let mut name = None;
    while let Some(word) = run.argv.get(at) {
        at += match word.as_str() {
            "-exec" | "-ok" => {
                analyze_exec(reader, &run, at + 1, &found_path_globs(&run.argv, name))
            }
            "-execdir" | "-okdir" => analyze_execdir(reader, &run, at + 1),
            "-delete" => {
                reader.mark_arguments_uncertain(OpaqueReason::CommandsFromInput, "-delete");
                for path in found_path_globs(&run.argv, name) {
                    reader.add_deleted_path(&path);
                }
                1
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(path) = run.argv.get(at + 1) {
                    reader.add_written_path(path);
                }
                if word == "-fprintf" { 3 } else { 2 }
            }
            "-name" => {
                name = run.argv.get(at + 1).map(String::as_str);
                2
            }
            known if FLAG_PREDICATES.contains(&known) => 1,
            known if VALUED_PREDICATES.contains(&known) || is_newer_predicate(known) => 2,
            // An unknown word may be an action with its command.
            path if run.unknown.contains(&at) && path.starts_with(['$', '`', '"']) => {
                reader.mark_programs_uncertain(OpaqueReason::Expansion, path);
                1
            }
            path if !path.starts_with('-') => 1,
            option => {
                reader.mark_programs_uncertain(OpaqueReason::UnknownOption, option);
                1
            }
        };
    }
    add_invocation(reader, run);
}

/// `-newerXY`.
fn is_newer_predicate(word: &str) -> bool {
    word.strip_prefix("-newer").is_some_and(|kinds| kinds.len() == 2)
}

/// The folders that it searches: the current one by default.
fn search_roots(argv: &[String]) -> Vec<&str> {
    let words = argv.iter().skip(1).map(String::as_str);
    let words = words.skip_while(|word| matches!(*word, "-H" | "-L" | "-P"));
    let roots: Vec<&str> = words.take_while(|word| !word.starts_with(['-', '(', '!'])).collect();
    if roots.is_empty() { vec!["."] } else { roots }
}

/// Globs for what it may find: the roots and everything below. If all tests must hold, the names
/// match `name`.
fn found_path_globs(argv: &[String], name: Option<&str>) -> Vec<String> {
    let choices = ["-o", "-or", ",", "!", "-not", "("];
    let certain = !argv.iter().any(|word| choices.contains(&word.as_str()));
    let names = name.filter(|_| certain).and_then(name_globs);
    let beneath = |root: &&str| {
        let root = root.trim_end_matches('/');
        let own = root.rsplit('/').next().unwrap_or_default();
        let own = WordPattern::new(&escape_pattern(own));
        let is_root = |name: &String| own.as_ref().map_or(true, |own| own.overlaps(name));
        match &names {
            Some(names) if !names.iter().any(is_root) => {
                names.iter().map(|name| format!("{root}/**/{name}")).collect()
            }
            Some(_) | None => vec![format!("{root}/**")],
        }
    };
    search_roots(argv).iter().flat_map(beneath).collect()
}

/// Shell globs for what `-name` finds, if they are narrower than everything: its star also
/// matches a leading dot.
fn name_globs(pattern: &str) -> Option<Vec<String>> {
    if pattern.contains(['\\', '[', '$', '`', '/']) || pattern.starts_with('?') {
        return None;
    }
    let rest = pattern.trim_start_matches('*');
    if rest.len() == pattern.len() {
        return Some(vec![pattern.to_owned()]);
    }
    let hidden = rest.starts_with('.').then(|| rest.to_owned());
    let all = [format!("*{rest}"), format!(".*{rest}")].into_iter().chain(hidden);
    (!rest.is_empty()).then(|| all.collect())
}

/// The same for `-execdir`, which runs in the folder of the found file.
fn analyze_execdir(reader: &mut CommandAnalyzer, run: &CommandInvocation, from: usize) -> usize {
    let here = reader.folders.clone();
    let there = |root: &str| {
        let mut folders = here.clone();
        folders.change_folder(&format!("{}/**", root.trim_end_matches('/')));
        folders
    };
    let mut all = search_roots(&run.argv).into_iter().map(there);
    reader.folders = all.next().unwrap_or_else(|| here.clone());
    if !all.all(|folders| reader.folders.merge(&folders)) {
        reader.mark_programs_uncertain(OpaqueReason::UnknownFolder, run.argv.join(" "));
    }
    let taken = analyze_exec(reader, run, from, &["**".to_owned()]);
    reader.folders = here;
    taken
}

/// Adds the command of `-exec`, and returns how many words it takes. `found` replaces `{}`.
fn analyze_exec(
    reader: &mut CommandAnalyzer,
    run: &CommandInvocation,
    from: usize,
    found: &[String],
) -> usize {
    let rest = run.argv.get(from..).unwrap_or_default();
    let plus = |at: usize| rest[at] == "+" && at > 0 && rest[at - 1] == "{}";
    let end = (0..rest.len()).find(|at| rest[*at] == ";" || plus(*at));
    // The found files replace `{}`, and are unknown.
    reader.mark_arguments_uncertain(
        OpaqueReason::CommandsFromInput,
        rest[..end.unwrap_or(rest.len())].join(" "),
    );
    let Some(end) = end else { return rest.len() + 1 };
    let mut inner = run.clone();
    inner.argv = rest[..end].to_vec();
    let lost = run.unknown.iter().any(|index| *index < from);
    let held = (0..end).filter(|at| {
        inner.argv[*at].contains(FOUND_PLACEHOLDER) || run.unknown.contains(&(from + at))
    });
    inner.unknown = held.collect();
    if lost && inner.unknown.first() != Some(&0) {
        inner.unknown.insert(0, 0);
    }
    inner.through.push("find".to_owned());
    if inner.through.len() > MAX_WRAPPERS {
        add_unbounded_invocation(reader, inner, OpaqueReason::TooDeep);
    } else {
        let marks = vec![PlaceholderValues::from_paths(FOUND_PLACEHOLDER, found.to_vec())];
        reader.with_placeholders(marks, |reader| reader.analyze_invocation(inner));
    }
    end + 2
}

/// `fd PATTERN FOLDERS -x COMMAND`: the found files are appended, or replace a placeholder.
pub(super) fn analyze_fd(reader: &mut CommandAnalyzer, run: CommandInvocation) {
    const RUNNING: &str = "-x -X --exec --exec-batch";
    const MARKS: [&str; 5] = [FOUND_PLACEHOLDER, "{/}", "{//}", "{.}", "{/.}"];
    let option = find_any_option(&run.argv, RUNNING);
    let from = option.and_then(|option| run.argv.iter().position(|word| word == option));
    if let Some(from) = from.map(|at| at + 1).filter(|from| *from < run.argv.len()) {
        let mut inner = run.invocation_from(from);
        let end = inner.argv.iter().position(|word| word == ";").unwrap_or(inner.argv.len());
        inner.argv.truncate(end);
        let is_marked = |word: &String| MARKS.iter().any(|mark| word.contains(mark));
        let marked: Vec<usize> = (0..end).filter(|at| is_marked(&inner.argv[*at])).collect();
        let more = if marked.is_empty() { vec![end] } else { marked };
        inner.unknown.retain(|at| *at < end);
        inner.unknown.extend(more);
        inner.unknown.sort_unstable();
        inner.unknown.dedup();
        inner.through = run.through.iter().cloned().chain(["fd".to_owned()]).collect();
        let marks = MARKS.map(PlaceholderValues::from_input).into();
        if inner.through.len() > MAX_WRAPPERS {
            add_unbounded_invocation(reader, inner, OpaqueReason::TooDeep);
        } else {
            reader.with_placeholders(marks, |reader| reader.analyze_invocation(inner));
        }
    }
    analyze_risky_options(
        reader,
        run,
        RUNNING,
        OpaqueReason::CodeInjection(CodeInjection::Command),
    );
}
