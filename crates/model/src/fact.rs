//! What a profile knows. A rule asks for facts, never for a backend.

words! {
    /// Something that a backend may or may not know.
    pub enum Fact {
        /// Paths of the calls that name one.
        Paths = "the paths of calls",
        /// Outcome of the calls (ok or errno).
        Outcomes = "the outcome of calls",
        /// Every call was counted, not only those that rules need: totals are exact.
        AllCalls = "a count of every call",
        /// Watched variables of the processes at exec.
        Environment = "the environment of the processes",
        /// When calls were made.
        Clock = "the time of calls",
        /// Time spent in the kernel per call.
        KernelTime = "the kernel time of calls",
        /// Arguments of calls without a path that rules ask about ([`ArgClass`](crate::ArgClass)).
        Details = "the arguments of calls without a path",
        /// Fingerprints of answers, so that "the same answer" is evidence and not an inference from
        /// the outcome.
        Answers = "the answers of calls",
        /// Where in the program frequent calls are made.
        CallSites = "call sites",
        /// The time zone files of the host (or of the observed process's own root).
        HostZone = "the host's time zone files",
        /// What the host's C library does with candidate locale names.
        HostLocales = "the host's locales",
    }
    /// The fact as a noun phrase, for "not checked: needs …".
    pub fn words(self);
}

/// A set of [`Fact`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(u16);

impl Facts {
    /// The set of `facts`.
    pub fn of(facts: &[Fact]) -> Facts {
        facts.iter().fold(Facts::default(), |set, f| set.with(*f))
    }

    /// What a backend that observes running programs knows, whatever it was asked for.
    pub fn live() -> Facts {
        Facts::of(&[
            Fact::Paths,
            Fact::Outcomes,
            Fact::Environment,
            Fact::Clock,
            Fact::Details,
            Fact::Answers,
        ])
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
