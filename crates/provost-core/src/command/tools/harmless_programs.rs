//! Programs that run nothing that their words name, except for options in
//! [`program_table`](super::program_table): `echo git push` does not push.
//!
//! A program that is in neither list may be an unknown wrapper. Then its words may contain a
//! command: see [`embedded_commands`](crate::command::effects::embedded_commands).

use std::collections::HashSet;
use std::sync::LazyLock;

/// Grouped by purpose.
const HARMLESS_PROGRAMS: &[&str] = &[
    // Text and files.
    "echo cat head tail nl tac rev wc sort uniq cut paste join comm diff cmp sdiff diff3 colordiff \
     md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base64 base32 basenc xxd od \
     hexdump hd strings column fold fmt expand unexpand iconv pr tr tsort shuf seq yes factor \
     numfmt csplit glow mdcat hexyl tee sponge pv dos2unix unix2dos",
    "grep egrep fgrep zgrep ack yq xq gron ugrep zcat zless bzcat xzcat look",
    "ls dir vdir ll tree exa eza lsd stat file du df ncdu cp mv ln install mkdir rmdir rm unlink \
     touch truncate shred chmod chown chgrp chattr lsattr getfacl setfacl mktemp mkfifo mknod readlink \
     realpath dirname basename pathchk sync dd namei fallocate rename locate updatedb",
    "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 unzip zipinfo 7z 7za unrar ar cpio brotli",
    // The machine and its processes.
    "date cal uname hostname whoami id groups users who w last uptime arch nproc lscpu lsblk \
     lsusb lspci free vmstat iostat mpstat sar top htop btop ps pgrep pkill kill killall pidof pstree \
     jobs bg fg disown lsof fuser ss netstat dmesg journalctl getconf getent locale tty stty tput \
     clear reset sleep usleep printenv logname mount umount sysctl ulimit",
    "ping ping6 traceroute dig nslookup host whois ifconfig route arp",
    // Information about commands.
    "which whereis type whatis apropos help hash tldr cheat command-not-found caller times",
    // Shell builtins.
    ": true false exit return break continue shift pwd expr history printf",
    // Package managers: their words are package names.
    "brew port pacman yay dnf yum zypper apk apt-cache dpkg-query conan \
     nuget hex pod luarocks cpan cpanm",
    // Building and checking code.
    "rustfmt rustdoc clippy-driver cargo-clippy gofmt goimports golangci-lint staticcheck ld nm \
     objdump objcopy readelf size strip ranlib addr2line c++filt as javac javap jar kotlinc scalac \
     protoc buf flatc thrift swiftc ghc dmd ldc2 nasm yasm cppcheck clang-format clang-tidy \
     black ruff flake8 pylint mypy pyright isort autopep8 yapf bandit rubocop shellcheck shfmt hadolint \
     yamllint markdownlint markdownlint-cli2 stylelint biome oxlint actionlint typos codespell vale cloc \
     tokei scc ctags universal-ctags cscope sass postcss esbuild rollup webpack vite next nuxt astro \
     svelte-check tsup swc babel parcel ",
    "ninja buck scons autoconf automake autoreconf configure pkg-config msgfmt xgettext",
    "mocha ava tap playwright cypress karma bats phpunit rspec minitest",
    // Images, sound and documents.
    "convert identify magick ffmpeg ffprobe sox pandoc pdftotext pdfinfo qpdf latex pdflatex xelatex \
     bibtex dot exiftool optipng jpegtran cwebp inkscape",
    "say notify-send osc xclip xsel pbcopy pbpaste wl-copy wl-paste figlet cowsay fortune lolcat",
    "age minisign sha3sum shasum htpasswd uuidgen pwgen qrencode ssh-keygen ssh-add",
];

static HARMLESS_NAMES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| HARMLESS_PROGRAMS.iter().flat_map(|names| names.split_whitespace()).collect());

/// Whether a system program runs nothing that its words name.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS_NAMES.contains(name)
}

#[cfg(test)]
mod tests {
    use super::super::program_kind;
    use super::*;

    /// A program that runs others has a row in the table, or counts as a wrapper.
    #[test]
    fn nothing_that_is_known_to_run_others_is_harmless() {
        for name in HARMLESS_PROGRAMS.iter().flat_map(|names| names.split_whitespace()) {
            let known = program_kind::find_program(name).map(|tool| &tool.how);
            assert!(
                !matches!(
                    known,
                    Some(
                        program_kind::ProgramKind::Wrapper(_)
                            | program_kind::ProgramKind::OpaqueWrapper(..)
                    )
                ),
                "`{name}` is a wrapper"
            );
        }
    }
}
