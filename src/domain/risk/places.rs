//! What follows from more than one piece of a path.

use super::name::Name;
use super::surface::Surface;

/// The heaviest surface that pieces of the path speak of together.
pub(super) fn surface(name: &Name) -> Surface {
    place(name).max(suffix(name))
}

/// Machine learning and graphics have models of their own.
pub(super) fn of_models(name: &Name) -> bool {
    const WORDS: &str = "3d bert blender checkpoint checkpoints diffusion embedding gltf gpt huggingface keras language \
                         learning llama llm llms mesh ml neural nn onnx pytorch resnet sklearn tensorflow torch train \
                         training transformer transformers weights";
    const ENDINGS: &str = "bin blend fbx gguf glb gltf h5 obj onnx pt pth safetensors stl tflite";
    ENDINGS.split(' ').any(|ending| ending == name.extension()) || WORDS.split(' ').any(|word| name.has(word))
}

/// Entities that nobody stores: of games, of markup, named ones in a text.
pub(super) fn of_other_entities(name: &Name) -> bool {
    ["ecs", "game", "html", "ner", "xml"].iter().any(|word| name.has(word))
}

/// What the last of several words of a file's name says: `UserRepository.java`, `user.model.ts`, `home_page.dart`.
fn suffix(name: &Name) -> Surface {
    let [.., _, last] = name.file_words() else { return Surface::None };
    match last.text.as_str() {
        "model" if of_models(name) || name.has("view") => Surface::None,
        "repository" if ["git", "hg", "svn", "host", "remote"].iter().any(|word| name.has(word)) => Surface::None,
        "entity" if of_other_entities(name) => Surface::None,
        "dao" | "entity" | "model" | "repository" => Surface::Data,
        "button" | "component" | "dialog" | "page" | "screen" | "activity" | "fragment" => Surface::Ui,
        _ => Surface::None,
    }
}

/// What the place of a file in its project says.
fn place(name: &Name) -> Surface {
    let pair = |outer: &[&str], inner: &[&str]| {
        name.dirs.windows(2).any(|dirs| outer.contains(&dirs[0].as_str()) && inner.contains(&dirs[1].as_str()))
    };
    let github = name.dirs.last().is_some_and(|dir| dir == ".github");
    let yaml = matches!(name.extension(), "yml" | "yaml");
    if pair(&[".github", ".gitea", ".forgejo"], &["workflows", "actions"])
        || (github && yaml && name.stem() != "funding")
        || name.dirs.first().is_some_and(|first| first == "ops")
        || of_a_cluster(name)
    {
        Surface::Infra
    } else if is_build_script(name) {
        Surface::Build
    } else if pair(&["res"], &["layout", "drawable", "values"]) || matches!(name.stem(), "style" | "styles") {
        Surface::Ui
    } else {
        Surface::None
    }
}

/// Charts and manifests of Kubernetes; an application's charts are drawn.
fn of_a_cluster(name: &Name) -> bool {
    let values =
        name.stem().strip_prefix("values").is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '_']));
    match name.extension() {
        "yml" | "yaml" => !name.under(&["src"]) && (values || name.under(&["charts", "manifests"])),
        "tpl" => name.under(&["charts"]),
        _ => false,
    }
}

/// `build.rs`, `scripts/build.sh`, `build/release.js`; inside the sources, to build is what the program does.
fn is_build_script(name: &Name) -> bool {
    const SCRIPTS: &str = "bash bat cake cjs cmd fsx js mjs pl ps1 py rb rs sh ts";
    if name.under(&["src", "lib", "app", "internal", "pkg"]) {
        return false;
    }
    let shell = matches!(name.extension(), "bash" | "bat" | "cmd" | "ps1" | "sh");
    let builds = match name.stem() {
        "build" => SCRIPTS.split(' ').any(|script| script == name.extension()),
        "autogen" | "bootstrap" | "configure" | "install" | "make" | "release" | "setup" => shell,
        _ => false,
    };
    builds || name.under(&["build"])
}
