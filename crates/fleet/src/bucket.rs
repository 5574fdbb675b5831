//! A place in a store that speaks the protocol of Amazon S3, and who may use it, as curl(1) takes them.

use crate::curl;
use std::fmt::{self, Write as _};

/// A bucket and what the names in it begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    name: String,
    /// Empty, or ends with a slash.
    prefix: String,
}

impl Bucket {
    /// Reads `s3://BUCKET` or `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn parse(text: &str) -> Result<Bucket, String> {
        let wrong = || "expected s3://BUCKET or s3://BUCKET/PREFIX".to_owned();
        let rest = text.strip_prefix("s3://").ok_or_else(wrong)?;
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        // A part that is ".." would be another place by the rules of URLs (RFC 3986, 5.2.4).
        let fits = |part: &str| !part.is_empty() && !part.starts_with('.');
        if !is_plain(name) || !(prefix.is_empty() || prefix.split('/').all(fits)) {
            return Err(wrong());
        }
        if prefix.chars().any(char::is_control) || text.len() > 512 {
            return Err(wrong());
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Bucket { name: name.to_owned(), prefix })
    }

    /// The key of what has this name below the prefix.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.name, self.prefix)
    }
}

/// Whether a text is a part of a key that no URL, no configuration of curl and no XML writes in another way. The agent's
/// names of hosts are.
pub(crate) fn is_plain(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(fits)
}

/// Where the store answers, and the credentials. They are given to curl on its standard input and to nothing else.
pub struct Access {
    endpoint: String,
    region: String,
    user: String,
    token: Option<String>,
}

impl Access {
    /// The variables of the environment that are asked for.
    pub(crate) const SECRETS: [&str; 3] =
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

    /// Reads the variables that AWS's own tools read: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`
    /// (for credentials that end), `AWS_REGION` (by default us-east-1) and `AWS_ENDPOINT_URL` (by default that of Amazon).
    ///
    /// # Errors
    /// Which one is missing or is not usable; never its value.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Access, String> {
        let get = |name: &str| match variable(name).filter(|value| !value.is_empty()) {
            // What goes into a header is one word.
            Some(value) if !value.bytes().all(|b| b.is_ascii_graphic()) => {
                Err(format!("{name}: has a blank or a character that is not ASCII; set it again"))
            }
            value => Ok(value),
        };
        let [id, secret, token] = Access::SECRETS;
        let needed = |name: &str| {
            get(name)?.ok_or_else(|| {
                format!("{name}: is not set; set it to the credentials of the store")
            })
        };
        let (key, password) = (needed(id)?, needed(secret)?);
        if key.contains(':') {
            return Err(format!("{id}: has a colon; set it to the name of an access key"));
        }
        let region = get("AWS_REGION")?.unwrap_or_else(|| "us-east-1".to_owned());
        if !is_plain(&region) {
            return Err(
                "AWS_REGION: is not the name of a region; set it, such as to us-east-1".into()
            );
        }
        let endpoint = match get("AWS_ENDPOINT_URL")? {
            None => format!("https://s3.{region}.amazonaws.com"),
            Some(url) => endpoint(&url)
                .ok_or("AWS_ENDPOINT_URL: expected https://HOST or https://HOST:PORT; set it so")?,
        };
        let user = format!("{key}:{password}");
        Ok(Access { endpoint, region, user, token: get(token)? })
    }

    /// One request of curl, as text of its configuration: curl(1), --config. `path` is a key.
    pub(crate) fn request(
        &self,
        bucket: &Bucket,
        path: &str,
        query: &str,
        more: &[(&str, &str)],
    ) -> String {
        let protocol = self.endpoint.split(':').next().unwrap_or("https");
        let mut url = format!("{}/{}", self.endpoint, bucket.name);
        if !path.is_empty() {
            url.push('/');
            url.push_str(&encoded(path, true));
        }
        if !query.is_empty() {
            url.push('?');
            url.push_str(query);
        }
        let mut text = String::new();
        let mut set = |name: &str, value: &str| curl::set(&mut text, name, value);
        set("url", &url);
        set("user", &self.user);
        set("aws-sigv4", &format!("aws:amz:{}:s3", self.region));
        set("proto", &format!("={protocol}"));
        if let Some(token) = &self.token {
            set("header", &format!("x-amz-security-token: {token}"));
        }
        more.iter().for_each(|(name, value)| set(name, value));
        text
    }
}

/// The scheme, the host and the port, if the URL has nothing else.
fn endpoint(url: &str) -> Option<String> {
    let url = url.strip_suffix('/').unwrap_or(url);
    let (scheme, host) = url.split_once("://")?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
    let fits = !host.is_empty() && host.bytes().all(fits);
    (fits && matches!(scheme, "https" | "http")).then(|| url.to_owned())
}

/// As in a URL (RFC 3986, 2.1), and as what is signed has it.
pub(crate) fn encoded(text: &str, slashes: bool) -> String {
    let mut encoded = String::new();
    for b in text.bytes() {
        match b {
            b'-' | b'.' | b'_' | b'~' => encoded.push(b.into()),
            b'/' if slashes => encoded.push('/'),
            b if b.is_ascii_alphanumeric() => encoded.push(b.into()),
            b => {
                let _ = write!(encoded, "%{b:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(of: &[(&str, &str)]) -> Result<Access, String> {
        Access::read(|name| {
            let found = of.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn places_are_read_or_refused() {
        let bucket = Bucket::parse("s3://b-1/env=a b/windows/").unwrap();
        assert_eq!(bucket.key("x"), "env=a b/windows/x");
        assert_eq!(bucket.to_string(), "s3://b-1/env=a b/windows/");
        assert_eq!(Bucket::parse("s3://b").unwrap().key("x"), "x");
        assert_eq!(encoded("env=a b/ü", true), "env%3Da%20b/%C3%BC");
        assert_eq!(encoded("a/b", false), "a%2Fb");
        for wrong in
            ["", "b", "s3://", "s3:///a", "s3://b/../c", "s3://b//c", "s3://b?x", "s3://b/a\nb"]
        {
            assert!(Bucket::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn secrets_are_quoted_and_no_error_has_them() {
        let [id, secret, token] = Access::SECRETS;
        let good = [(id, "AK"), (secret, "a\\b\"c"), (token, "T")];
        let bucket = Bucket::parse("s3://b/p").unwrap();
        let text = access(&good).ok().unwrap().request(&bucket, "p/x", "", &[]);
        assert!(text.contains("user = \"AK:a\\\\b\\\"c\"\n"), "{text}");
        assert!(text.contains("\"https://s3.us-east-1.amazonaws.com/b/p/x\""), "{text}");
        assert!(text.contains("proto = \"=https\"") && text.contains("x-amz-security-token: T\""));
        for (name, value) in [
            (id, ""),
            (id, "hunter:2"),
            (secret, "hunter\n2"),
            (token, "hunter 2"),
            ("AWS_REGION", "hunter/2"),
            ("AWS_ENDPOINT_URL", "https://hunter:2@host"),
            ("AWS_ENDPOINT_URL", "ftp://hunter"),
            ("AWS_ENDPOINT_URL", "hunter"),
        ] {
            let all: Vec<_> = std::iter::once((name, value)).chain(good).collect();
            let error = access(&all).err().unwrap_or_else(|| panic!("{name}={value}"));
            assert!(error.starts_with(name) && !error.contains("hunter"), "{error}");
        }
    }
}
