//! One verdict on many programs: each service judged as if it were observed alone.

use crate::engine::unprivileged;
use crate::engine::verdict::{judge, rank};
use crate::{Account, Activity, CheckOptions, Sink, Verdict, View, check};
use needless_model::{Finding, Profile};

/// Checks every rule for each service separately; processes without a known service count as one
/// service.
///
/// The thresholds hold within a service: a busy neighbour hides nothing. Findings name their
/// service and are ranked over all of them; their processes and rows are those of `profile`.
pub fn check_by_service(profile: &Profile, options: &CheckOptions) -> Verdict {
    check_with_accounts(profile, options).0
}

/// The same, with the account of each service besides.
pub fn check_with_accounts(
    profile: &Profile,
    options: &CheckOptions,
) -> (Verdict, Vec<(Option<String>, Account)>) {
    let mut accounts = Vec::new();
    if profile.processes.is_empty() {
        return (check(profile, options), accounts);
    }
    let mut all = Verdict { selection: options.selection(), ..Verdict::default() };
    let mut sink = Sink::new(profile.rows.len());
    sink.explain(&unprivileged::rows(profile));
    for (service, view) in View::divided(profile, |id| profile.process(id).service.as_deref()) {
        let verdict = judge(view, &mut sink, options);
        accounts.push((service.map(str::to_owned), verdict.account.clone()));
        all.account.add(verdict.account);
        let named = |finding| Finding { service: service.map(str::to_owned), ..finding };
        all.findings.extend(verdict.findings.into_iter().map(named));
        all.below.extend(verdict.below.into_iter().map(named));
        for skipped in verdict.not_checked {
            if !all.not_checked.contains(&skipped) {
                all.not_checked.push(skipped);
            }
        }
    }
    all.place(profile, options);
    all.notices.extend(unprivileged::notice(profile));
    rank(&mut all.findings);
    rank(&mut all.below);
    all.activity = Activity::of(profile);
    (all, accounts)
}
