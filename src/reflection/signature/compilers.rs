//! gcc, clang, javac and mypy (which print like them), C# and Kotlin, the linker, and make.

use super::found::{Found, Frame, last_match, pattern};
use super::place::place;
use super::shell;

/// `total.c:2:16: error: ‘missing’ undeclared`, and as Maven has it: `[ERROR] /x/Cart.java:[6,59] cannot find symbol`.
pub(super) fn compiler(lines: &[&str]) -> Option<Found> {
    pattern!(
        ERROR,
        r"^([^\s:\[][^:]*\.(?:c|h|cc|cpp|cxx|c\+\+|hh|hpp|hxx|m|mm|cu|S|pyi?|java)):(\d+):(?:\d+:)? (?:fatal )?error: (.+?)(?:  ?\[([\w=+-]+)\])?$"
    );
    pattern!(MAVEN, r"^\[ERROR\] (\S+\.java):\[(\d+),\d+\] (?:error: )?(.+)()$");
    pattern!(CLANG, r"^\d+ (?:warnings? and \d+ )?errors? generated\.$");
    let of_maven = lines.iter().find_map(|line| MAVEN.captures(line));
    let by = if of_maven.is_some() { &MAVEN } else { &ERROR };
    let error = of_maven.or_else(|| lines.iter().find_map(|line| ERROR.captures(line)))?;
    let clang = last_match(lines, &CLANG);
    Some(Found {
        tool: match (error[1].rsplit_once('.'), clang) {
            (Some((_, "py" | "pyi")), _) => "mypy",
            (Some((_, "java")), _) => "javac",
            (_, Some(_)) => "clang",
            (_, None) => "gcc",
        },
        code: error.get(4).map(|code| code.as_str().to_owned()).filter(|code| !code.is_empty()),
        message: Some(error[3].to_owned()),
        detail: Some(error[3].to_owned()),
        frame: Some(Frame::new(&error[1], Some(&error[2]))),
        last_mark: last_match(lines, by)?.max(clang.unwrap_or(0)),
        ..Found::default()
    })
}

/// `/x/Cart.cs(6,9): error CS0103: The name 'price' does not exist [/x/cart.csproj]`, and `e: file:///x/Cart.kt:6:9 Unresolved reference`.
pub(super) fn csharp_or_kotlin(lines: &[&str]) -> Option<Found> {
    pattern!(DOTNET, r"^\s*(\S.*?\.(?:cs|fs|vb))\((\d+),\d+\): error ([A-Z]+\d+): (.+?)(?: \[[^\]]+\])?$");
    pattern!(KOTLIN, r"^e: (?:file://)?(\S+\.kts?):(\d+):\d+:?() (.+)$");
    let of = |tool, by: &'static std::sync::LazyLock<regex::Regex>| {
        let error = lines.iter().find_map(|line| by.captures(line))?;
        Some(Found {
            tool,
            code: Some(error[3].to_owned()).filter(|code| !code.is_empty()),
            message: Some(error[4].to_owned()),
            detail: Some(error[4].to_owned()),
            frame: Some(Frame::new(&error[1], Some(&error[2]))),
            last_mark: last_match(lines, by)?,
            ..Found::default()
        })
    };
    of("dotnet build", &DOTNET).or_else(|| of("kotlinc", &KOTLIN))
}

pattern!(
    pub(super) UNDEFINED,
    r"^(?:\S*ld(?:\.\w+)?: )?(?:(\S+?):\(.*\): )?((?:undefined reference to|multiple definition of|cannot find -l) ?.+)$"
);

/// `main.c:(.text+0x5): undefined reference to 'helper'`.
pub(super) fn linker(lines: &[&str]) -> Option<Found> {
    pattern!(END, r"^(?:collect2: error: ld returned|clang: error: linker command failed)");
    let last_mark = last_match(lines, &END)?;
    let first = lines.iter().find_map(|line| UNDEFINED.captures(line));
    let message = first.as_ref().map(|first| first[2].to_owned());
    Some(Found {
        tool: "ld",
        detail: message.clone(),
        message,
        frame: first.and_then(|first| Some(Frame::new(first.get(1)?.as_str(), None))),
        last_mark,
        ..Found::default()
    })
}

// File, line, target, and how its recipe ended.
pattern!(STOP, r"^\S*make(?:\[\d+\])?: \*\*\* (?:\[(?:(\S+):(\d+): )?([^\]]+)\] )?(.+)$");

/// The target that make could not make, as this line says; of an absolute path, the file.
pub(super) fn target(line: &str) -> Option<String> {
    pattern!(ABSENT, r"^No rule to make target [`'](.+?)'");
    let stop = STOP.captures(line)?;
    let target = match stop.get(3) {
        Some(target) => target.as_str().to_owned(),
        None => ABSENT.captures(&stop[4])?[1].to_owned(),
    };
    Some(place(&Frame::new(&target, None)))
}

/// What is said of a recipe that failed and has printed nothing.
pub(super) fn silent_recipe(line: &str) -> Option<String> {
    let stop = STOP.captures(line)?;
    Some(format!("recipe for target '{}' failed: {}", &stop.get(3)?.as_str(), &stop[4]))
}

/// make, where nothing it ran was recognised: what was printed last before make gave up, and the rule.
pub(super) fn make(lines: &[&str]) -> Option<Found> {
    let at = lines.iter().position(|line| STOP.is_match(line))?;
    let stop = STOP.captures(lines[at])?;
    let recipe = stop.get(3).map(|target| target.as_str());
    let said = recipe.and_then(|_| shell::words(&lines[..at]));
    let message = said
        .map(|said| said.message.unwrap_or_default())
        .or_else(|| silent_recipe(lines[at]))
        .unwrap_or_else(|| stop[4].trim_end_matches("  Stop.").to_owned());
    Some(Found {
        tool: "make",
        detail: Some(message.clone()),
        message: Some(message),
        frame: stop.get(1).map(|file| Frame::new(file.as_str(), stop.get(2).map(|line| line.as_str()))),
        last_mark: at,
        ..Found::default()
    })
}
