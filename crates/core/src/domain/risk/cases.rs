//! Paths as projects really have them, in many ecosystems, and what an experienced reviewer would call them.

use super::Surface;

/// Every path of the list is this.
fn all(surface: Surface, paths: &str) {
    let wrong: Vec<String> = paths
        .split_whitespace()
        .filter_map(|path| {
            let found = Surface::of_path(path);
            (found != surface).then(|| format!("{path}: {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "not {surface}: {wrong:#?}");
}

#[test]
fn auth() {
    all(
        Surface::Auth,
        "src/auth/mod.rs login_controller.ts .env.production .env .env.local config/.env.test .envrc prod.env
        app/controllers/sessions_controller.rb app/models/session.rb app/auth/policy.rb lib/oauth2/client.ex
        src/main/java/com/acme/security/SecurityConfig.java src/main/java/com/acme/JwtTokenFilter.java
        src/main/kotlin/LoginViewModel.kt internal/authservice/service.go internal/sessionstore/redis.go
        pkg/middleware/basicauth.go internal/authhandlers/x.go cmd/server/jwt.go api/AuthController.php src/Security/LoginFormAuthenticator.php
        accounts/password_reset.py users/permissions.py django_app/authentication/backends.py app/core/acl.py
        app/(auth)/register/page.tsx src/components/LoginForm.tsx pages/sign-in.vue src/SignUp.svelte src/LogIn.tsx
        src/hooks/useAuth.ts src/guards/roles.guard.ts lib/rbac.js middleware/csrf.js src/api_key.rs src/apiKeys.ts
        src/accessToken.ts access-token.service.ts token_store.go TokenService.java src/refresh_tokens.rs
        config/secrets.yml k8s/secret.yaml deploy/certs/server.pem keys/id_rsa .ssh/config .aws/credentials
        infra/vault.hcl keystore.jks config/initializers/devise.rb passport.js next-auth.config.ts src/nextauth.ts
        firestore.rules storage.rules terraform/iam.tf terraform/modules/iam/main.tf policy/authz.rego
        tests/auth/login_test.py tests/login.spec.ts src/__tests__/useSession.test.tsx db/migrations/003_add_password.sql
        App/Auth.swift Sources/KeychainStore.swift MyApp.entitlements App.OAuth2.Client.cs src/IdentityServer/Startup.cs
        src\\Auth\\Login.cs SRC/AUTH/MAIN.C lib/my_app_web/plugs/require_authenticated.ex src/2fa.ts src/mfa/totp.rs
        app/policies/post_policy.rb app/models/ability.rb AuthZ.go id_ed25519.pub service-account.json creds.yaml
        userRoles.ts C:\\repo\\src\\auth\\a.cs auth/ src/token.ts services/sso/saml.go ldap.conf .htpasswd nginx/htpasswd src/crypto/aes.rs cookie_session.go k8s/rolebinding.yaml
        wp-config.php local.settings.json google-services.json ios/GoogleService-Info.plist .envrc.sample .env.example
        etc/polkit.rules src/pam_unix.c src/hmac.rs src/reauth.ts preauth_filter.go src/auth/token.rs token_store.rs
        src/roles/tasks.ts",
    );
}

#[test]
fn data() {
    all(
        Surface::Data,
        "db/migrations/0007.sql prisma/schema.prisma alembic/versions/ab12_add.py alembic.ini db/schema.rb db/seeds.rb
        src/main/resources/db/migration/V2__x.sql migrations/2024-01-01-000000_init/up.sql diesel/migrations/up.sql
        app/models/user.rb shop/models.py src/models/Order.ts database/seeders/OrderSeeder.php src/schema.rs
        src/user/user.entity.ts src/order.model.ts com/acme/OrderRepository.java com/acme/entities/Order.java
        app/Models/Order.php priv/repo/migrations/1_x.exs knexfile.js ormconfig.json src/db.ts internal/db/query.go
        internal/database/conn.go drizzle.config.ts sqlc.yaml src/sqlx_store.rs MySQLClient.java lib/NoSqlStore.java
        schema.graphql api/user.proto events/order.avsc data.sqlite3 app.db liquibase/db.changelog-master.xml
        tests/migrations/test_0007.py dbt/models/orders.sql scripts/backup.sh DataAccess/Orders.cs src/mongo.ts
        changesets/schema/v2.json OrderDao.kt db/Dockerfile lib/data_source.dart models/ shop/models.go src/DataBase.cs
        seeds.rb seed.ts db/user.schema.json user.schema.ts
        db/schemas.ts src/models/schemas.py",
    );
}

#[test]
fn infra() {
    all(
        Surface::Infra,
        "Dockerfile Dockerfile.prod web.dockerfile docker-compose.yml docker-compose.override.yaml compose.yaml
        compose.prod.yml docker/entrypoint.sh .dockerignore Containerfile k8s/web.yaml kubernetes/ingress.yml
        helm/web/values.yaml charts/web/templates/_helpers.tpl charts/web/Chart.yaml kustomization.yaml
        terraform/main.tf main.tf prod.tfvars infra/network.ts infrastructure/stack.py .github/workflows/ci.yml
        .github/workflows/test.yml .github/actions/setup/index.js .gitlab-ci.yml .circleci/config.yml .travis.yml
        Jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml .drone.yml .buildkite/pipeline.yml
        ansible/site.yml ansible/roles/web/tasks/main.yml ansible/roles/web/templates/nginx.conf.j2 playbooks/web.yml
        group_vars/all.yml nginx.conf conf/nginx/site.conf haproxy.cfg Caddyfile etc/systemd/web.service
        Procfile fly.toml vercel.json netlify.toml wrangler.toml serverless.yml app.yaml Vagrantfile
        deploy/run.sh scripts/deploy.sh deployment.yaml prometheus/alerts.yml grafana/dash.json .devcontainer/devcontainer.json
        CODEOWNERS .github/CODEOWNERS Pulumi.yaml cdk.json lib/cdk-stack.ts cloudformation/vpc.yaml skaffold.yaml
        buildspec.yml cloudbuild.yaml ci/run.sh .github/dependabot.yml gunicorn.conf.py packer/image.json docker-compose.test.yml crontab .woodpecker.yml
        main.tofu main.tf.json prod.tfvars.json playbook.yml deploy-playbook.yaml cookbooks/web/recipes/default.rb
        salt/top.sls roles/web/tasks/main.yml roles/app/handlers/main.yml appveyor.yml .appveyor.yml appsettings.json
        src/Api/appsettings.Production.json src/main/resources/application.yml application-prod.properties
        config/production.json config/default.json config/environments/production.rb config/runtime.exs
        src/environments/environment.prod.ts mysite/settings.py mysite/settings/base.py",
    );
}

#[test]
fn build() {
    all(
        Surface::Build,
        "Cargo.toml Cargo.lock crates/a/Cargo.toml build.rs crates/a/build.rs .cargo/config.toml rust-toolchain.toml
        package.json web/package.json package-lock.json yarn.lock pnpm-lock.yaml bun.lockb tsconfig.json tsconfig.build.json
        webpack.config.js vite.config.ts rollup.config.mjs babel.config.js .babelrc .eslintrc.json gulpfile.js turbo.json
        Makefile makefile GNUmakefile rules.mk Makefile.am CMakeLists.txt src/CMakeLists.txt cmake/FindZ.cmake
        CMakePresets.json meson.build configure.ac configure SConstruct BUILD BUILD.bazel WORKSPACE MODULE.bazel
        tools/defs.bzl build.gradle build.gradle.kts settings.gradle app/build.gradle gradle.properties gradlew
        gradle/wrapper/gradle-wrapper.properties pom.xml build.sbt project/plugins.sbt pyproject.toml setup.py setup.cfg
        requirements.txt requirements-dev.txt requirements/base.txt dev-requirements.txt constraints.txt Pipfile
        Pipfile.lock poetry.lock uv.lock tox.ini environment.yml Gemfile Gemfile.lock x.gemspec Rakefile go.mod go.sum
        go.work composer.json composer.lock mix.exs mix.lock rebar.config stack.yaml x.cabal Package.swift Podfile
        Podfile.lock App.xcodeproj/project.pbxproj App.csproj App.sln Directory.Build.props packages.config pubspec.yaml
        build.zig flake.nix flake.lock default.nix vcpkg.json conanfile.txt .gitmodules vendor/lib/x.c third_party/z/z.c
        scripts/build.sh build/release.js justfile Taskfile.yml .pre-commit-config.yaml .husky/pre-push .npmrc .nvmrc
        renovate.json elm.json dune-project deps.edn project.clj project.json reflexion.json PKGBUILD install.sh jest.config.js requirements.in requirements/dev.in .swiftlint.yml app.spec .prettierrc
        gems.rb gems.locked gleam.toml CMakeLists.txt.in dist/bundle.js packages/a/dist/index.mjs lib/sub/ in/ docs/theme/",
    );
}

#[test]
fn ui() {
    all(
        Surface::Ui,
        "src/components/Button.tsx src/App.jsx src/App.vue Card.svelte styles/main.css app.scss theme.less
        index.html templates/home.html app/views/home/index.html.erb resources/views/home.blade.php page.astro
        src/app/app.component.ts lib/widgets/card.dart lib/home_page.dart HomeViewController.swift Main.storyboard
        res/layout/main.xml MainWindow.xaml qml/Main.qml lib/web/live/home.heex data_table.tsx testimonials.tsx
        buildings.tsx src/ui/menu.rs frontend/main.ts public/logo.svg locales/de.json Button.test.tsx Button.stories.tsx
        blog/views.py src/components/charts/Bar.ts src/components/charts/bar.json design-tokens.css
        src/ui/tokens.ts MainActivity.kt src/styles.ts locale/de/messages.po docs.tsx mail/welcome.blade.php",
    );
}

#[test]
fn test() {
    all(
        Surface::Test,
        "tests/sum.rs src/sum_test.go sum.test.ts sum.spec.js spec/sum_spec.rb SumTest.java SumTests.swift test_sum.py
        conftest.py __tests__/sum.js e2e/flow.ts cypress/support/index.js tests/fixtures/a.json testdata/in.txt.gz
        benches/sum.rs fuzz/fuzz_targets/a.rs src/__snapshots__/a.snap tests/it/main.rs t/test_helper.exs mocks/api.go
        src/testing/clock.rs features/pay.feature UnitTests/Sum.cs fuzz/seeds/a TestCase.php setupTests.ts junit.xml t/00-load.t",
    );
}

#[test]
fn docs() {
    all(
        Surface::Docs,
        "README.md docs/login.md sessions.md docs/auth/index.html docs/conf.py docs/requirements.txt CHANGELOG.md
        .github/workflows/README.md tests/README.md guide.rst book.adoc notes.txt passwords.txt db/README.markdown
        LICENSE LICENSE-MIT COPYING AUTHORS NOTICE README CHANGELOG mkdocs.yml .readthedocs.yaml website/docs/auth.ts
        Docs\\Login.html src/doc/session.html .github/ISSUE_TEMPLATE/bug.md SECURITY.md author/login.md paper.tex SECURITY .github/SECURITY",
    );
}

#[test]
fn none() {
    all(
        Surface::None,
        "src/tokenizer.rs src/lexer/token.rs author/list.py src/author.rs authors.py authored_by.go authority_records.csv
        src/latest.rs contest.py attestation.go inspector.rs protest.c schematic.go buildings.py builder.rs
        src/query_builder.rs template_engine.rs src/main.rs lib/sum.c passage.py compass.rs obsession.py pass.go
        src/build.rs src/commands/build.ts internal/build/plan.go src/helper.rs helmet.go dockyard.py employee.go
        service.rs src/services/order.ts composer.rs tokenize.py detokenizer.py dbus.c adb.go feedback.rs
        metadata.json update.rs data.ts data_frame.py src/data/list.ts model.rs src/llm/model.rs language_model.py
        string_view.h review.rs preview.go interview.py overview.rs previous.rs memory_view.pyx signal.rs assign.ts
        design.py resign.py consign.py keyboard.rs monkey.py hockey.py primary_key.rs key.rs keys.ts registry.go
        register.c src/accountant.py blogin.py catalog_index.py prologue.ml dialogue.py src/repository.rs
        git_repository.rs html_entities.rs cluster.py testify.go attest.rs greatest.c testament.py specimen.py
        specific.go special.rs inspect.py aspect.rs documents.py dock.ts doctor.rs guild.py suite.rs fruit.c
        build_index.py rebuild.go capacity.rs ciphertext_count.md.x acid.py decided.rs classic.py ocicat.py
        recipe.py pricing.go specials.csv script.sh run.sh index.ts x 日本語.rs lib/sum.c.orig
        statistics.rs cssom_x.rs guitar.py equip.rs required.rs built.rs guidance.go certain.rs concert.py
        rolex.py enrollment.py parole.rs controller.rs controls.c sslc.q etlx.q Thumbs.db torch/models/resnet.py models/car.glb models/bert/run.py
        src/game/entities/orc.rs .bashrc .vimrc bin_packer.rs secretary.py espresso.py oracle.rs diamond.py scores.py
        credits.rs sacred.py tokens_per_second.rs backtest.py mockery.go speedtest.go specs/openapi.yaml puppeteer.ts
        laws.py circuit.py infrared.py passenger.py bypass.c authentic.py coauthor.rs role_play.py packages/a/index.ts
        web/charts/bar.json valuesets.yaml lock.rs package.rs environment.ts setup.ts .gitignore
        core/schemas.ts app/schemas.py src/token.rs token.pb.go go/token/token.go src/tokens.h config/project.schema.json api/order.schema.yaml
        src/docs.rs src/readme.py tools/changelog.go src/pam250_matrix.py src/seed.rs src/dist/normal.js src/signature.rs
        src/guard.ts src/middleware.ts src/config/mod.rs src/settings/base.rs config/rebase.ts src/application.rs",
    );
}
