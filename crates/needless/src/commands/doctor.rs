//! `doctor`: what needless can observe on this machine.

use crate::context::Context;
use crate::exit;
use crate::output::Output;
use anyhow::Result;
use needless_model::Exit;
use needless_observe::HostCheck;
use needless_report::DoctorCheck;

pub(crate) fn doctor(context: &Context) -> Result<Exit> {
    let row = |check: HostCheck| DoctorCheck {
        name: check.name.into(),
        ok: check.ok(),
        says: check.says,
        remedy: check.remedy,
    };
    let checks: Vec<DoctorCheck> = needless_observe::doctor().into_iter().map(row).collect();
    Output::stdout(context).emit(|out, style| needless_report::doctor(out, &checks, style))?;
    Ok(exit::DONE)
}
