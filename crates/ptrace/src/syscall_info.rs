//! What ptrace says of the call that a thread is stopped in.

pub(crate) const OP_ENTRY: u8 = 1;
pub(crate) const OP_EXIT: u8 = 2;
pub(crate) const OP_SECCOMP: u8 = 3;

/// `struct ptrace_syscall_info` (ptrace(2)); the union as its words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SyscallInfo {
    pub(crate) op: u8,
    pub(crate) pad: [u8; 3],
    /// `AUDIT_ARCH_*`.
    pub(crate) arch: u32,
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    data: [u64; 8],
}

impl SyscallInfo {
    /// The entry of a call that did not stop there.
    pub(crate) fn entry(arch: u32, ip: u64, sp: u64, nr: u64, args: [u64; 6]) -> SyscallInfo {
        let [a, b, c, d, e, f] = args;
        let data = [nr, a, b, c, d, e, f, u64::from(crate::filter::OURS)];
        SyscallInfo { op: OP_SECCOMP, pad: [0; 3], arch, ip, sp, data }
    }

    /// The exit of this call, with what the kernel left in the register.
    pub(crate) fn with_result(&self, result: i64) -> SyscallInfo {
        let is_error = u64::from((-4095..0).contains(&result));
        let data = [result as u64, is_error, 0, 0, 0, 0, 0, 0];
        SyscallInfo { op: OP_EXIT, data, ..*self }
    }

    /// The call's number, at entry.
    pub(crate) fn nr(&self) -> u64 {
        self.data[0]
    }

    /// The arguments, at entry.
    pub(crate) fn args(&self) -> [u64; 6] {
        let [_, a, b, c, d, e, f, _] = self.data;
        [a, b, c, d, e, f]
    }

    /// Whether a filter of the command stopped the call for a tracer of the command.
    pub(crate) fn is_for_another_tracer(&self) -> bool {
        self.op == OP_SECCOMP && self.data[7] as u32 & libc::SECCOMP_RET_DATA != crate::filter::OURS
    }

    /// The return value, at exit; an error as the kernel's number.
    pub(crate) fn result(&self) -> Result<u64, u16> {
        let is_error = self.data[1] as u8 != 0;
        if is_error { Err((self.data[0] as i64).unsigned_abs() as u16) } else { Ok(self.data[0]) }
    }
}
