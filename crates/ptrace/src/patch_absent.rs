//! Patched call sites, where there are none: on other machines than x86-64.

use crate::filter::Exempt;
use crate::sys::{SyscallInfo, Tid};
use crate::tracer::Tracer;
use needless_syscalls::{Call, Shape};

/// After so many stops at a site it is patched.
pub const PATCH_AFTER: u32 = 4;

pub(crate) struct Patching;

#[derive(Default)]
pub(crate) struct Patches {}

pub(crate) fn begin(_: u32) -> Option<Patching> {
    None
}

pub(crate) fn exempt() -> Option<Exempt> {
    None
}

pub(crate) fn patchable(_: &Call) -> Option<Shape> {
    None
}

pub(crate) fn leave_uncounted(_: Tid, signal: i32) -> i32 {
    signal
}

pub(crate) fn restore_sites(_: Tid, _: Option<u64>) {}
pub(crate) fn end_patches(_: Tid) {}

impl Tracer<'_> {
    pub(crate) fn patched(&mut self, _: Tid, _: usize, _: &SyscallInfo) -> bool {
        false
    }

    pub(crate) fn take_back(&mut self, _: Tid, _: usize, _: Option<&'static str>) {}
    pub(crate) fn take_records(&mut self) {}
    pub(crate) fn patches_forked(&mut self, _: usize, _: usize, _: bool) {}
    pub(crate) fn memory_left(&mut self, _: usize) {}

    pub(crate) fn out_of_stub(&mut self, _: Tid, signal: i32) -> i32 {
        signal
    }
}
