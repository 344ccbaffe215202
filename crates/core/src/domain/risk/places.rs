//! What follows from more than one piece of a path.

use super::name::{Name, Word};
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

/// Tokens alone, in the languages that lexers are written in: what only its name says may be either.
pub(super) fn of_a_lexer(segment: &[Word], name: &Name) -> bool {
    const LANGUAGES: &str = "c cc cpp cs cxx d go h hh hpp hs java kt ml mli nim rs swift y zig";
    let of_it = |word: &&Word| word.text != "pb" && word.text != name.extension();
    let lone = segment.iter().filter(of_it).all(|word| matches!(word.text.as_str(), "token" | "tokens"));
    lone && LANGUAGES.split(' ').any(|language| language == name.extension())
}

/// Whether the place of the file gives a word another meaning.
pub(super) fn otherwise(word: &str, name: &Name) -> bool {
    match word {
        "role" => is_role_of_ansible(name),
        // The shape of a document or of a value, and no database.
        "schema" => is_schema_of_values(name),
        _ => false,
    }
}

/// `order.schema.json`, and `core/schemas.ts`: several of them in a file of code are of values, where no other word speaks of a database.
fn is_schema_of_values(name: &Name) -> bool {
    const STORES: &str = "data database databases db ddl dal drizzle entities entity migrate migration migrations model models orm \
                          persistence postgres prisma repository sql sqlite store storage table tables";
    let document = matches!(name.extension(), "json" | "yaml" | "yml") && name.stem().ends_with(".schema");
    let several = is_code(name) && name.stem().ends_with("schemas");
    document || several && !STORES.split(' ').any(|word| name.has(word))
}

/// `roles/<name>/tasks/main.yml`
fn is_role_of_ansible(name: &Name) -> bool {
    const PARTS: [&str; 7] = ["defaults", "files", "handlers", "meta", "tasks", "templates", "vars"];
    name.dirs.windows(3).any(|dirs| dirs[0] == "roles" && PARTS.contains(&dirs[2].as_str()))
}

/// Source code, as far as the ending says.
pub(super) fn is_code(name: &Name) -> bool {
    const CODE: &str = "bash c cc cjs clj cpp cs dart ex exs go h hpp hs java js kt lua m mjs ml php pl py r rb rs scala sh \
                        swift ts zig";
    CODE.split(' ').any(|ending| ending == name.extension())
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
        || is_role_of_ansible(name)
        || (yaml && name.file_words().iter().any(|word| word.text == "playbook"))
        || [".tf", ".tofu", ".tfvars"].iter().any(|ending| name.extension() == "json" && name.stem().ends_with(ending))
        || sets_an_application(name)
    {
        Surface::Infra
    } else if name.dirs.is_empty() && is_seed(name) {
        Surface::Data
    } else if is_build_script(name) || is_built(name) {
        Surface::Build
    } else if name.stem().ends_with(".blade")
        || pair(&["res"], &["layout", "drawable", "values"])
        || matches!(name.stem(), "style" | "styles")
    {
        Surface::Ui
    } else {
        Surface::None
    }
}

/// What a running application is told: where it runs, what it connects to. `appsettings.Production.json`,
/// `application-prod.yml`, `config/production.json`, `settings/base.py`.
fn sets_an_application(name: &Name) -> bool {
    let begins =
        |word: &str| name.stem().strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']));
    let last = name.file_words().last().map_or("", |word| word.text.as_str());
    let written = matches!(
        name.extension(),
        "cjs"
            | "conf"
            | "exs"
            | "ini"
            | "js"
            | "json"
            | "mjs"
            | "properties"
            | "py"
            | "rb"
            | "toml"
            | "ts"
            | "yaml"
            | "yml"
    );
    let dir = name.dirs.last().map_or("", String::as_str);
    let inside = written && matches!(dir, "conf" | "config" | "environments" | "settings");
    (name.extension() == "json" && begins("appsettings"))
        || (matches!(name.extension(), "conf" | "properties" | "yaml" | "yml") && begins("application"))
        || (inside && matches!(last, "dev" | "development" | "prod" | "production" | "runtime" | "stage" | "staging"))
        || (inside && matches!(name.stem(), "application" | "base" | "default"))
}

/// What fills a database to begin with; deeper in the sources, a seed may be that of random numbers.
fn is_seed(name: &Name) -> bool {
    matches!(name.stem(), "seed" | "seeds")
        && matches!(name.extension(), "exs" | "js" | "mjs" | "php" | "py" | "rb" | "ts")
}

/// What was built and is checked in all the same: nobody reads it.
fn is_built(name: &Name) -> bool {
    name.under(&["dist"])
        && !name.under(&["src"])
        && matches!(name.extension(), "cjs" | "css" | "js" | "map" | "mjs" | "wasm" | "whl")
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
