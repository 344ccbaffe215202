//! What single words of a path say, wherever they stand in it.
//!
//! The tables hold whole words in the singular; a plural and a number behind a word (`logins`, `oauth2`) are looked up
//! without. Where only the case separates words, what they form together counts too (`OAuth`, `LogIn`, `MySQL`).

use super::name::Name;
use super::places;
use super::surface::Surface;
use crate::toolchain;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The heaviest surface that a word of the path speaks of.
pub(super) fn surface(name: &Name) -> Surface {
    let all = name.words.iter().filter(|segment| !places::of_a_lexer(segment, name)).flatten();
    let alone = all.flat_map(|word| [Some(&word.text), word.whole.as_ref()]).flatten().map(|word| of(word, name));
    let neighbours = name.words.iter().flat_map(|segment| segment.windows(2));
    let pairs = neighbours.map(|pair| table(&format!("{}-{}", pair[0].text, pair[1].text)));
    let found = alone.chain(pairs).max().unwrap_or_default();
    // Code about documentation is code.
    if found == Surface::Docs && places::is_code(name) { Surface::None } else { found }
}

/// Whether a word of the path says that it belongs to tests.
pub(super) fn speak_of_tests(name: &Name) -> bool {
    let known = |word: &str| toolchain::test_words().iter().any(|known| known == word);
    name.words.iter().flatten().flat_map(|word| [Some(&word.text), word.whole.as_ref()]).flatten().any(|word| {
        let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
        known(word) || known(plain) || plain.strip_suffix('s').is_some_and(known)
    })
}

/// A word, without what does not change its meaning, unless another word of the path gives it another one.
fn of(word: &str, name: &Name) -> Surface {
    let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let singular = plain.strip_suffix('s').filter(|singular| singular.len() > 2);
    let forms = [Some(word), Some(plain), singular];
    let meant = |form: &&str| !unless(form).iter().any(|other| name.has(other)) && !places::otherwise(form, name);
    let known = forms.into_iter().flatten().filter(|form| table(form) > Surface::None).filter(meant).map(table);
    let compounds = [Some(plain), singular].into_iter().flatten().map(of_compound);
    known.chain(compounds).max().unwrap_or_default()
}

/// What words mean.
const WORDS: [(Surface, &str); 7] = [
    (
        Surface::Auth,
        "2fa abac acl apikey argon2 auth auth0 authelia authenticate authenticated authenticating authentication \
         authenticator authlib authn authorisation authorise authorised authoriser authorization authorize authorized \
         authorizer authz autologin bcrypt captcha casbin cert certbot certificate cipher clientsecret cognito cookie \
         cors cred credential crypto cryptography csrf decrypt decryption devise encrypt encryption entitlement fido \
         fido2 gpg hmac hotp htaccess htpasswd iam identity idp impersonate impersonation jose jwe jwk jwks jws jwt \
         kerberos keychain keycloak keyring keystore kms krb5 kubeconfig ldap login logoff logon logout mfa mtls \
         netrc nextauth oauth oauth2 oidc okta openid openssl otp passcode passkey passphrase passport passwd \
         password passwordless pam pbkdf pbkdf2 permission pgp pgpass pki polkit preauth privilege pypirc rbac reauth \
         reauthenticate recaptcha role \
         rolebinding saml scrypt secret security session shiro signin signon signout signup sops ssl sso sudo sudoer \
         tls token totp truststore unauthenticated unauthorized userinfo vault webauthn x509 xsrf xss",
    ),
    (
        Surface::Data,
        "activerecord alembic backup bigquery cassandra clickhouse cockroachdb couchbase couchdb database datastore \
         db dbal dbt ddl dml drizzle duckdb dynamodb ecto elasticsearch eloquent etl flyway hasura hibernate influxdb \
         jpa knex knexfile liquibase mariadb migrate migration migrator mikroorm mongo mongodb mongoid mongoose mssql \
         mybatis mysql neo4j nosql orm ormconfig pgsql pgvector plpgsql plsql postgre postgres postgresql postgrest \
         prisma redis redshift schema schemata seeder sequelize sql sqlalchemy sqlc sqlite sqlite3 sqlx supabase \
         timescale timescaledb typeorm",
    ),
    (
        Surface::Infra,
        "amplify ansible appspec argocd autoscaler autoscaling aws azure buildkite buildspec caddy caddyfile cdk ci \
         cicd circleci cloudbuild cloudflare cloudformation cloudrun codebuild codedeploy codeowner containerd \
         containerfile coredns cronjob crontab daemonset deploy deployer deployment devcontainer devops docker \
         dockerfile dockerignore earthfile eks envoy fargate firewall fluxcd gcp gitpod gke grafana gunicorn haproxy \
         helm helmfile helmrelease heroku iac infra infrastructure ingress iptable istio jenkins jenkinsfile k3s k8s \
         kafka kube kubectl kubernetes kustomization kustomize linkerd loadbalancer minikube netlify nginx nomad \
         openshift opentofu podman procfile prometheus provisioner provisioning pulumi puppet rabbitmq rancher \
         samconfig serverless skaffold sshd statefulset supervisord systemd tekton terraform terragrunt tfstate tfvar \
         tiltfile traefik travis uwsgi vagrant vagrantfile vercel woodpecker wrangler",
    ),
    (
        Surface::Build,
        "babel babelrc bazel bazelrc browserslist browserslistrc buildscript buildsrc cmake dangerfile dependabot \
         esbuild eslint eslintignore eslintrc fastfile gemfile gnumakefile gradle gradlew gruntfile gulpfile husky \
         jsconfig justfile kbuild kconfig lockfile makefile mvnw npmrc podfile prettierrc rakefile renovate rollup \
         sbt sconscript sconstruct stylelintrc swcrc toolchain tsconfig tslint vcpkg webpack",
    ),
    (
        Surface::Ui,
        "css dropdown frontend gui modal navbar popover popup sidebar storybook stylesheet theme tooltip typography \
         ui ux view viewcontroller viewmodel webview widget",
    ),
    (
        Surface::Test,
        // What is no test, and is looked at like one; what tests are is known elsewhere.
        "bench benchmark proptest snap snapshot spec stub",
    ),
    (Surface::Docs, "changelog contributing doc docstring documentation javadoc mkdoc readme readthedoc typedoc"),
];

/// What two neighbours mean together that neither means alone.
const PAIRS: [(Surface, &str); 5] = [
    (
        Surface::Auth,
        "access-control access-key access-policy api-key api-keys app-check authorized-keys client-secret \
         content-security deploy-key encryption-key firestore-rules id-dsa id-ecdsa id-ed25519 id-rsa known-hosts \
         log-off log-on magic-link multi-factor pass-code pass-key pass-phrase pass-word private-key private-keys \
         public-key public-keys second-factor service-account service-accounts sign-in sign-on sign-out sign-up \
         signing-key signing-keys ssh-key ssh-keys storage-rules two-factor",
    ),
    (Surface::Data, "data-access data-base data-source data-store data-warehouse"),
    (
        Surface::Infra,
        "alert-manager auto-scaling azure-pipelines bitbucket-pipelines docker-compose git-ops load-balancer \
         network-policy",
    ),
    (Surface::Build, "pre-commit third-party"),
    (Surface::Ui, "user-interface view-controller view-model"),
];

/// Both tables by word: a change may be of many thousand files.
static TABLE: LazyLock<HashMap<&str, Surface>> = LazyLock::new(|| {
    let mut table = index(&WORDS);
    table.extend(index(&PAIRS));
    table.extend(toolchain::test_words().iter().map(|word| (word.as_str(), Surface::Test)));
    table
});

/// Lists by their entries.
pub(super) fn index(lists: &'static [(Surface, &'static str)]) -> HashMap<&'static str, Surface> {
    lists.iter().flat_map(|(surface, words)| words.split_whitespace().map(|word| (word, *surface))).collect()
}

fn table(word: &str) -> Surface {
    TABLE.get(word).copied().unwrap_or_default()
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
            "per",
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
        // The substitution matrices of biologists.
        "pam" => &["blosum", "matrix", "substitution"],
        "otp" => &["erlang", "elixir", "genserver", "supervisor"],
        "passport" => &["photo"],
        "role" => &["ansible", "playbook", "playbooks", "aria", "play"],
        "secret" => &["santa"],
        "vault" => &["obsidian"],
        "view" => &["array", "buffer", "bytes", "memory", "slice", "span", "string", "tensor"],
        "theme" => &["park"],
        "db" => &["thumbs"],
        "spec" => &["api", "openapi", "swagger", "rfc"],
        "snapshot" | "snap" => &["volume", "ebs", "zfs", "btrfs", "isolation"],
        "migration" => &["bird", "birds"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_in_the_tables_once_and_can_be_found() {
        let lists = WORDS.iter().chain(&PAIRS);
        let words: Vec<&str> = lists.flat_map(|(_, words)| words.split_whitespace()).collect();
        assert_eq!(words.len() + toolchain::test_words().len(), TABLE.len());
        for (_, words) in WORDS {
            for word in words.split_whitespace() {
                assert!(word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{word}");
            }
        }
    }
}
