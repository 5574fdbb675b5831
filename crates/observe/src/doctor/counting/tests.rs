use super::*;
use crate::doctor::CheckState;

const WHOLE: &str = "         0          0 4294967295\n";

fn program() -> &'static Path {
    Path::new("/usr/bin/needless")
}

/// A status with these capabilities, and these that can be had.
fn status(effective: u64, bounding: u64, no_new_privileges: u8) -> String {
    format!(
        "Name:\tneedless\nCapInh:\t0000000000000000\nCapPrm:\t{effective:016x}\n\
         CapEff:\t{effective:016x}\nCapBnd:\t{bounding:016x}\nCapAmb:\t0000000000000000\n\
         NoNewPrivs:\t{no_new_privileges}\n"
    )
}

#[test]
fn doctor_reads_the_rights_to_load_and_attach() {
    let state = |held| rights(&status(held, !0, 0), WHOLE, program()).state;
    assert_eq!(state(CAP_BPF | CAP_PERFMON), CheckState::Good);
    assert_eq!(state(CAP_SYS_ADMIN), CheckState::Good);
    assert_eq!(state(0), CheckState::Bad);
    assert_eq!(state(CAP_BPF), CheckState::Bad);
    assert_eq!(state(CAP_PERFMON | CAP_SYS_PTRACE), CheckState::Bad);
    assert_eq!(rights("Name:\tneedless\n", WHOLE, program()).state, CheckState::Info);
    let half = rights(&status(CAP_PERFMON, !0, 0), WHOLE, program());
    assert!(half.says.contains("without CAP_BPF,"), "{half:?}");
}

#[test]
fn doctor_knows_the_ways_to_the_rights() {
    let way = |bounding, no_new_privileges| {
        let status = status(0, bounding, no_new_privileges);
        rights(&status, WHOLE, program()).remedy.unwrap()
    };
    let open = way(!0, 0);
    assert!(open.contains("sudo setcap cap_bpf,cap_perfmon+ep /usr/bin/needless"), "{open}");
    assert!(open.contains("AmbientCapabilities=CAP_BPF CAP_PERFMON"), "{open}");
    let bound = way(!CAP_BPF, 0);
    assert!(bound.ends_with(" for a container: --cap-add=BPF --cap-add=PERFMON"), "{bound}");
    let shut = way(!0, 1);
    assert!(shut.contains("no_new_privs") && !shut.contains("AmbientCapabilities"), "{shut}");
}

#[test]
fn doctor_knows_that_rights_of_a_namespace_do_not_count() {
    let all = status(!0, !0, 0);
    let inside = rights(&all, "0 1000 1\n1 100000 65536\n", program());
    assert_eq!(inside.state, CheckState::Bad);
    assert!(inside.says.contains("user namespace"), "{inside:?}");
    let looked = others(&all, "0 1000 1\n", program());
    assert_eq!(looked.state, CheckState::Info);
    assert!(looked.says.contains("user namespace"), "{looked:?}");
    assert!(first_namespace(WHOLE));
    assert!(first_namespace(""), "a kernel without user namespaces");
    assert!(!first_namespace("0 100000 65536\n"));
}

#[test]
fn doctor_reads_what_of_others_can_be_read() {
    let checked = |held| others(&status(held, !0, 0), WHOLE, program());
    assert_eq!(checked(CAP_SYS_PTRACE | CAP_DAC_READ_SEARCH).state, CheckState::Good);
    let one = checked(CAP_SYS_PTRACE);
    assert_eq!(one.state, CheckState::Info);
    assert!(!one.says.contains("CAP_SYS_PTRACE"), "{one:?}");
    assert!(one.says.contains("CAP_DAC_READ_SEARCH"), "{one:?}");
    let none = checked(CAP_BPF);
    assert!(none.says.contains("CAP_SYS_PTRACE"), "{none:?}");
    // setcap removes every capability that it does not list.
    let all = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep";
    assert!(none.remedy.unwrap().contains(all));
}

#[test]
fn doctor_reads_the_mode_of_lockdown() {
    let state = |modes| lockdown(Some(modes)).state;
    assert_eq!(state("[none] integrity confidentiality\n"), CheckState::Good);
    assert_eq!(state("none [integrity] confidentiality\n"), CheckState::Good);
    assert_eq!(state("none integrity [confidentiality]\n"), CheckState::Bad);
    assert_eq!(state("none integrity confidentiality\n"), CheckState::Info);
    assert_eq!(lockdown(None).state, CheckState::Info);
}

#[test]
fn doctor_reads_where_tracefs_is() {
    let mounts = "proc /proc proc rw,nosuid 0 0\n\
                  debugfs /sys/kernel/debug debugfs rw 0 0\n\
                  tracefs /sys/kernel/tracing tracefs rw,nosuid 0 0\n";
    assert_eq!(tracefs_of(mounts).as_deref(), Some("/sys/kernel/tracing"));
    // By another name, and only named so.
    let odd = "nodev /sys/kernel/debug/tracing tracefs rw 0 0\n";
    assert_eq!(tracefs_of(odd).as_deref(), Some("/sys/kernel/debug/tracing"));
    assert_eq!(tracefs_of("tracefs /mnt ext4 rw 0 0\n\nshort\n"), None);
    assert!(tracefs(Some("/t"), true).says.contains("readable"));
    assert!(tracefs(Some("/t"), false).says.contains("root only"));
    assert!(tracefs(None, false).says.contains("not mounted"));
}

#[test]
fn doctor_reads_the_kernels_types() {
    let magic = 0xeb9f_u16.to_ne_bytes();
    assert_eq!(btf(&Ok(magic.to_vec())).state, CheckState::Good);
    assert_eq!(btf(&Ok(b"\x7fELF".to_vec())).state, CheckState::Bad);
    assert_eq!(btf(&Err("No such file or directory".into())).state, CheckState::Bad);
    assert_eq!(mappings(b"\0int\0bpf_iter_task_vma_new\0long\0").state, CheckState::Good);
    assert_eq!(
        mappings(b"\0bpf_iter_task_vma_new_old\0x_bpf_iter_task_vma_new\0").state,
        CheckState::Info
    );
}

#[test]
fn doctor_reads_who_may_load_programs() {
    let says = |text| everybody(text).says;
    assert!(says(Some("0\n")).contains("every user may"));
    assert!(says(Some("1\n")).contains("until the next boot"));
    assert!(says(Some("2\n")).contains("is 2: "));
    assert!(says(None).contains("not there"));
    assert!(says(Some("7\n")).contains("not understood"));
}
