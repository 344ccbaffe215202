//! What names of files and directories say, whole names and endings.

use super::name::Name;
use super::surface::Surface;

/// Text for people, whatever its name: its ending says so, or the directory of the documentation around it.
pub(super) fn is_prose(name: &Name) -> bool {
    if name.under(&["docs", "doc", "documentation"]) {
        return true;
    }
    let prose = matches!(name.extension(), "md" | "mdx" | "markdown" | "rst" | "adoc" | "asciidoc" | "txt");
    prose && !is_manifest(name)
}

/// Lists of dependencies and build rules that only end like prose.
fn is_manifest(name: &Name) -> bool {
    let stem = name.stem();
    let pip = ["requirements", "constraints"].iter().any(|list| stem.starts_with(list) || stem.ends_with(list));
    name.extension() == "txt"
        && (pip
            || matches!(stem, "cmakelists" | "meson_options" | "conanfile")
            || name.dirs.last().is_some_and(|dir| dir == "requirements"))
}

/// The heaviest surface that the file's name, its ending or a directory speaks of.
pub(super) fn surface(name: &Name) -> Surface {
    let dirs = name.dirs.iter().map(|dir| directory(dir)).max().unwrap_or_default();
    [dirs, file(name), ending(name), suffix(name), place(name)].into_iter().max().unwrap_or_default()
}

/// Directories that say what lies in them; single words of their names are looked up elsewhere.
fn directory(dir: &str) -> Surface {
    match dir {
        ".ssh" | ".aws" | ".gnupg" | "pam.d" => Surface::Auth,
        "entities" | "models" | "repositories" | "seeds" | "daos" => Surface::Data,
        "group_vars" | "host_vars" | "playbooks" | "crds" | "cron.d" => Surface::Infra,
        ".cargo" | ".mvn" | ".yarn" | "build-logic" | "buildsrc" | "debian" | "node_modules" | "packaging"
        | "submodules" | "third-party" | "third_party" | "thirdparty" | "vendor" | "vendored" => Surface::Build,
        "components" | "css" | "fonts" | "i18n" | "icons" | "layouts" | "locales" | "pages" | "partials"
        | "screens" | "styles" | "templates" | "translations" | "views" | "widgets" => Surface::Ui,
        "__mocks__" | "__snapshots__" | "__tests__" | "benches" | "golden" => Surface::Test,
        "man" | "javadoc" => Surface::Docs,
        _ => Surface::None,
    }
}

/// Whole names of files.
fn file(name: &Name) -> Surface {
    let starts = |prefix: &str| name.file == prefix || name.file.starts_with(&format!("{prefix}."));
    if starts(".env") || name.file == ".envrc" || starts("htpasswd") || starts("serviceaccount") {
        return Surface::Auth;
    }
    if starts("compose") && matches!(name.extension(), "yml" | "yaml") {
        return Surface::Infra;
    }
    if starts("tsconfig") || starts("build.gradle") || starts("settings.gradle") || is_manifest(name) {
        return Surface::Build;
    }
    if tool_settings(name) {
        return Surface::Build;
    }
    if name.extension().is_empty() && is_notice(&name.file) {
        return Surface::Docs;
    }
    whole(&name.file)
}

/// `LICENSE-MIT`, `AUTHORS`, `NEWS`: prose without an ending.
fn is_notice(file: &str) -> bool {
    let first = file.split(['-', '_']).next().unwrap_or_default();
    matches!(
        first,
        "authors"
            | "changes"
            | "contributors"
            | "copying"
            | "copyright"
            | "credits"
            | "history"
            | "install"
            | "licence"
            | "license"
            | "maintainers"
            | "news"
            | "notice"
            | "thanks"
            | "todo"
    )
}

/// `vite.config.ts`, `.prettierrc.json`, `jest.setup.js`: settings of the tools that build and check.
fn tool_settings(name: &Name) -> bool {
    let script = matches!(name.extension(), "js" | "cjs" | "mjs" | "ts" | "cts" | "mts");
    let stem = name.stem();
    (script && (stem.ends_with(".config") || stem.ends_with(".conf")))
        || (stem.starts_with('.') && stem.ends_with("rc"))
}

fn whole(file: &str) -> Surface {
    match file {
        "shadow" => Surface::Auth,
        "models.py" | "model.prisma" | "structure.sql" => Surface::Data,
        "action.yml"
        | "action.yaml"
        | "app.yaml"
        | "bitbucket-pipelines.yml"
        | ".drone.yml"
        | ".firebaserc"
        | "berksfile"
        | "chart.lock"
        | "chart.yaml"
        | "firebase.json"
        | "fly.toml"
        | "hosts.ini"
        | "httpd.conf"
        | "railway.json"
        | "railway.toml"
        | "render.yaml" => Surface::Infra,
        ".bazelversion"
        | ".clang-format"
        | ".clang-tidy"
        | ".editorconfig"
        | ".flake8"
        | ".gitattributes"
        | ".gitmodules"
        | ".golangci.yml"
        | ".golangci.yaml"
        | ".goreleaser.yml"
        | ".goreleaser.yaml"
        | ".java-version"
        | ".node-version"
        | ".nvmrc"
        | ".pnpmfile.cjs"
        | ".pre-commit-config.yaml"
        | ".python-version"
        | ".rubocop.yml"
        | ".ruby-version"
        | ".tool-versions"
        | "androidmanifest.xml"
        | "appveyor.yml"
        | "biome.json"
        | "biome.jsonc"
        | "brewfile"
        | "buck"
        | "build"
        | "build.bazel"
        | "build.boot"
        | "build.mill"
        | "build.properties"
        | "build.sbt"
        | "build.sc"
        | "build.xml"
        | "build.zig"
        | "build.zig.zon"
        | "bun.lock"
        | "bun.lockb"
        | "bunfig.toml"
        | "cabal.project"
        | "cargo.lock"
        | "cargo.toml"
        | "cartfile"
        | "cartfile.resolved"
        | "clippy.toml"
        | "cmakepresets.json"
        | "composer.json"
        | "composer.lock"
        | "conanfile.py"
        | "configure"
        | "configure.ac"
        | "configure.in"
        | "cpanfile"
        | "cross.toml"
        | "deno.json"
        | "deno.jsonc"
        | "deny.toml"
        | "deps.edn"
        | "description"
        | "directory.build.props"
        | "directory.build.targets"
        | "directory.packages.props"
        | "dub.json"
        | "dub.sdl"
        | "dune"
        | "dune-project"
        | "elm.json"
        | "environment.yaml"
        | "environment.yml"
        | "esy.json"
        | "gemfile.lock"
        | "global.json"
        | "glide.yaml"
        | "go.mod"
        | "go.sum"
        | "go.work"
        | "go.work.sum"
        | "gopkg.toml"
        | "gradle.properties"
        | "hatch.toml"
        | "info.plist"
        | "ivy.xml"
        | "just"
        | "lefthook.yml"
        | "lerna.json"
        | "libs.versions.toml"
        | "manifest.in"
        | "manifest.toml"
        | "meson.build"
        | "meson.options"
        | "mise.toml"
        | "mix.exs"
        | "mix.lock"
        | "module.bazel"
        | "module.bazel.lock"
        | "mypy.ini"
        | "namespace"
        | "ng-package.json"
        | "noxfile.py"
        | "nuget.config"
        | "nx.json"
        | "angular.json"
        | "package-lock.json"
        | "package.json"
        | "package.resolved"
        | "package.swift"
        | "package.yaml"
        | "packages.config"
        | "packages.lock.json"
        | "pants.toml"
        | "paket.dependencies"
        | "pdm.toml"
        | "phpstan.neon"
        | "pipfile"
        | "pixi.toml"
        | "pkgbuild"
        | "platformio.ini"
        | "pnpm-lock.yaml"
        | "pnpm-workspace.yaml"
        | "pom.xml"
        | "premake5.lua"
        | "project.clj"
        | "project.json"
        | "project.pbxproj"
        | "project.toml"
        | "pubspec.lock"
        | "pubspec.yaml"
        | "pylintrc"
        | "pyproject.toml"
        | "rebar.config"
        | "rebar.lock"
        | "renv.lock"
        | "ruff.toml"
        | "rust-toolchain"
        | "rustfmt.toml"
        | "setup.cfg"
        | "setup.py"
        | "shadow-cljs.edn"
        | "shard.lock"
        | "shard.yml"
        | "snapcraft.yaml"
        | "stack.yaml"
        | "npm-shrinkwrap.json"
        | "taskfile.yaml"
        | "taskfile.yml"
        | "tox.ini"
        | "turbo.json"
        | "uv.toml"
        | "workspace"
        | "workspace.bazel"
        | "wscript"
        | "xmake.lua"
        | "yarn.lock" => Surface::Build,
        _ => Surface::None,
    }
}

/// What the part after the last dot says.
fn ending(name: &Name) -> Surface {
    match name.extension() {
        "cedar" | "cer" | "crt" | "csr" | "der" | "entitlements" | "env" | "gpg" | "htpasswd" | "jks" | "kdbx"
        | "key" | "keystore" | "ovpn" | "p12" | "p8" | "pem" | "pfx" | "pkcs12" | "ppk" | "rego" => Surface::Auth,
        "db" if name.file == "thumbs.db" => Surface::None,
        "avsc" | "bacpac" | "cql" | "dacpac" | "db" | "db3" | "dbml" | "ddl" | "edmx" | "hql" | "mdb" | "prisma"
        | "proto" | "psql" | "rdb" | "sql" | "sqlite" | "sqlite3" => Surface::Data,
        "bicep" | "containerfile" | "dockerfile" | "hcl" | "nomad" | "service" | "socket" | "tf" | "tfstate"
        | "tfvars" | "timer" => Surface::Infra,
        "ac" | "am" | "bazel" | "bzl" | "cabal" | "cmake" | "csproj" | "fsproj" | "gemspec" | "gradle" | "iml"
        | "lock" | "lockb" | "mk" | "nimble" | "ninja" | "nix" | "nuspec" | "opam" | "pbxproj" | "podspec" | "pri"
        | "props" | "rockspec" | "sln" | "slnx" | "targets" | "vbproj" | "vcxproj" | "xcconfig" | "xcscheme" => {
            Surface::Build
        }
        "arb" | "astro" | "axaml" | "blade" | "cshtml" | "css" | "eex" | "ejs" | "erb" | "fxml" | "gif" | "haml"
        | "handlebars" | "hbs" | "heex" | "htm" | "html" | "ico" | "jade" | "jinja" | "jinja2" | "jpeg" | "jpg"
        | "jsp" | "jspx" | "jsx" | "leex" | "less" | "liquid" | "mustache" | "njk" | "phtml" | "png" | "po" | "pug"
        | "qml" | "razor" | "resx" | "sass" | "scss" | "slim" | "storyboard" | "styl" | "svelte" | "svg" | "templ"
        | "tsx" | "twig" | "ttf" | "vue" | "webp" | "woff" | "woff2" | "xaml" | "xib" | "xliff" => Surface::Ui,
        "feature" | "snap" => Surface::Test,
        "bib" | "docx" | "odt" | "org" | "pdf" | "pod" | "rdoc" | "tex" | "textile" | "wiki" => Surface::Docs,
        _ => Surface::None,
    }
}

/// What the last of several words of a file's name says: `UserRepository.java`, `user.model.ts`, `home_page.dart`.
fn suffix(name: &Name) -> Surface {
    let [.., _, last] = name.file_words() else { return Surface::None };
    let beside = |words: &[&str]| words.iter().any(|word| name.has(word));
    match last.text.as_str() {
        "model"
            if beside(&[
                "language", "llm", "ml", "nn", "torch", "train", "training", "view", "neural", "mesh", "3d",
            ]) =>
        {
            Surface::None
        }
        "repository" if beside(&["git", "hg", "svn", "host", "remote"]) => Surface::None,
        "entity" if beside(&["html", "xml", "ecs", "game", "ner"]) => Surface::None,
        "dao" | "entity" | "model" | "repository" => Surface::Data,
        "button" | "component" | "dialog" | "page" | "screen" | "activity" | "fragment" => Surface::Ui,
        _ => Surface::None,
    }
}

/// What only the place of a file in its project says.
fn place(name: &Name) -> Surface {
    let yaml = matches!(name.extension(), "yml" | "yaml" | "tpl" | "json");
    let pair = |outer: &[&str], inner: &[&str]| {
        name.dirs.windows(2).any(|d| outer.contains(&d[0].as_str()) && inner.contains(&d[1].as_str()))
    };
    if pair(&["res"], &["layout", "drawable", "values"]) {
        return Surface::Ui;
    }
    if pair(&[".github", ".gitea", ".forgejo"], &["workflows", "actions"]) {
        return Surface::Infra;
    }
    if yaml && (name.under(&["charts", "manifests"]) || name.file.starts_with("values")) && !name.under(&["src"]) {
        return Surface::Infra;
    }
    if name.dirs.first().is_some_and(|first| first == "ops") {
        return Surface::Infra;
    }
    if is_build_script(name) { Surface::Build } else { Surface::None }
}

/// `build.rs`, `scripts/build.sh`, `build/release.js`; inside the sources, to build is what the program does.
fn is_build_script(name: &Name) -> bool {
    if name.under(&["src", "lib", "app", "internal", "pkg"]) {
        return false;
    }
    let script = matches!(
        name.extension(),
        "bash"
            | "bat"
            | "cake"
            | "cjs"
            | "cmd"
            | "fsx"
            | "js"
            | "mjs"
            | "pl"
            | "ps1"
            | "py"
            | "rb"
            | "rs"
            | "sh"
            | "ts"
    );
    let shell = matches!(name.extension(), "bash" | "bat" | "cmd" | "ps1" | "sh");
    name.under(&["build"])
        || (script && name.stem() == "build")
        || (shell
            && matches!(name.stem(), "autogen" | "bootstrap" | "configure" | "install" | "make" | "release" | "setup"))
}
