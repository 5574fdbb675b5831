//! Advice that would break the program is not given: by each backend, and from a log.

use crate::common::*;
use serde_json::Value;

#[test]
fn issue_39_a_file_that_is_read_stays_in_its_list() {
    let Some(bash) = needed(installed("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("config");
    std::fs::write(&here, "real\n").unwrap();
    let here = here.to_str().unwrap();
    let script = "for n in {1..40}; do for f in ${KUBECONFIG//:/ }; do [ -f $f ] && read a <$f; done; done; :";
    let list = format!("/nonexistent/1:/nonexistent/2:/nonexistent/3:{here}");
    let words = [bash.to_str().unwrap(), "-c", script];
    let options: [&[&str]; 2] = [&[], &[]];
    for (backend, report) in
        observed_by_each_backend(folder.path(), options, &[("KUBECONFIG", &list)], &words)
    {
        let found = finding(&report, "search-list");
        let what = found["what"].as_str().unwrap();
        assert_eq!(
            what, "120 calls ask for 3 entries of KUBECONFIG that are not there",
            "{backend}"
        );
        let missing = ["/nonexistent/1", "/nonexistent/2", "/nonexistent/3"];
        assert_eq!(found["remedies"][0]["entries"], Value::from(missing.to_vec()), "{backend}");
        assert!(!report["findings"].to_string().contains(here), "{backend}");
    }
}
