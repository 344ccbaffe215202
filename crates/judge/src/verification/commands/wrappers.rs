//! What stands before the command that is really run: `env`, `sudo`, `timeout`, `sh -c`, `docker exec`.

use crate::toolchain::wrapper;

/// A command without what wraps it.
pub(super) enum Unwrapped<'a> {
    /// A script in an argument.
    Script { code: String, errexit: bool, pipefail: bool },
    /// A shell that reads its script from its input.
    Stdin,
    /// A command that runs another one, for something it found; its own exit status says nothing of that.
    Each { own: &'a [String], command: &'a [String] },
    /// Program and arguments.
    Plain(&'a [String]),
}

/// Takes away what wraps a command, layer by layer.
pub(super) fn unwrap(mut words: &[String]) -> Unwrapped<'_> {
    loop {
        let Some((program, args)) = words.split_first() else { return Unwrapped::Plain(words) };
        let name = base_name(program);
        if let Some(script) = script(name, args) {
            return script;
        }
        if name == "find"
            && let Some(at) = args.iter().position(|arg| matches!(arg.as_str(), "-exec" | "-execdir" | "-ok"))
        {
            let command = &args[at + 1..];
            let end = command.iter().position(|arg| arg == ";" || arg == "+").unwrap_or(command.len());
            return Unwrapped::Each { own: &words[..=at], command: &command[..end] };
        }
        let Some(inner) = inside(name, args).filter(|inner| !inner.is_empty()) else { return Unwrapped::Plain(words) };
        words = inner;
    }
}

/// The command in a wrapper's arguments.
fn inside<'a>(name: &str, args: &'a [String]) -> Option<&'a [String]> {
    let first = args.first().map_or("", String::as_str);
    if name == "command" && (first == "-v" || first == "-V") {
        return None;
    }
    if name == "nix" || name == "nix-shell" {
        let at = args.iter().position(|arg| arg == "-c" || arg == "--command")?;
        return Some(&args[at + 1..]);
    }
    if name == "docker" && first == "compose" {
        // As `docker-compose`, with options before the word that says what it does.
        let (of, _) = wrapper(&["docker-compose", "exec"])?;
        let rest = &args[1 + options(&args[1..], &of.valued)..];
        return match rest.split_first() {
            Some((word, rest)) if word == "exec" || word == "run" => rest.get(options(rest, &of.valued) + 1..),
            _ => None,
        };
    }
    let (wrapper, words) = wrapper(&[name, first])?;
    let args = args.get(words - 1..)?;
    let mut at = options(args, &wrapper.valued) + wrapper.operands;
    while args.get(at).is_some_and(|arg| arg == "--" || is_assignment(arg)) {
        at += 1;
    }
    args.get(at..)
}

/// A script in the arguments of a shell or the like.
fn script<'a>(name: &str, args: &'a [String]) -> Option<Unwrapped<'a>> {
    // It stands near the beginning; looking further would cost each layer of a hostile line its whole length.
    let after = |flags: &[&str]| {
        let at = args.iter().take(12).position(|arg| flags.iter().any(|flag| arg.eq_ignore_ascii_case(flag)))?;
        args.get(at + 1).map(|code| plain(code.clone()))
    };
    match name {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => shell(args),
        "su" | "script" | "npx" | "runuser" => after(&["-c", "--command", "--call"]),
        "nix-shell" => after(&["--run", "--command"]),
        "pwsh" | "powershell" => after(&["-c", "-command"]),
        "cmd" => after(&["/c"]),
        "env" => after(&["-S", "--split-string"]),
        "eval" => Some(plain(args.join(" "))),
        _ => None,
    }
}

fn plain<'a>(code: String) -> Unwrapped<'a> {
    Unwrapped::Script { code, errexit: false, pipefail: false }
}

/// `bash -lc '…'`; without an argument that is no option the script comes from the input.
fn shell(args: &[String]) -> Option<Unwrapped<'_>> {
    let (mut errexit, mut pipefail, mut code) = (false, false, false);
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.len() > 1 && (arg.starts_with('-') || arg.starts_with('+'))) {
        at += 1;
        if arg.starts_with("--") {
            at += usize::from(arg == "--rcfile" || arg == "--init-file");
            continue;
        }
        errexit |= arg.contains('e');
        code |= arg.contains('c');
        if arg == "-n" {
            return None;
        }
        if arg.ends_with('o') || arg.ends_with('O') {
            pipefail |= args.get(at).is_some_and(|option| option == "pipefail");
            errexit |= args.get(at).is_some_and(|option| option == "errexit");
            at += 1;
        }
    }
    match args.get(at) {
        Some(script) if code => Some(Unwrapped::Script { code: script.clone(), errexit, pipefail }),
        Some(file) if file != "-" && file != "/dev/stdin" => None,
        _ => Some(Unwrapped::Stdin),
    }
}

/// How many words options take up at the beginning of `args`; `valued` ones take two.
pub(super) fn options(args: &[String], valued: &[impl AsRef<str>]) -> usize {
    let mut at = 0;
    while let Some(arg) = args.get(at).filter(|arg| arg.len() > 1 && arg.starts_with('-')) {
        at += if valued.iter().any(|option| option.as_ref() == arg) { 2 } else { 1 };
        if arg == "--" {
            break;
        }
    }
    at.min(args.len())
}

/// `NAME=value`
pub(super) fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A program's name without its directory and Windows' endings.
pub(super) fn base_name(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    [".exe", ".cmd", ".bat"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}
