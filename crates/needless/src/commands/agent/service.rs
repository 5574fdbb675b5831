//! Reports to the service manager: sd_notify(3).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

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
