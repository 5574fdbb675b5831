//! What several rules know of one mechanism: time zones, locales, the dynamic loader.

pub(crate) mod loader;
pub(crate) mod locale;
pub(crate) mod locale_advice;
pub(crate) mod misread;
pub(crate) mod zone;
pub(crate) mod zone_looker;
pub(crate) mod zone_wanted;
