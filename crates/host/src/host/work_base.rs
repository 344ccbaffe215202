//! What a branch is compared with when nobody says: where it left the branch that its work will go to.

/// Names that projects give to the branch where work goes to.
const USUAL: [&str; 3] = ["main", "master", "trunk"];

/// What [`Refs::read`] reads.
pub(super) const FORMAT: &str =
    "--format=%(refname)%00%(symref)%00%(upstream)%00%(upstream:remotename)%00%(upstream:remoteref)";

/// The refs that matter to a branch, as patterns of `git for-each-ref`.
pub(super) fn patterns(branch: Option<&str>) -> Vec<String> {
    let names = USUAL.iter().copied().chain(branch);
    let both = names.flat_map(|name| [format!("refs/heads/{name}"), format!("refs/remotes/*/{name}")]);
    both.chain(["refs/remotes/*/HEAD".to_owned()]).collect()
}

/// A ref as git lists it; what it does not have is empty.
struct Ref<'l> {
    name: &'l str,
    leads_to: &'l str,
    upstream: &'l str,
    remote: &'l str,
    there: &'l str,
}

/// What git knows of branches.
pub(super) struct Refs<'l>(Vec<Ref<'l>>);

impl<'l> Refs<'l> {
    /// Reads the listing of [`FORMAT`].
    pub(super) fn read(listing: &'l str) -> Self {
        let line = |line: &'l str| {
            let mut fields = line.split('\0');
            let mut next = || fields.next().unwrap_or_default();
            Ref { name: next(), leads_to: next(), upstream: next(), remote: next(), there: next() }
        };
        Self(listing.lines().map(line).collect())
    }

    /// The refs that a branch may have left, the likeliest first.
    ///
    /// A branch's own copy on a remote is not what it left: it is the same work, only pushed. So the upstream counts if it
    /// is another branch; else the default branch; else the own copy, which is right for the default branch itself.
    pub(super) fn candidates(&self, branch: Option<&str>) -> Vec<&'l str> {
        let here = branch.map(|branch| format!("refs/heads/{branch}")).unwrap_or_default();
        let set = self.0.iter().find(|one| one.name == here && !one.upstream.is_empty());
        let is_copy = |one: &&Ref<'_>| one.remote != "." && one.there == here;
        let other = set.filter(|one| !is_copy(one) && one.upstream != here).map(|one| one.upstream);
        let remotes = self.remotes(set.map(|one| one.remote));
        let copies: Vec<&'l str> = set
            .filter(is_copy)
            .map(|one| one.upstream)
            .into_iter()
            .chain(branch.into_iter().flat_map(|branch| remotes.iter().filter_map(move |on| self.on(on, branch))))
            .collect();
        let defaults = self.defaults(&remotes);
        let is_default = branch.is_some() && defaults.first().map(|(name, _)| *name) == branch;
        let defaults = defaults.into_iter().filter(|(name, _)| !is_default && Some(*name) != branch);
        let mut found: Vec<&'l str> =
            other.into_iter().chain(defaults.map(|(_, full)| full)).chain(copies.iter().copied()).collect();
        let mut seen = std::collections::HashSet::new();
        found.retain(|name| seen.insert(*name));
        found
    }

    /// The remotes, the branch's own first, then `origin`.
    fn remotes(&self, own: Option<&str>) -> Vec<&'l str> {
        let named = self.0.iter().filter_map(|one| Some(one.name.strip_prefix("refs/remotes/")?.split_once('/')?.0));
        let mut remotes: Vec<&'l str> = named.collect();
        remotes.sort_by_key(|remote| (Some(*remote) != own, *remote != "origin", *remote));
        remotes.dedup();
        remotes
    }

    /// Default branches by name, with their refs: what remotes say, then what is usually called so, there and here.
    fn defaults(&self, remotes: &[&'l str]) -> Vec<(&'l str, &'l str)> {
        let said = remotes.iter().filter_map(|remote| {
            let leads_to = self.0.iter().find(|one| one.name == format!("refs/remotes/{remote}/HEAD"))?.leads_to;
            Some((leads_to.strip_prefix("refs/remotes/")?.strip_prefix(remote)?.strip_prefix('/')?, leads_to))
        });
        let there = remotes
            .iter()
            .flat_map(|remote| USUAL.into_iter().filter_map(move |name| Some((name, self.on(remote, name)?))));
        let here = USUAL.into_iter().filter_map(|name| Some((name, self.named(&format!("refs/heads/{name}"))?)));
        said.chain(there).chain(here).collect()
    }

    fn on(&self, remote: &str, branch: &str) -> Option<&'l str> {
        self.named(&format!("refs/remotes/{remote}/{branch}"))
    }

    fn named(&self, full: &str) -> Option<&'l str> {
        self.0.iter().map(|one| one.name).find(|name| *name == full)
    }
}

/// A ref's name as people say it.
pub(super) fn short(name: &str) -> &str {
    name.strip_prefix("refs/heads/").or(name.strip_prefix("refs/remotes/")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name`, `name>symref` or `name=remote:upstream:remote ref`.
    fn listing(refs: &str) -> String {
        let line = |one: &str| match (one.split_once('>'), one.split_once('=')) {
            (Some((name, to)), _) => format!("refs/{name}\0refs/{to}\0\0\0\n"),
            (_, Some((name, set))) => {
                let [remote, upstream, there] = set.split(':').collect::<Vec<_>>()[..] else { panic!("{one}") };
                format!("refs/{name}\0\0refs/{upstream}\0{remote}\0refs/{there}\n")
            }
            _ => format!("refs/{one}\0\0\0\0\n"),
        };
        refs.split_whitespace().map(line).collect()
    }

    #[test]
    fn a_branch_is_compared_with_what_it_left() {
        let check = |branch: &str, refs: &str, expected: &[&str]| {
            let listing = listing(refs);
            let found = Refs::read(&listing).candidates(Some(branch).filter(|branch| !branch.is_empty()));
            let short: Vec<&str> = found.iter().map(|name| short(name)).collect();
            assert_eq!(short, expected, "{branch}: {refs}");
        };
        // Its own copy on the remote is the same work; the default branch is what it left.
        let pushed = "heads/f=origin:remotes/origin/f:heads/f remotes/origin/f";
        let origin = "remotes/origin/HEAD>remotes/origin/dev remotes/origin/dev heads/main";
        check("f", &format!("{pushed} {origin}"), &["origin/dev", "main", "origin/f"]);
        check("f", pushed, &["origin/f"]);
        check("f", &format!("{pushed} heads/master"), &["master", "origin/f"]);
        // Pushed without `-u`.
        check("a/f", "heads/a/f remotes/origin/a/f remotes/origin/main", &["origin/main", "origin/a/f"]);
        // An upstream that is another branch, there or here.
        let tracks = "heads/f=origin:remotes/origin/next:heads/next remotes/origin/main";
        check("f", tracks, &["origin/next", "origin/main"]);
        check("f", "heads/f=.:heads/other:heads/other heads/main", &["other", "main"]);
        check("f", "heads/f=.:heads/f:heads/f heads/main", &["main"]);
        check("f", "heads/f=origin:remotes/origin/x/f:heads/x/f heads/main", &["origin/x/f", "main"]);
        // The default branch itself is compared with its own copy, also a remote whose name has a slash.
        let main = "heads/main=origin:remotes/origin/main:heads/main remotes/origin/main heads/master";
        check("main", main, &["origin/main"]);
        check("dev", "heads/dev remotes/origin/HEAD>remotes/origin/dev remotes/origin/dev heads/main", &["origin/dev"]);
        check("main", "heads/main=a/b:remotes/a/b/main:heads/main", &["a/b/main"]);
        check("main", "heads/main", &[]);
        check("master", "heads/master heads/main", &["main"]);
        // The branch's own remote knows best.
        let two = "remotes/fork/main remotes/origin/main remotes/zed/HEAD>remotes/zed/main remotes/zed/main";
        check(
            "f",
            &format!("heads/f=fork:remotes/fork/f:heads/f {two}"),
            &["zed/main", "fork/main", "origin/main", "fork/f"],
        );
        // No branch is checked out.
        check("", "heads/main remotes/origin/main", &["origin/main", "main"]);
        check("", "", &[]);
    }
}
