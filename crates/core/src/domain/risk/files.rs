//! What names of directories and files say, whole names and endings.

use super::name::Name;
use super::places;
use super::surface::Surface;
use super::words::index;
use crate::toolchain;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Text for people, whatever its name: its ending says so, or the directory of the documentation around it.
pub(super) fn is_prose(name: &Name) -> bool {
    if name.under(&["docs", "doc", "documentation"]) {
        return true;
    }
    // How to report a hole, not a part of the program.
    if name.file == "security" && name.dirs.iter().all(|dir| dir == ".github") {
        return true;
    }
    let prose = matches!(name.extension(), "md" | "mdx" | "markdown" | "rst" | "adoc" | "asciidoc" | "txt");
    prose && !is_manifest(name)
}

/// Text that a directory has for who looks into it.
pub(super) fn is_about_its_directory(name: &Name) -> bool {
    const NAMES: [&str; 10] =
        ["readme", "changelog", "changes", "contributing", "license", "licence", "notice", "todo", "notes", "history"];
    let is_page = |stem: &str| NAMES.iter().any(|known| stem.starts_with(known));
    is_page(name.stem()) || name.under(&["docs", "doc", "documentation"])
}

/// Lists of dependencies and build rules that only end like prose.
fn is_manifest(name: &Name) -> bool {
    let stem = name.stem().trim_end_matches(".txt");
    let pip = ["requirements", "constraints"].iter().any(|list| stem.starts_with(list) || stem.ends_with(list));
    matches!(name.extension(), "txt" | "in")
        && (pip
            || matches!(stem, "cmakelists" | "meson_options" | "conanfile")
            || name.dirs.last().is_some_and(|dir| dir == "requirements"))
}

/// The heaviest surface that the file's name, its ending or a directory speaks of.
pub(super) fn surface(name: &Name) -> Surface {
    let dirs = name.dirs.iter().map(|dir| directory(dir, name));
    let ending = match name.file.as_str() {
        // Pictures of a directory, on Windows.
        "thumbs.db" => Surface::None,
        _ => ENDING_TABLE.get(name.extension()).copied().unwrap_or_default(),
    };
    dirs.chain([file(name), ending]).max().unwrap_or_default()
}

static DIRECTORY_TABLE: LazyLock<HashMap<&str, Surface>> = LazyLock::new(|| index(&DIRECTORIES));
static FILE_TABLE: LazyLock<HashMap<&str, Surface>> = LazyLock::new(|| index(&FILES));
static ENDING_TABLE: LazyLock<HashMap<&str, Surface>> = LazyLock::new(|| index(&ENDINGS));

/// What lies in directories of these names; single words of them are looked up elsewhere.
const DIRECTORIES: [(Surface, &str); 7] = [
    (Surface::Auth, ".aws .gnupg .ssh pam.d"),
    (Surface::Data, "daos entities models repositories seeds"),
    (Surface::Infra, ".ebextensions cookbooks crds cron.d group_vars host_vars packer playbooks"),
    (
        Surface::Build,
        ".cargo .mvn .yarn build-logic buildsrc debian node_modules packaging submodules third-party third_party \
         thirdparty vendor vendored",
    ),
    (
        Surface::Ui,
        "components css fonts i18n icons l10n layouts locale locales pages partials screens styles templates \
         translations views widgets",
    ),
    (Surface::Test, "benches"),
    (Surface::Docs, "javadoc man"),
];

/// Whole names of files.
const FILES: [(Surface, &str); 4] = [
    (
        Surface::Auth,
        // Keys and passwords of the application's, as in `.env`.
        "ability.rb google-services.json googleservice-info.plist local.settings.json shadow wp-config-sample.php \
         wp-config.php",
    ),
    (Surface::Data, "model.prisma models.go models.js models.php models.py models.rb models.ts structure.sql"),
    (
        Surface::Infra,
        ".appveyor.yml .drone.yml .firebaserc action.yaml action.yml app.yaml appveyor.yml berksfile bitbucket-pipelines.yml chart.lock \
         chart.yaml firebase.json fly.toml hosts.ini httpd.conf local_settings.py railway.json railway.toml render.yaml settings.py",
    ),
    (
        Surface::Build,
        ".bazelversion .clang-format .clang-tidy .editorconfig .flake8 .gitattributes .gitmodules .golangci.yaml .golangci.yml \
         .goreleaser.yaml .goreleaser.yml .java-version .node-version .nvmrc .pnpmfile.cjs .pre-commit-config.yaml \
         .python-version .rubocop.yml .ruby-version .tool-versions androidmanifest.xml angular.json biome.json biome.jsonc \
         brewfile buck build build.bazel build.boot build.mill build.properties build.sc build.xml bunfig.toml \
         cabal.project cartfile cartfile.resolved clippy.toml cmakepresets.json configure configure.ac configure.in cross.toml \
         deny.toml description directory.build.props directory.build.targets dub.json dub.sdl dune dune-project \
         elm.json environment.yaml environment.yml esy.json glide.yaml gopkg.toml gradle.properties hatch.toml info.plist ivy.xml \
         lefthook.yml lerna.json manifest.in manifest.toml meson.build meson.options mise.toml module.bazel module.bazel.lock \
         mypy.ini namespace ng-package.json noxfile.py nx.json package.yaml packages.config paket.dependencies pants.toml \
         pdm.toml phpstan.neon pixi.toml pkgbuild platformio.ini premake5.lua project.json project.pbxproj project.toml pylintrc \
         reflexion.json rebar.config rebar.lock renv.lock ruff.toml rush.json rustfmt.toml shadow-cljs.edn shard.lock shard.yml \
         snapcraft.yaml taskfile.yaml taskfile.yml tox.ini turbo.json uv.toml workspace workspace.bazel wscript xmake.lua",
    ),
];

/// What stands behind the last dot.
const ENDINGS: [(Surface, &str); 6] = [
    (
        Surface::Auth,
        "cedar cer crt csr der entitlements env gpg htpasswd jks kdbx key keystore ovpn p12 p8 pem pfx pkcs12 ppk \
         rego",
    ),
    (Surface::Data, "avsc bacpac cql dacpac db db3 dbml ddl edmx hql mdb prisma proto psql rdb sql sqlite sqlite3"),
    (Surface::Infra, "bicep containerfile dockerfile hcl nomad service sls socket tf tfstate tfvars timer tofu"),
    (
        Surface::Build,
        "ac am bazel bzl cabal cmake csproj fsproj gemspec gradle iml lock lockb mk nimble ninja nix nuspec opam \
         pbxproj podspec pri pro props rockspec sln slnx spec targets vbproj vcxproj xcconfig xcscheme",
    ),
    (
        Surface::Ui,
        "arb astro axaml blade cshtml css eex ejs erb fxml gif haml handlebars hbs heex htm html ico jade jinja \
         jinja2 jpeg jpg jsp jspx jsx leex less liquid mustache njk phtml png po pug qml razor resx sass scss slim \
         storyboard styl svelte svg templ tsx ttf twig vue webp woff woff2 xaml xib xliff",
    ),
    (Surface::Docs, "bib docx odt org pdf pod rdoc tex textile wiki"),
];

/// What lies in a directory of this name, if nothing else of the path speaks against it.
fn directory(dir: &str, name: &Name) -> Surface {
    match dir {
        "models" if places::of_models(name) => Surface::None,
        "seeds" if name.has("fuzz") || name.has("corpus") => Surface::Test,
        "entities" if places::of_other_entities(name) => Surface::None,
        // Pundit and Laravel say there who may do what.
        "policies" if matches!(name.extension(), "rb" | "php") => Surface::Auth,
        _ => DIRECTORY_TABLE.get(dir).copied().unwrap_or_default(),
    }
}

/// Whole names of files.
fn file(name: &Name) -> Surface {
    let starts = |prefix: &str| name.file == prefix || name.file.starts_with(&format!("{prefix}."));
    if starts(".env") || starts(".envrc") || starts("htpasswd") || starts("serviceaccount") {
        return Surface::Auth;
    }
    if starts("compose") && matches!(name.extension(), "yml" | "yaml") {
        return Surface::Infra;
    }
    if starts("tsconfig")
        || starts("build.gradle")
        || starts("settings.gradle")
        || is_manifest(name)
        || sets_a_tool(name)
    {
        return Surface::Build;
    }
    if name.extension().is_empty() && is_notice(&name.file) {
        return Surface::Docs;
    }
    let of_tools = || toolchain::says_what_is_installed(&name.file).then_some(Surface::Build);
    FILE_TABLE.get(name.file.as_str()).copied().or_else(of_tools).unwrap_or_default()
}

/// `LICENSE-MIT`, `AUTHORS`, `NEWS`: prose without an ending.
fn is_notice(file: &str) -> bool {
    const NOTICES: &str = "authors changes contributors copying copyright credits history install licence license \
                           maintainers news notice thanks todo";
    let first = file.split(['-', '_']).next().unwrap_or_default();
    NOTICES.split(' ').any(|notice| notice == first)
}

/// `vite.config.ts`, `.prettierrc.json`, `.swiftlint.yml`: settings of the tools that build and check.
fn sets_a_tool(name: &Name) -> bool {
    const SHELLS: [&str; 8] = ["bash", "curl", "input", "psql", "screen", "vim", "wget", "zsh"];
    let stem = name.stem();
    let script = matches!(name.extension(), "js" | "cjs" | "mjs" | "ts" | "cts" | "mts");
    let rc = |file: &str| file.strip_prefix('.')?.strip_suffix("rc").map(|tool| !SHELLS.contains(&tool));
    (script && (stem.ends_with(".config") || stem.ends_with(".conf")))
        || rc(&name.file).or(rc(stem)).unwrap_or(false)
        || (name.file.starts_with('.') && name.file.contains("lint"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_in_its_table_once_in_lower_case() {
        let check = |lists: &[(Surface, &str)], table: &HashMap<&str, Surface>| {
            let names: Vec<&str> = lists.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
            assert_eq!(names.len(), table.len());
            names.iter().for_each(|name| assert_eq!(*name, name.to_lowercase()));
        };
        check(&DIRECTORIES, &DIRECTORY_TABLE);
        check(&FILES, &FILE_TABLE);
        check(&ENDINGS, &ENDING_TABLE);
    }
}
