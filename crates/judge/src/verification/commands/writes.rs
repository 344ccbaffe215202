//! What a command writes.

use super::kinds::is_python;
use super::run::CommandKind;
use super::syntax::Redirect;
use super::wrappers::base_name;
use super::{Edits, Run, git};

/// Where output goes that is no work: devices and places outside the project.
const OUTSIDE: [&str; 10] = [
    "/dev/",
    "/tmp/",
    "/var/tmp/",
    "/private/tmp/",
    "/var/folders/",
    "/proc/",
    "$TMPDIR",
    "${TMPDIR",
    "$(mktemp",
    "~/.cache/",
];

/// What programs leave behind: removing it changes nothing that checks look at.
const LEFT_BEHIND: [&str; 14] = [
    "target",
    "dist",
    "build",
    "node_modules",
    "coverage",
    ".coverage",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".next",
    "out",
    ".tox",
    ".nyc_output",
];

/// Notes what a command writes by itself. `tool` is the command behind runners, `input` its heredoc.
pub(super) fn note(run: &mut Run, tool: &[String], input: Option<&str>) {
    let Some((program, args)) = tool.split_first() else { return };
    let (writes, edits, files) = effect(base_name(program), args, input, &run.kind);
    run.writes |= writes;
    run.edits = run.edits.max(edits);
    run.files.extend(files);
}

/// Notes the files that output is redirected into.
pub(super) fn redirected(run: &mut Run, redirects: &[Redirect]) {
    for redirect in redirects {
        if let Redirect::Out(file) = redirect
            && !is_outside(file)
        {
            run.writes = true;
            run.edits = Edits::Yes;
            run.files.push(file.clone());
        }
    }
}

fn is_outside(file: &str) -> bool {
    file.is_empty() || file == "-" || file == "/tmp" || OUTSIDE.iter().any(|place| file.starts_with(place))
}

fn is_left_behind(file: &str) -> bool {
    let path = file.trim_start_matches("./").trim_end_matches(['/', '*']).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    LEFT_BEHIND.contains(&last) || [".log", ".pyc", ".tmp", ".out", ".o"].iter().any(|ending| last.ends_with(ending))
}

type Effect = (bool, Edits, Vec<String>);

const NOTHING: Effect = (false, Edits::No, Vec::new());

fn effect(name: &str, args: &[String], input: Option<&str>, kind: &CommandKind) -> Effect {
    let has = |flags: &[&str]| args.iter().any(|arg| flags.contains(&arg.as_str()));
    let operands = || args.iter().filter(|arg| !arg.starts_with('-')).cloned();
    match name {
        _ if args.iter().any(|arg| arg == "--help" || arg == "--version" || arg == "--dry-run") => NOTHING,
        "git" => of_git(args),
        "tee" => of_files(operands().collect(), Edits::Yes),
        "sed" | "gsed" if args.iter().any(|arg| in_place(arg)) => {
            let scripted = has(&["-e", "-f", "--expression", "--file"]);
            // The value of `-e` is no file, nor is a script that stands alone.
            let mut files = Vec::new();
            let mut skip = false;
            for arg in args {
                if !skip && !arg.starts_with('-') && !arg.is_empty() {
                    files.push(arg.clone());
                }
                skip = matches!(arg.as_str(), "-e" | "-f" | "--expression" | "--file");
            }
            let files: Vec<String> = files.into_iter().skip(usize::from(!scripted)).collect();
            of_files_or_elsewhere(files)
        }
        "perl" | "ruby" if args.iter().any(|arg| in_place(arg)) => of_files_or_elsewhere(operands().skip(1).collect()),
        "vim" | "vi" | "nvim" | "ex" => of_vim(args, input),
        "awk" | "gawk" if args.windows(2).any(|pair| pair[0] == "-i" && pair[1] == "inplace") => {
            (true, Edits::Yes, Vec::new())
        }
        "patch" | "apply_patch" | "applypatch" => (true, Edits::Yes, Vec::new()),
        "rm" | "unlink" | "rmdir" | "shred" | "truncate" | "trash" => {
            let files: Vec<String> = operands().filter(|file| !is_outside(file)).collect();
            let edits = if files.iter().all(|file| is_left_behind(file)) { Edits::No } else { Edits::Yes };
            (!files.is_empty(), edits, files)
        }
        "mkdir" => {
            let files: Vec<String> = operands().filter(|file| !is_outside(file)).collect();
            (!files.is_empty(), Edits::No, files)
        }
        "cp" | "mv" | "ln" | "install" | "rsync" => {
            let mut files: Vec<String> = operands().collect();
            if name != "mv" {
                files = files.pop().into_iter().collect();
            }
            of_files(files, Edits::Yes)
        }
        "touch" | "dos2unix" | "unix2dos" | "ed" => of_files(operands().collect(), Edits::Yes),
        "dd" => {
            of_files(args.iter().filter_map(|arg| arg.strip_prefix("of=")).map(str::to_owned).collect(), Edits::Yes)
        }
        "chmod" | "chown" => (true, Edits::No, Vec::new()),
        "tar" | "unzip" | "gunzip" | "gzip" if !has(&["-l", "-t", "-tf", "-tzf", "tf", "tzf"]) => {
            (true, Edits::Perhaps, Vec::new())
        }
        "curl" | "wget" if has(&["-o", "-O", "--output", "--remote-name"]) => {
            let flag = args.iter().position(|arg| arg == "-o" || arg == "--output" || (name == "wget" && arg == "-O"));
            match flag.and_then(|at| args.get(at + 1)) {
                Some(file) => of_files(vec![file.clone()], Edits::Yes),
                None => (true, Edits::Yes, Vec::new()),
            }
        }
        "wget" => (true, Edits::Perhaps, Vec::new()),
        "find" | "fd" if has(&["-delete"]) => (true, Edits::Perhaps, Vec::new()),
        _ => of_tools(name, args, input, kind),
    }
}

/// Formatters, fixers, package managers, generators, and code on the command line.
fn of_tools(name: &str, args: &[String], input: Option<&str>, kind: &CommandKind) -> Effect {
    let has = |flags: &[&str]| args.iter().any(|arg| flags.contains(&arg.split('=').next().unwrap_or(arg)));
    let first = args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    let manifest = matches!(
        (name, first),
        (
            "npm" | "pnpm",
            "install" | "i" | "add" | "uninstall" | "remove" | "rm" | "update" | "up" | "upgrade" | "dedupe"
        ) | ("yarn" | "bun", "install" | "add" | "remove" | "up" | "upgrade" | "update" | "dedupe")
            | ("cargo", "add" | "remove" | "rm" | "update" | "fix" | "init" | "new" | "generate-lockfile" | "upgrade")
            | (
                "poetry" | "uv" | "pdm" | "rye" | "pipenv",
                "add" | "remove" | "lock" | "update" | "install" | "init" | "sync"
            )
            | ("go", "get" | "generate" | "fix")
            | ("bundle", "add" | "update" | "install" | "init" | "lock")
            | ("composer", "require" | "remove" | "update" | "install" | "init")
            | ("dotnet", "add" | "new" | "remove" | "sln")
            | ("mix", "deps.get" | "deps.update" | "new")
            | ("flutter" | "dart", "pub" | "create" | "fix")
            | ("swift", "package")
            | ("gem" | "brew" | "apt" | "apt-get" | "dnf" | "apk" | "pacman", "install" | "add" | "upgrade")
            | ("pip" | "pip3", "install" | "uninstall")
            | ("rails" | "ng" | "nx", "generate" | "g" | "new")
            | ("terraform", "init" | "apply")
            | ("alembic", "revision")
            | ("cookiecutter" | "copier" | "degit", _)
    );
    if manifest
        || name == "npm" && first == "ci"
        || name == "go" && first == "mod" && has(&["tidy", "init", "edit", "vendor"])
    {
        // Without a name they install what is declared already; nor are the system's packages the project's.
        let named = args.iter().filter(|arg| !arg.starts_with('-')).count() > 1;
        let outside = matches!(
            name,
            "pip" | "pip3" | "gem" | "brew" | "apt" | "apt-get" | "dnf" | "apk" | "pacman" | "terraform"
        );
        let installs = matches!(first, "install" | "i" | "ci" | "sync" | "deps.get");
        let edits = if outside || installs && !named { Edits::No } else { Edits::Perhaps };
        return (true, edits, Vec::new());
    }
    if *kind == CommandKind::Format {
        return (true, Edits::Perhaps, Vec::new());
    }
    let fixes = has(&[
        "--fix",
        "--write",
        "-w",
        "--in-place",
        "--apply",
        "--unsafe-fixes",
        "--fix-only",
        "-u",
        "--updateSnapshot",
        "--update-snapshots",
        "--snapshot-update",
    ]);
    if matches!(kind, CommandKind::Lint) && fixes
        || matches!(kind, CommandKind::Test)
            && has(&["-u", "--updateSnapshot", "--update-snapshots", "--snapshot-update", "--inline-snapshot"])
    {
        return (true, Edits::Perhaps, Vec::new());
    }
    if let Some(code) = code(name, args).or(input)
        && (is_python(name) || matches!(name, "node" | "ruby" | "perl" | "php" | "deno" | "bun" | "tsx" | "osascript"))
        && code_writes(code)
    {
        return (true, Edits::Perhaps, Vec::new());
    }
    NOTHING
}

/// Code in an argument.
fn code<'a>(name: &str, args: &'a [String]) -> Option<&'a str> {
    let flags: &[&str] = if is_python(name) { &["-c"] } else { &["-e", "--eval", "-r", "-p", "eval"] };
    let at = args.iter().position(|arg| flags.contains(&arg.as_str()))?;
    args.get(at + 1).map(String::as_str)
}

/// Calls that write files, of the languages in which agents write scripts.
fn code_writes(code: &str) -> bool {
    const CALLS: [&str; 26] = [
        ".write_text(",
        ".write_bytes(",
        "writeFile",
        "appendFile",
        ".write(",
        "os.remove(",
        "os.rename(",
        "os.replace(",
        "shutil.",
        "unlink",
        "rmSync(",
        "renameSync(",
        "copyFile",
        "mkdirSync(",
        "os.makedirs(",
        ".mkdir(",
        "File.write(",
        "FileUtils.",
        "file_put_contents(",
        "inplace=True",
        "json.dump(",
        "yaml.dump(",
        ".to_csv(",
        ".savefig(",
        "createWriteStream(",
        "Deno.writeTextFile",
    ];
    CALLS.iter().any(|call| code.contains(call)) && !code.contains("sys.stdout.write(")
        || code.contains(", 'w')")
        || code.contains(", \"w\")")
}

fn of_git(args: &[String]) -> Effect {
    let Some((command, rest)) = git::command(args) else { return NOTHING };
    let has = |flags: &[&str]| rest.iter().any(|arg| flags.contains(&arg.as_str()));
    let first = rest.first().map_or("", String::as_str);
    let separated = rest.iter().position(|arg| arg == "--");
    let operands = || rest.iter().filter(|arg| !arg.starts_with('-')).cloned().collect::<Vec<String>>();
    match command {
        "apply" if has(&["--check", "--stat", "--numstat", "--summary"]) => NOTHING,
        "apply" | "am" | "restore"
            if command != "restore" || !has(&["--staged", "-S"]) || has(&["--worktree", "-W"]) =>
        {
            (true, Edits::Yes, if command == "restore" { operands() } else { Vec::new() })
        }
        "checkout" => match separated {
            Some(at) => (true, Edits::Yes, rest[at + 1..].to_vec()),
            // A branch or a file; what looks like a path is one.
            None if has(&["-b", "-B", "--orphan", "--detach"]) => NOTHING,
            None if first == "." || operands().len() > 1 => (true, Edits::Yes, operands()),
            None if has(&["-f", "--force", "-p", "--patch", "--ours", "--theirs"]) => (true, Edits::Yes, Vec::new()),
            None => NOTHING,
        },
        "mv" | "rm" if !has(&["--cached"]) => (true, Edits::Yes, operands()),
        "commit" | "tag" | "init" | "rm" => (true, Edits::No, Vec::new()),
        "cherry-pick" | "revert" if !has(&["--abort", "--quit", "--skip", "--continue"]) => {
            (true, Edits::Yes, Vec::new())
        }
        "merge" | "rebase" | "cherry-pick" | "revert" | "pull" => (true, Edits::Perhaps, Vec::new()),
        "stash" if matches!(first, "list" | "show" | "drop" | "clear" | "create" | "branch") => NOTHING,
        "stash" => (true, Edits::Yes, Vec::new()),
        "reset" if has(&["--hard", "--merge", "--keep"]) => (true, Edits::Yes, Vec::new()),
        "clean" if !has(&["-n", "--dry-run"]) => (true, Edits::Perhaps, Vec::new()),
        "submodule" if matches!(first, "add" | "update") => (true, Edits::Perhaps, Vec::new()),
        "clone" | "worktree" if command == "clone" || first == "add" => (true, Edits::No, Vec::new()),
        _ => NOTHING,
    }
}

/// `-i`, `-i.bak`, `--in-place`, `-pi`, `-Ei`.
fn in_place(arg: &str) -> bool {
    match arg.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.starts_with("-in-place"),
        Some(short) => short.split('.').next().is_some_and(|letters| letters.contains('i') && letters.len() <= 6),
        None => false,
    }
}

/// Files that are edited in place; without any it gets them elsewhere: `xargs sed -i`, `xargs perl -pi`.
fn of_files_or_elsewhere(files: Vec<String>) -> Effect {
    if files.is_empty() { (true, Edits::Yes, files) } else { of_files(files, Edits::Yes) }
}

/// `vim -es FILE -c '%s/a/b/' -c wq`, with its commands in arguments or in its input.
fn of_vim(args: &[String], input: Option<&str>) -> Effect {
    let (mut commands, mut files) = (Vec::new(), Vec::new());
    commands.extend(input.into_iter().flat_map(str::lines));
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "-c" | "--cmd" => commands.extend(rest.next().map(String::as_str)),
            "-u" | "-i" | "-S" | "-W" | "-T" => drop(rest.next()),
            arg if arg.starts_with('+') => commands.push(&arg[1..]),
            arg if arg.starts_with('-') => {}
            arg => files.push(arg.to_owned()),
        }
    }
    let saves = |command: &str| {
        let word = command.trim().trim_start_matches([':', '%']).split([' ', '!']).next().unwrap_or_default();
        matches!(
            word,
            "w" | "wq"
                | "x"
                | "xit"
                | "exit"
                | "up"
                | "update"
                | "wa"
                | "wall"
                | "wqa"
                | "wqall"
                | "xa"
                | "xall"
                | "write"
        )
    };
    if commands.iter().any(|command| command.split('|').any(saves)) { of_files(files, Edits::Yes) } else { NOTHING }
}

/// Files that are written, if one of them belongs to the project.
fn of_files(files: Vec<String>, edits: Edits) -> Effect {
    let files: Vec<String> = files.into_iter().filter(|file| !is_outside(file)).collect();
    // What lies where programs leave their results is hardly anybody's source.
    let made = || files.iter().all(|file| file.split('/').any(|part| part.len() > 1 && is_left_behind(part)));
    let edits = if files.is_empty() {
        Edits::No
    } else if made() {
        edits.min(Edits::Perhaps)
    } else {
        edits
    };
    (!files.is_empty(), edits, files)
}
