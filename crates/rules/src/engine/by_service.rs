//! One verdict on many programs: each service judged as if it were observed alone.

use crate::engine::unprivileged;
use crate::engine::verdict::{judge, rank};
use crate::{Account, Activity, CheckOptions, Verdict, check};
use needless_model::{Finding, Profile, SubProfile};

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
    for (service, part) in profile.parts(|id| Some(profile.process(id).service.as_deref())) {
        let mut verdict = judge(&part.profile, options);
        for share in &mut verdict.account.shares {
            share.row = part.rows[share.row];
        }
        for claim in &mut verdict.account.claims {
            claim.process = part.processes[claim.process.index()];
        }
        accounts.push((service.map(str::to_owned), verdict.account.clone()));
        all.account.add(verdict.account);
        let whole = |finding| of_the_whole(finding, service, &part);
        all.findings.extend(verdict.findings.into_iter().map(whole));
        all.below.extend(verdict.below.into_iter().map(whole));
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

/// A finding in `part` as a finding in the whole profile.
fn of_the_whole(finding: Finding, service: Option<&str>, part: &SubProfile) -> Finding {
    Finding {
        service: service.map(str::to_owned),
        processes: finding.processes.iter().map(|id| part.processes[id.index()]).collect(),
        rows: finding.rows.iter().map(|row| part.rows[*row]).collect(),
        ..finding
    }
}
