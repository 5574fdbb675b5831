//! Compares the engine's answers with those of the C library of this process.
//!
//! There is only one test, because `TZ` and what `mktime` carries from call to call belong to the whole process. It
//! tests every zone once, then random zones and TZ strings for half a minute; with `NEEDLESS_ORACLE=COUNT` until COUNT
//! comparisons are made (best with `--release`), with `NEEDLESS_ORACLE_SECONDS=N` for N seconds. `NEEDLESS_SEED=N`
//! chooses other random inputs. A comparison is one call answered by both.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "glibc is asked in zones of its TZ, by one thread")]

mod glibc;
pub(crate) mod inputs;
mod referee;

use inputs::{Random, ZONEINFO, compiled, corrupted, text, zone_files};
use needless_fixtures::needed;
use needless_localtime::Zone;
use referee::Referee;
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long random inputs are tested if no count is given: short enough for each `make test`.
const SECONDS: u64 = 30;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

#[test]
#[ignore = "long: every zone, then half a minute of chance"]
fn the_c_library_answers_the_same() {
    let goal = number("NEEDLESS_ORACLE", 0);
    let seconds = number("NEEDLESS_ORACLE_SECONDS", if goal == 0 { SECONDS } else { 0 });
    let end = Instant::now() + Duration::from_secs(seconds);
    let seed = number("NEEDLESS_SEED", 4);
    println!("seed {seed}");
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15) | 1);
    let mut referee = Referee::new();

    let posixrules = std::fs::read(Path::new(ZONEINFO).join("posixrules")).ok();
    for known in inputs::TEXTS {
        compare_text(&mut referee, &mut random, known.as_bytes(), posixrules.as_deref());
    }
    for _ in 0..1500 {
        let made = text(&mut random);
        compare_text(&mut referee, &mut random, &made, posixrules.as_deref());
    }

    let scratch = tempfile::tempdir().expect("a directory for files");
    let mut found = needed(zone_files(Path::new(ZONEINFO))).unwrap_or_default();
    for (form, leaps) in [("slim", false), ("slim", true), ("fat", false), ("fat", true)] {
        let made = needed(compiled(scratch.path(), form, leaps)).unwrap_or_default();
        println!("{} {form} zones, leap seconds: {leaps}", made.len());
        found.extend(made);
    }
    // In random order: what glibc keeps of one zone must not show in another.
    for at in 1..found.len() {
        found.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut seen = HashSet::new();
    for (name, bytes) in &found {
        let Ok(zone) = Zone::from_tzif(bytes) else {
            panic!("{name} is refused");
        };
        let new = seen.insert(bytes.as_slice());
        referee.enter(name.as_bytes(), &zone);
        if new {
            referee.around_transitions(&zone, bytes, &mut random);
        }
        referee.at_random(&zone, &mut random, if new { 300 } else { 20 });
    }

    for (at, (name, bytes)) in (0..).zip(inputs::unusual()) {
        let accepted = compare_file(&mut referee, &mut random, scratch.path(), at, name, &bytes);
        assert!(accepted, "{name}");
        // The same file as `posixrules`.
        let folder = tempfile::tempdir().expect("a directory for posixrules");
        std::fs::write(folder.path().join("posixrules"), &bytes).expect("write posixrules");
        glibc::set_tzdir(Some(folder.path()));
        compare_text(&mut referee, &mut random, b"ABC5DEF", Some(&bytes));
        glibc::set_tzdir(None);
    }

    let mut accepted = 0;
    for at in 0..if found.is_empty() { 0 } else { 1500 } {
        let (name, bytes) = &found[random.below(found.len() as u64) as usize];
        let bad = corrupted(&mut random, bytes);
        accepted +=
            u32::from(compare_file(&mut referee, &mut random, scratch.path(), at, name, &bad));
    }
    println!("{accepted} corrupted files accepted");

    while referee.comparisons < goal || Instant::now() < end {
        if random.below(4) == 0 || found.is_empty() {
            let made = text(&mut random);
            compare_text(&mut referee, &mut random, &made, posixrules.as_deref());
            continue;
        }
        let (name, bytes) = &found[random.below(found.len() as u64) as usize];
        let zone = Zone::from_tzif(bytes).expect("accepted before");
        referee.enter(name.as_bytes(), &zone);
        referee.around_transitions(&zone, bytes, &mut random);
        referee.at_random(&zone, &mut random, 20_000);
    }
    referee.check();
}

fn compare_text(
    referee: &mut Referee,
    random: &mut Random,
    text: &[u8],
    posixrules: Option<&[u8]>,
) {
    if inputs::is_undefined(text) || Path::new(ZONEINFO).join(inputs::os(text)).is_file() {
        referee.left_out += 1;
        return;
    }
    let with = posixrules.and_then(|rules| Zone::with_posixrules(text, rules));
    if with.is_some() && referee.is_before_29951 {
        referee.left_out += 1;
        return;
    }
    let zone = with.unwrap_or_else(|| Zone::from_posix(text));
    referee.enter(&[b":", text].concat(), &zone);
    referee.at_random(&zone, random, 300);
    referee.around_years(&zone, random);
}

/// Compares what both make of the file; returns whether the engine accepts it.
fn compare_file(
    referee: &mut Referee,
    random: &mut Random,
    scratch: &Path,
    at: u32,
    name: &str,
    bytes: &[u8],
) -> bool {
    let path = scratch.join(format!("{at}-{}", name.replace('/', "-")));
    std::fs::write(&path, bytes).expect("write a corrupted file");
    let value = format!(":{}", path.display());
    let zone = match Zone::from_tzif(bytes) {
        Ok(_) if inputs::is_undefined_file(bytes) => {
            referee.left_out += 1;
            return false;
        }
        Err(_) if inputs::has_no_types(bytes) => {
            referee.left_out += 1;
            return false;
        }
        Ok(zone) => zone,
        // glibc refuses it, too: it then reads the path as a TZ string, which is UTC without a name.
        Err(_) => Zone::from_posix(path.display().to_string().as_bytes()),
    };
    let accepted = Zone::from_tzif(bytes).is_ok();
    let before = referee.differences();
    referee.enter(value.as_bytes(), &zone);
    if accepted {
        referee.around_transitions(&zone, bytes, random);
    }
    referee.at_random(&zone, random, 50);
    if referee.differences() == before {
        std::fs::remove_file(&path).expect("remove a corrupted file");
    } else if let Some(keep) = std::env::var_os("NEEDLESS_KEEP") {
        let kept = Path::new(&keep).join(path.file_name().expect("a name"));
        std::fs::copy(&path, kept).expect("keep a corrupted file");
    }
    accepted
}
