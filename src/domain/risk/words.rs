//! What single words of a path say, wherever they stand in it.
//!
//! The tables hold whole words in the singular; a plural and a number behind a word (`logins`, `oauth2`) are looked up
//! without. Where only the case separates words, what they form together counts too (`OAuth`, `LogIn`, `MySQL`).

use super::name::Name;
use super::surface::Surface;

/// The heaviest surface that a word of the path speaks of.
pub(super) fn surface(name: &Name) -> Surface {
    let all = name.words.iter().flatten();
    let alone = all.flat_map(|word| [Some(&word.text), word.whole.as_ref()]).flatten().map(|word| of(word, name));
    let neighbours = name.words.iter().flat_map(|segment| segment.windows(2));
    let pairs = neighbours.map(|pair| pair_of(&format!("{} {}", pair[0].text, pair[1].text)));
    alone.chain(pairs).max().unwrap_or_default()
}

/// A word, without what does not change its meaning, unless another word of the path gives it another one.
fn of(word: &str, name: &Name) -> Surface {
    let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let singular = plain.strip_suffix('s').filter(|singular| singular.len() > 2);
    let forms = [Some(word), Some(plain), singular];
    let meant = |form: &&str| !unless(form).iter().any(|other| name.has(other));
    forms.into_iter().flatten().filter(meant).map(|form| table(form).max(of_compound(form))).max().unwrap_or_default()
}

/// What a word means.
fn table(word: &str) -> Surface {
    match word {
        "2fa" | "abac" | "acl" | "apikey" | "argon2" | "auth" | "auth0" | "authelia" | "authenticate"
        | "authenticated" | "authenticating" | "authentication" | "authenticator" | "authlib" | "authn"
        | "authorisation" | "authorise" | "authorised" | "authoriser" | "authorization" | "authorize"
        | "authorized" | "authorizer" | "authz" | "autologin" | "bcrypt" | "captcha" | "casbin" | "cert"
        | "certificate" | "certbot" | "cipher" | "clientsecret" | "cognito" | "cookie" | "cors" | "credential"
        | "cred" | "crypto" | "cryptography" | "csrf" | "decrypt" | "decryption" | "devise" | "encrypt"
        | "encryption" | "entitlement" | "fido" | "fido2" | "gpg" | "hotp" | "htaccess" | "htpasswd" | "iam"
        | "identity" | "idp" | "impersonate" | "impersonation" | "jose" | "jwe" | "jwk" | "jwks" | "jws" | "jwt"
        | "kerberos" | "keychain" | "keycloak" | "keyring" | "keystore" | "kms" | "krb5" | "kubeconfig" | "ldap"
        | "login" | "logoff" | "logon" | "logout" | "mfa" | "mtls" | "netrc" | "nextauth" | "oauth" | "oauth2"
        | "oidc" | "okta" | "openid" | "openssl" | "otp" | "passcode" | "passkey" | "passphrase" | "passport"
        | "passwd" | "password" | "passwordless" | "pbkdf" | "pbkdf2" | "permission" | "pgp" | "pgpass" | "pki"
        | "privilege" | "pypirc" | "rbac" | "recaptcha" | "role" | "rolebinding" | "saml" | "scrypt" | "secret"
        | "security" | "session" | "shiro" | "signin" | "signon" | "signout" | "signup" | "sops" | "ssl" | "sso"
        | "sudo" | "sudoer" | "tls" | "token" | "totp" | "truststore" | "unauthenticated" | "unauthorized"
        | "userinfo" | "vault" | "webauthn" | "x509" | "xsrf" | "xss" => Surface::Auth,
        "activerecord" | "alembic" | "backup" | "bigquery" | "cassandra" | "clickhouse" | "cockroachdb"
        | "couchbase" | "couchdb" | "database" | "datastore" | "db" | "dbal" | "dbt" | "ddl" | "dml" | "drizzle"
        | "duckdb" | "dynamodb" | "ecto" | "elasticsearch" | "eloquent" | "etl" | "flyway" | "hasura" | "hibernate"
        | "influxdb" | "jpa" | "knex" | "knexfile" | "liquibase" | "mariadb" | "migrate" | "migration" | "migrator"
        | "mikroorm" | "mongo" | "mongodb" | "mongoid" | "mongoose" | "mssql" | "mybatis" | "mysql" | "neo4j"
        | "nosql" | "orm" | "ormconfig" | "pgsql" | "pgvector" | "plpgsql" | "plsql" | "postgre" | "postgres"
        | "postgresql" | "postgrest" | "prisma" | "redis" | "redshift" | "schema" | "schemata" | "seeder"
        | "sequelize" | "sql" | "sqlalchemy" | "sqlc" | "sqlite" | "sqlite3" | "sqlx" | "supabase" | "timescale"
        | "timescaledb" | "tortoise" | "typeorm" => Surface::Data,
        "ansible" | "appspec" | "argocd" | "autoscaler" | "autoscaling" | "aws" | "azure" | "buildkite"
        | "buildspec" | "caddy" | "caddyfile" | "cdk" | "ci" | "cicd" | "circleci" | "cloudbuild" | "cloudflare"
        | "cloudformation" | "cloudrun" | "codebuild" | "codedeploy" | "codeowner" | "containerd" | "containerfile"
        | "coredns" | "cronjob" | "crontab" | "daemonset" | "deploy" | "deployer" | "deployment" | "devcontainer"
        | "devops" | "docker" | "dockerfile" | "dockerignore" | "eks" | "envoy" | "fargate" | "firewall" | "fluxcd"
        | "gcp" | "gke" | "grafana" | "haproxy" | "helm" | "helmfile" | "helmrelease" | "heroku" | "iac" | "infra"
        | "infrastructure" | "ingress" | "iptable" | "istio" | "jenkins" | "jenkinsfile" | "k3s" | "k8s" | "kafka"
        | "kube" | "kubectl" | "kubernetes" | "kustomization" | "kustomize" | "linkerd" | "loadbalancer"
        | "minikube" | "netlify" | "nginx" | "nomad" | "openshift" | "opentofu" | "packer" | "podman" | "procfile"
        | "prometheus" | "provisioner" | "provisioning" | "pulumi" | "puppet" | "rabbitmq" | "rancher"
        | "samconfig" | "serverless" | "skaffold" | "sshd" | "statefulset" | "supervisord" | "systemd" | "tekton"
        | "terraform" | "terragrunt" | "tfstate" | "tfvar" | "tiltfile" | "traefik" | "travis" | "vagrant"
        | "vagrantfile" | "vercel" | "woodpecker" | "wrangler" => Surface::Infra,
        "babel" | "babelrc" | "bazel" | "bazelrc" | "browserslist" | "browserslistrc" | "buildscript" | "buildsrc"
        | "cmake" | "dependabot" | "esbuild" | "eslint" | "eslintignore" | "eslintrc" | "gemfile" | "gnumakefile"
        | "gradle" | "gradlew" | "gruntfile" | "gulpfile" | "husky" | "jsconfig" | "justfile" | "kbuild"
        | "kconfig" | "lockfile" | "makefile" | "mvnw" | "npmrc" | "podfile" | "prettierrc" | "rakefile"
        | "renovate" | "rollup" | "sbt" | "sconscript" | "sconstruct" | "stylelintrc" | "swcrc" | "toolchain"
        | "tsconfig" | "tslint" | "vcpkg" | "webpack" => Surface::Build,
        "css" | "dropdown" | "frontend" | "gui" | "modal" | "navbar" | "popover" | "popup" | "sidebar"
        | "stylesheet" | "storybook" | "theme" | "tooltip" | "typography" | "ui" | "ux" | "view" | "viewcontroller"
        | "viewmodel" | "webview" | "widget" => Surface::Ui,
        "bench" | "benchmark" | "conftest" | "cypress" | "e2e" | "fixture" | "fuzz" | "fuzzing" | "jest" | "karma"
        | "mocha" | "mock" | "phpunit" | "playwright" | "proptest" | "pytest" | "rspec" | "selenium" | "snap"
        | "snapshot" | "spec" | "stub" | "test" | "testbed" | "testcase" | "testdata" | "tester" | "testfixture"
        | "testhelper" | "testing" | "testkit" | "testlib" | "testsuite" | "testutil" | "unittest" | "vitest" => {
            Surface::Test
        }
        "changelog" | "contributing" | "doc" | "docstring" | "documentation" | "javadoc" | "mkdoc" | "readme"
        | "readthedoc" | "typedoc" => Surface::Docs,
        _ => Surface::None,
    }
}

/// Two neighbours that mean together what neither means alone.
fn pair_of(pair: &str) -> Surface {
    match pair {
        "access control" | "access key" | "access policy" | "api key" | "api keys" | "app check"
        | "authorized keys" | "client secret" | "content security" | "deploy key" | "encryption key"
        | "firestore rules" | "id rsa" | "id dsa" | "id ecdsa" | "id ed25519" | "known hosts" | "log off"
        | "log on" | "magic link" | "multi factor" | "pass code" | "pass phrase" | "pass word" | "pass key"
        | "private key" | "private keys" | "public key" | "public keys" | "second factor" | "service account"
        | "service accounts" | "sign in" | "sign on" | "sign out" | "sign up" | "signing key" | "signing keys"
        | "ssh key" | "ssh keys" | "storage rules" | "two factor" => Surface::Auth,
        "data access" | "data base" | "data source" | "data store" | "data warehouse" => Surface::Data,
        "alert manager"
        | "auto scaling"
        | "azure pipelines"
        | "bitbucket pipelines"
        | "docker compose"
        | "git ops"
        | "load balancer"
        | "network policy" => Surface::Infra,
        "pre commit" | "third party" => Surface::Build,
        "view controller" | "view model" | "user interface" => Surface::Ui,
        "end2end" | "test data" => Surface::Test,
        _ => Surface::None,
    }
}

/// Words that are written as one in languages that like it so: `authservice`, `sessionstore`, `basicauth`.
fn of_compound(word: &str) -> Surface {
    const BEGINS: [&str; 8] = ["auth", "login", "session", "jwt", "oauth", "oidc", "password", "permission"];
    const ENDS: [&str; 22] = [
        "api",
        "client",
        "config",
        "controller",
        "filter",
        "form",
        "guard",
        "handler",
        "helper",
        "manager",
        "middleware",
        "model",
        "page",
        "provider",
        "router",
        "routes",
        "screen",
        "server",
        "service",
        "store",
        "util",
        "view",
    ];
    const BEFORE_AUTH: [&str; 8] = ["api", "basic", "better", "digest", "http", "jwt", "user", "web"];
    let begins = BEGINS.iter().any(|begin| word.strip_prefix(begin).is_some_and(|rest| ENDS.contains(&rest)));
    let ends = word.strip_suffix("auth").is_some_and(|first| BEFORE_AUTH.contains(&first));
    if begins || ends { Surface::Auth } else { Surface::None }
}

/// Words beside which a word means something else.
fn unless(word: &str) -> &'static [&'static str] {
    match word {
        // Lexers, design systems and language models have tokens too.
        "token" => &[
            "ast",
            "bpe",
            "budget",
            "color",
            "colors",
            "compiler",
            "count",
            "counter",
            "counts",
            "css",
            "design",
            "embedding",
            "figma",
            "grammar",
            "kind",
            "lex",
            "lexer",
            "lexing",
            "llm",
            "macro",
            "max",
            "nlp",
            "parse",
            "parser",
            "parsing",
            "prompt",
            "repair",
            "scanner",
            "scss",
            "span",
            "spacing",
            "stream",
            "style",
            "styles",
            "syntax",
            "theme",
            "themes",
            "tokenize",
            "tokenizer",
            "tokenizers",
            "tree",
            "trees",
            "tokenization",
            "typography",
            "ui",
            "usage",
            "vocab",
            "vocabulary",
        ],
        "session" => &["tmux", "vim", "workout"],
        "identity" => &["matrix", "transform", "map", "function", "functor", "monad", "layer", "operator"],
        "cookie" => &["banner", "consent", "cookiecutter", "notice", "recipe"],
        "crypto" => &["currency", "currencies", "price", "prices", "ticker", "coin", "coins"],
        "certificate" => &["course", "completion"],
        "otp" => &["erlang", "elixir", "genserver", "supervisor"],
        "passport" => &["photo"],
        "role" => &["ansible", "playbook", "playbooks", "aria"],
        "secret" => &["santa"],
        "vault" => &["obsidian"],
        "view" => &["array", "buffer", "bytes", "memory", "slice", "span", "string", "tensor"],
        "theme" => &["park"],
        "spec" => &["api", "openapi", "swagger", "rfc"],
        "snapshot" | "snap" => &["volume", "ebs", "zfs", "btrfs", "isolation"],
        "migration" => &["bird", "birds"],
        _ => &[],
    }
}
