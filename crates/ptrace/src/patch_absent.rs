//! Patched call sites, where there are none: on other machines than x86-64.

use crate::filter::Exempt;
use crate::sys::{SyscallInfo, Tid};
use crate::tracer::Tracer;
use needless_syscalls::{Call, Shape};

/// After so many stops at a site it is patched.
pub const PATCH_AFTER: u32 = 4;

pub(crate) fn exempt() -> Exempt {
    // No program of these machines has addresses that high.
    let (calls_from, reports_from) = (u64::MAX, u64::MAX);
    Exempt { calls_from, report: u32::MAX, reports_from, region_high: u32::MAX, ours: 0 }
}

pub(crate) fn is_allowed() -> bool {
    false
}

pub(crate) fn patchable(_: &Call) -> Option<Shape> {
    None
}

pub(crate) struct Patching;

#[derive(Default)]
pub(crate) struct Patches {}

pub(crate) fn leave_uncounted(_: Tid, signal: i32) -> i32 {
    signal
}

impl Patching {
    pub(crate) fn new(_: u32) -> Patching {
        Patching
    }
}

impl Tracer<'_> {
    pub(crate) fn patch(&mut self, _: Tid, _: usize, _: &SyscallInfo) -> bool {
        false
    }

    pub(crate) fn asked(&mut self, _: Tid, _: usize, _: &SyscallInfo) -> bool {
        false
    }

    pub(crate) fn make_room(&mut self, _: Tid, _: usize, _: &SyscallInfo) {}

    pub(crate) fn reported(&mut self, _: Tid, _: usize, _: &SyscallInfo) -> bool {
        false
    }

    pub(crate) fn take_records(&mut self) {}

    pub(crate) fn patches_forked(&mut self, _: usize, _: usize) {}

    pub(crate) fn patches_orphaned(&mut self, _: Tid) {}

    pub(crate) fn memory_left(&mut self, _: usize) {}

    pub(crate) fn leave_to_ptrace(&mut self, _: usize) {}

    pub(crate) fn ends_in_stub(&mut self, _: Tid) {}

    pub(crate) fn out_of_stub(&mut self, _: Tid, signal: i32) -> i32 {
        signal
    }
}
