//! Reports to the service manager: sd_notify(3).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Has the service manager wait long enough: it hears of the agent after each window, `every`. See sd_notify(3),
/// `WATCHDOG_USEC`.
pub(super) fn watch(every: Duration) {
    let given = std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse::<u128>().ok());
    let needed = 3 * every.as_micros();
    if given.is_some_and(|given| given < needed) {
        notify(&format!("WATCHDOG_USEC={needed}"));
    }
}

/// Sends a state ("READY=1"), where a service manager waits for one. One that is gone is no error.
pub(super) fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match path.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(path),
    };
    let send = |address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address);
    let _ = address.and_then(send);
}
