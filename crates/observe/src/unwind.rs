//! From a frame to its caller, by the unwinding tables of the files.

use crate::module::Elf;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use framehop::{CacheNative, UnwindRegsNative, UnwinderNative};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Unwinder};
// No program is traced elsewhere (`needless_syscalls::abis` is empty), so no stack comes here: any will do.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use framehop::x86_64::{
    CacheX86_64 as CacheNative, UnwindRegsX86_64 as UnwindRegsNative,
    UnwinderX86_64 as UnwinderNative,
};
use needless_host::{Module, Stack};
use std::collections::HashSet;
use std::sync::Arc;

/// The unwinder of one process image. Modules are added when a frame is found in them.
#[derive(Default)]
pub(crate) struct Unwinding {
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    added: HashSet<u64>,
}

/// The current frame of a stack that is being unwound.
pub(crate) struct Frames<'a> {
    stack: &'a Stack,
    registers: UnwindRegsNative,
    address: FrameAddress,
}

impl Unwinding {
    /// The innermost frame of `stack`.
    pub(crate) fn start<'a>(&self, stack: &'a Stack) -> Frames<'a> {
        let address = FrameAddress::from_instruction_pointer(stack.pc);
        Frames { stack, registers: registers(stack), address }
    }

    /// The address that the current frame, in `module`, returns to.
    pub(crate) fn step(
        &mut self,
        frames: &mut Frames<'_>,
        module: &Module,
        elf: &Elf,
        bias: u64,
    ) -> Option<u64> {
        if self.added.insert(module.start) {
            self.unwinder.add_module(to_framehop(module, elf, bias));
        }
        let stack = frames.stack;
        let mut read = |address: u64| {
            let at = usize::try_from(address.checked_sub(stack.sp).ok_or(())?).map_err(|_| ())?;
            let eight = stack.bytes.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            Ok(u64::from_le_bytes(eight.try_into().map_err(|_| ())?))
        };
        let caller = self
            .unwinder
            .unwind_frame(frames.address, &mut frames.registers, &mut self.cache, &mut read)
            .ok()??;
        frames.address = FrameAddress::from_return_address(caller)?;
        Some(caller)
    }
}

#[cfg(not(target_arch = "aarch64"))]
fn registers(stack: &Stack) -> UnwindRegsNative {
    UnwindRegsNative::new(stack.pc, stack.sp, stack.fp)
}

#[cfg(target_arch = "aarch64")]
fn registers(stack: &Stack) -> UnwindRegsNative {
    // Return addresses may be signed in the bits that no address uses.
    let highest = stack.modules.iter().map(|m| m.end).max().unwrap_or(u64::MAX);
    let mask = framehop::aarch64::PtrAuthMask::from_max_known_address(highest);
    UnwindRegsNative::new_with_ptr_auth_mask(mask, stack.lr, stack.sp, stack.fp)
}

fn to_framehop(module: &Module, elf: &Elf, bias: u64) -> framehop::Module<Arc<[u8]>> {
    let range = |section: &crate::module::FrameSection| {
        section.address..section.address + section.data.len() as u64
    };
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        eh_frame_svma: elf.eh_frame.as_ref().map(range),
        eh_frame: elf.eh_frame.as_ref().map(|section| section.data.clone()),
        eh_frame_hdr_svma: elf.eh_frame_hdr.as_ref().map(range),
        eh_frame_hdr: elf.eh_frame_hdr.as_ref().map(|section| section.data.clone()),
        ..ExplicitModuleSectionInfo::default()
    };
    let name = module.path.to_string_lossy().into_owned();
    framehop::Module::new(name, module.start..module.end, bias, sections)
}
