-- What is gone: hosts where a service had a cause before needless_since and has not had it from then on, though the host
-- is still observed. Where hosts_that_run_it is less than hosts, the service does not run there any more.
WITH seen AS (
    SELECT host, max(window_start) AS last_start
    FROM needless_rows
    GROUP BY host
),
runs AS (
    SELECT host, service, max(window_start) AS last_start
    FROM needless_rows
    GROUP BY host, service
),
found AS (
    SELECT host,
           service,
           cause,
           max(window_start) AS last_start,
           max(window_end) AS last_end,
           sum(needless * sample_scale) AS needless,
           sum(saves_ns * sample_scale) AS saves_ns
    FROM needless_rows
    WHERE fate IN ('needless', 'perhaps')
    GROUP BY host, service, cause
)
SELECT found.service AS service,
       found.cause AS cause,
       count(*) AS hosts,
       sum(CASE WHEN runs.last_start >= s.since THEN 1 ELSE 0 END) AS hosts_that_run_it,
       max(found.last_end) AS last_window,
       CAST(floor(sum(found.needless) + 0.5) AS BIGINT) AS needless_calls_before,
       sum(found.saves_ns) / 1e9 AS seconds_before
FROM found
JOIN seen ON found.host = seen.host
JOIN runs ON found.host = runs.host AND found.service = runs.service
CROSS JOIN needless_since AS s
WHERE found.last_start < s.since AND seen.last_start >= s.since
GROUP BY found.service, found.cause
ORDER BY seconds_before DESC, needless_calls_before DESC, service, cause;
