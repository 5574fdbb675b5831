-- What is new: a cause in a service, where no host had it before needless_since. Where hosts_seen_before is 0, the hosts
-- are new, too.
WITH seen AS (
    SELECT host, min(window_start) AS first_start
    FROM needless_rows
    GROUP BY host
),
found AS (
    SELECT host,
           service,
           cause,
           min(window_start) AS first_start,
           sum(needless * sample_scale) AS needless,
           sum(saves_ns * sample_scale) AS saves_ns
    FROM needless_rows
    WHERE fate IN ('needless', 'perhaps')
    GROUP BY host, service, cause
)
SELECT found.service AS service,
       found.cause AS cause,
       count(*) AS hosts,
       sum(CASE WHEN seen.first_start < s.since THEN 1 ELSE 0 END) AS hosts_seen_before,
       min(found.first_start) AS first_window,
       CAST(floor(sum(found.needless) + 0.5) AS BIGINT) AS needless_calls,
       sum(found.saves_ns) / 1e9 AS saves_seconds
FROM found
JOIN seen ON found.host = seen.host
CROSS JOIN needless_since AS s
GROUP BY found.service, found.cause
HAVING min(found.first_start) >= max(s.since)
ORDER BY saves_seconds DESC, needless_calls DESC, service NULLS LAST, cause;
