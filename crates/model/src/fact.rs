//! What a profile knows. A rule asks for facts, never for a backend.

/// Something that a backend may or may not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Fact {
    /// Paths of the calls that name one.
    Paths,
    /// Outcome of the calls (ok or errno).
    Outcomes,
    /// Every call was counted, not only those that rules need: totals are exact.
    AllCalls,
    /// Watched variables of the processes at exec.
    Environment,
    /// When calls were made.
    Clock,
    /// Time spent in the kernel per call.
    KernelTime,
    /// Arguments of calls without a path that rules ask about ([`ArgClass`](crate::ArgClass)).
    Details,
    /// Fingerprints of answers, so that "the same answer" is evidence and not an inference from
    /// the outcome.
    Answers,
    /// Where in the program frequent calls are made.
    CallSites,
    /// The time zone files of the host (or of the observed process's own root).
    HostZone,
    /// What the host's C library does with candidate locale names.
    HostLocales,
}

impl Fact {
    /// All facts, in declaration order.
    pub const ALL: [Fact; 11] = [
        Fact::Paths,
        Fact::Outcomes,
        Fact::AllCalls,
        Fact::Environment,
        Fact::Clock,
        Fact::KernelTime,
        Fact::Details,
        Fact::Answers,
        Fact::CallSites,
        Fact::HostZone,
        Fact::HostLocales,
    ];

    /// The fact as a noun phrase, for "not checked: needs …".
    pub fn words(self) -> &'static str {
        match self {
            Fact::Paths => "the paths of calls",
            Fact::Outcomes => "the outcome of calls",
            Fact::AllCalls => "a count of every call",
            Fact::Environment => "the environment of the processes",
            Fact::Clock => "the time of calls",
            Fact::KernelTime => "the kernel time of calls",
            Fact::Details => "the arguments of calls without a path",
            Fact::Answers => "the answers of calls",
            Fact::CallSites => "call sites",
            Fact::HostZone => "the host's time zone files",
            Fact::HostLocales => "the host's locales",
        }
    }
}

/// A set of [`Fact`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(u16);

impl Facts {
    /// The set of `facts`.
    pub fn of(facts: &[Fact]) -> Facts {
        facts.iter().fold(Facts::default(), |set, f| set.with(*f))
    }

    /// This set and `fact`.
    #[must_use]
    pub fn with(self, fact: Fact) -> Facts {
        Facts(self.0 | 1 << fact as u16)
    }

    /// This set without `fact`.
    #[must_use]
    pub fn without(self, fact: Fact) -> Facts {
        Facts(self.0 & !(1 << fact as u16))
    }

    /// Whether `fact` is in the set.
    pub fn has(self, fact: Fact) -> bool {
        self.0 & 1 << fact as u16 != 0
    }

    /// The facts of `needed` that are not in the set.
    pub fn missing(self, needed: &[Fact]) -> Vec<Fact> {
        needed.iter().copied().filter(|f| !self.has(*f)).collect()
    }
}
