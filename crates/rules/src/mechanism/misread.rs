//! What Java, Node and Go make of values of TZ that the C library understands.

use crate::View;
use crate::mechanism::zone::{self, LOCALTIME, zone_name};
use needless_localtime::{Zone as GlibcZone, posix_tz};
use needless_model::{ProcId, Runtime};

/// POSIX texts that Java and ICU have zones for.
const AMERICAN: [&str; 4] = ["EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT"];

/// What a runtime makes of TZ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mistake {
    /// One offset for all dates, that of the start.
    Fixed,
    /// The offset with the other sign.
    Sign,
    /// The zone of the machine, as if TZ were not set.
    Machine,
    /// UTC.
    Utc,
}

/// What the runtime of a process makes of TZ, if that is not what the C library makes of it. `text`: TZ without its colon.
pub(crate) fn mistake(view: &View<'_>, id: ProcId, text: &str) -> Option<Mistake> {
    let process = view.process(id);
    let options = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
    let sets_zone = |name: &&str| {
        process.env.value(name).is_some_and(|value| value.contains("-Duser.timezone"))
    };
    let java = process.runtime == Runtime::Java;
    if java && options.iter().any(sets_zone) {
        return None;
    }
    if text.starts_with('/') {
        let fixed =
            process.runtime != Runtime::Go && changes_clocks(meant_by_path(view, id, text)?);
        return fixed.then_some(Mistake::Fixed);
    }
    posix_tz(text)?;
    let offsets = offsets(text)?;
    let changes = offsets.iter().any(|offset| *offset != offsets[0]);
    let utc = !changes && offsets[0] == 0;
    match process.runtime {
        _ if utc || AMERICAN.contains(&text) && process.runtime != Runtime::Go => None,
        Runtime::Go => Some(Mistake::Utc),
        Runtime::Java if changes => Some(Mistake::Fixed),
        Runtime::Java => is_gmt(text).then_some(Mistake::Sign),
        Runtime::Node if known_to_icu(text) => None,
        // The zone of the machine: is it sure to be another one?
        Runtime::Node => {
            let machine = zone::zone_of(view, id)?.name.as_deref()?;
            let other = is_utc(machine) || changes != changes_clocks(machine);
            other.then_some(Mistake::Machine)
        }
        Runtime::Native => None,
    }
}

/// The name of the zone in the file that TZ names.
pub(crate) fn meant_by_path<'v>(view: &'v View<'_>, id: ProcId, path: &'v str) -> Option<&'v str> {
    if path == LOCALTIME {
        return zone::zone_of(view, id)?.name.as_deref();
    }
    zone_name(path)
}

/// Seconds east of UTC, in each month.
pub(crate) fn offsets(text: &str) -> Option<Vec<i64>> {
    let zone = GlibcZone::from_posix(text.as_bytes());
    let at = |month: i64| {
        zone.type_at(zone::A_DAY + month * zone::MONTH).map(|kind| i64::from(kind.gmtoff))
    };
    (0..12).map(at).collect()
}

/// Java's own notation of an offset, in which `+` is east: `GMT`, a sign, digits.
fn is_gmt(text: &str) -> bool {
    text.strip_prefix("GMT").is_some_and(|rest| rest.starts_with(['+', '-']))
}

/// ICU takes a text for the name of a zone if it has digits only at its end, at most two.
fn known_to_icu(text: &str) -> bool {
    let name = text.trim_end_matches(|c: char| c.is_ascii_digit());
    text.len() - name.len() <= 2 && !name.contains(|c: char| c.is_ascii_digit() || c == ',')
}

fn is_utc(zone: &str) -> bool {
    let name = zone.strip_prefix("Etc/").unwrap_or(zone);
    ["UTC", "UCT", "Universal", "Zulu", "GMT", "Greenwich"].contains(&name)
}

fn changes_clocks(zone: &str) -> bool {
    let zone = zone.strip_prefix("posix/").unwrap_or(zone);
    CHANGING.iter().any(|(area, names)| {
        let name = if area.is_empty() {
            Some(zone)
        } else {
            zone.strip_prefix(area).and_then(|rest| rest.strip_prefix('/'))
        };
        name.is_some_and(|name| names.split(' ').any(|one| one == name))
    })
}

/// Zones in which the clocks were changed in 2026, by area (tz database 2025b): a fixed offset is wrong in these.
const CHANGING: [(&str, &str); 14] = [
    ("Africa", "Cairo Casablanca Ceuta El_Aaiun"),
    (
        "America",
        "Adak Anchorage Atka Boise Cambridge_Bay Chicago Ciudad_Juarez Denver Detroit \
         Edmonton Ensenada Fort_Wayne Glace_Bay Godthab Goose_Bay Grand_Turk Halifax \
         Havana Indiana/Indianapolis Indiana/Knox Indiana/Marengo Indiana/Petersburg \
         Indiana/Tell_City Indiana/Vevay Indiana/Vincennes Indiana/Winamac Indianapolis \
         Inuvik Iqaluit Juneau Kentucky/Louisville Kentucky/Monticello Knox_IN \
         Los_Angeles Louisville Matamoros Menominee Metlakatla Miquelon Moncton Montreal \
         Nassau New_York Nipigon Nome North_Dakota/Beulah North_Dakota/Center \
         North_Dakota/New_Salem Nuuk Ojinaga Pangnirtung Port-au-Prince Rainy_River \
         Rankin_Inlet Resolute Santa_Isabel Santiago Scoresbysund Shiprock Sitka St_Johns \
         Thule Thunder_Bay Tijuana Toronto Vancouver Winnipeg Yakutat Yellowknife",
    ),
    ("Antarctica", "Macquarie McMurdo South_Pole Troll"),
    ("Arctic", "Longyearbyen"),
    ("Asia", "Beirut Famagusta Gaza Hebron Jerusalem Nicosia Tel_Aviv"),
    ("Atlantic", "Azores Bermuda Canary Faeroe Faroe Jan_Mayen Madeira"),
    (
        "Australia",
        "ACT Adelaide Broken_Hill Canberra Currie Hobart LHI Lord_Howe Melbourne NSW \
         South Sydney Tasmania Victoria Yancowinna",
    ),
    (
        "",
        "CET CST6CDT Cuba EET EST5EDT Egypt Eire GB GB-Eire Israel MET MST7MDT NZ NZ-CHAT \
         Navajo PST8PDT Poland Portugal WET",
    ),
    ("Canada", "Atlantic Central Eastern Mountain Newfoundland Pacific"),
    ("Chile", "Continental EasterIsland"),
    (
        "Europe",
        "Amsterdam Andorra Athens Belfast Belgrade Berlin Bratislava Brussels Bucharest \
         Budapest Busingen Chisinau Copenhagen Dublin Gibraltar Guernsey Helsinki \
         Isle_of_Man Jersey Kiev Kyiv Lisbon Ljubljana London Luxembourg Madrid Malta \
         Mariehamn Monaco Nicosia Oslo Paris Podgorica Prague Riga Rome San_Marino \
         Sarajevo Skopje Sofia Stockholm Tallinn Tirane Tiraspol Uzhgorod Vaduz Vatican \
         Vienna Vilnius Warsaw Zagreb Zaporozhye Zurich",
    ),
    ("Mexico", "BajaNorte"),
    ("Pacific", "Auckland Chatham Easter Norfolk"),
    (
        "US",
        "Alaska Aleutian Central East-Indiana Eastern Indiana-Starke Michigan Mountain \
         Pacific",
    ),
];
