//! What the expressions of the workflow mean when something happens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::github::{GitHub, TOKEN};
use crate::runner::Runner;

pub const PULL_REQUEST: &str = "pull_request";
pub const PUSH: &str = "push";

/// A pull request or a push to main, whose commit is `head`.
pub fn describe(runner: &mut Runner<'_>, event: &str, head: &str, github: &GitHub) {
    let is = |it: bool| it.to_string();
    for (expression, value) in [
        ("inputs.precision || 'fp32,fp64,bf16'", "fp32,fp64,bf16"),
        ("inputs.iterations || '30'", "10"),
        ("matrix.backend", "cpu"),
        ("matrix.precision", "fp32"),
        ("github.event.before", ""),
        ("github.event.repository.default_branch", "main"),
        ("github.event.pull_request.number", "7"),
        ("github.event.pull_request.head.sha", head),
        ("github.token", TOKEN),
        ("!cancelled()", "true"),
        ("!cancelled() && github.event_name == 'pull_request'", &is(event == PULL_REQUEST)),
        (
            "!cancelled() && github.event_name == 'push' && github.ref == 'refs/heads/main'",
            &is(event == PUSH),
        ),
    ] {
        runner.expressions.insert(expression.to_owned(), value.to_owned());
    }
    for (name, value) in [
        ("GITHUB_API_URL", github.url.as_str()),
        ("GITHUB_SERVER_URL", "https://github.test"),
        ("GITHUB_REPOSITORY", "owner/project"),
        ("GITHUB_RUN_ID", "42"),
        ("GITHUB_EVENT_NAME", event),
        ("GITHUB_SHA", head),
    ] {
        runner.variables.insert(name.to_owned(), value.to_owned());
    }
}

/// The first push to main finds that somebody else was faster.
pub fn move_main_when_pushed_to(place: &Path) {
    let script = r#"#!/bin/sh
if test -e moved; then exit 0; fi
touch moved
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_AUTHOR_NAME=other GIT_AUTHOR_EMAIL=other@localhost
export GIT_COMMITTER_NAME=other GIT_COMMITTER_EMAIL=other@localhost
moved=$(git commit-tree -p main -m 'moved meanwhile' 'main^{tree}')
git update-ref refs/heads/main "$moved"
"#;
    write_hook(place, script);
}

/// Whatever is pushed is refused, with a reason.
pub fn refuse_pushes(place: &Path) {
    write_hook(place, "#!/bin/sh\necho main is protected >&2\nexit 1\n");
}

fn write_hook(place: &Path, script: &str) {
    let hook = place.join("origin.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("make the folder of hooks");
    fs::write(&hook, script).expect("write a hook");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("make it executable");
}
