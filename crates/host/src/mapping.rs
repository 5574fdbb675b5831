//! What a process has mapped.

use std::ops::Range;

/// A line of /proc/PID/maps (proc_pid_maps(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Its addresses.
    pub range: Range<u64>,
    /// As `r-xp`.
    pub access: &'a str,
    /// Where it starts in its file, bytes.
    pub offset: u64,
    /// Major and minor number, as `fe:01`.
    pub device: &'a str,
    /// 0: no file.
    pub inode: u64,
    /// The file, a name as `[stack]`, or nothing.
    pub path: &'a str,
}

impl Mapping<'_> {
    /// The mappings in the text of /proc/PID/maps. A line that is not one is left out.
    pub fn all(text: &str) -> impl Iterator<Item = Mapping<'_>> {
        text.lines().filter_map(parse)
    }
}

fn parse(line: &str) -> Option<Mapping<'_>> {
    let mut fields = line.splitn(6, ' ');
    let mut field = || fields.next();
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = field()?.split_once('-')?;
    let (access, offset, device, inode) = (field()?, field()?, field()?, field()?);
    Some(Mapping {
        range: hex(start)?..hex(end)?,
        access,
        offset: hex(offset)?,
        device,
        inode: inode.parse().ok()?,
        path: field().unwrap_or_default().trim_start(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_with_their_blanks() {
        let text = "55d0c000-55d0d000 r-xp 00001000 fe:01 131                  /opt/my app/lt (deleted)\n\
                    7f00-7f01 rw-p 00000000 00:00 0                          [heap]\n\
                    7f01-7f02 ---p 00000000 00:00 0 \n\
                    7f02-7f03\n";
        let all: Vec<Mapping<'_>> = Mapping::all(text).collect();
        assert_eq!(all.len(), 3, "the last line is not whole");
        let Mapping { range, access, offset, device, inode, path } = &all[0];
        assert_eq!((range, *access, *offset), (&(0x55d0_c000..0x55d0_d000), "r-xp", 0x1000));
        assert_eq!((*device, *inode, *path), ("fe:01", 131, "/opt/my app/lt (deleted)"));
        assert_eq!((all[1].access, all[1].path, all[2].path), ("rw-p", "[heap]", ""));
    }
}
