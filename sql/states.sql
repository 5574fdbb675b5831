-- The state of each finding on each host, by needless_since:
-- open: found since then; applied: found since then, and `needless fix` has changed its variable;
-- verified: changed, and not found since then though the program ran; gone: not changed, and not found though it ran;
-- not run: the program has made no calls since then; silent: the host has not been heard of since then.
-- For what was changed later than needless_since, the time of the change counts instead.
WITH seen AS (
    SELECT host, max(window_start) AS last_start
    FROM needless_rows
    GROUP BY host
),
last_of_service AS (
    SELECT host, service, max(window_start) AS last_start
    FROM needless_rows
    WHERE fate <> 'applied'
    GROUP BY host, service
),
applied AS (
    SELECT r.host AS host,
           r.service AS service,
           r.variable AS variable,
           1 AS matched,
           min(r.window_end) AS first_end
    FROM needless_rows AS r
    JOIN last_of_service AS l ON r.host = l.host AND r.service = l.service
    WHERE r.fate = 'applied'
    GROUP BY r.host, r.service, r.variable
    HAVING max(r.window_start) = max(l.last_start)
),
found AS (
    SELECT r.host AS host,
           r.service AS service,
           r.program AS program,
           r.cause AS cause,
           r.variable AS variable,
           min(r.window_start) AS first_window,
           max(r.window_start) AS last_start,
           max(r.window_end) AS last_window
    FROM needless_rows AS r
    WHERE r.fate IN ('needless', 'perhaps') AND r.service IS NOT NULL AND r.program IS NOT NULL
    GROUP BY r.host, r.service, r.program, r.cause, r.variable
    HAVING sum(r.needless) > 0
),
compared AS (
    SELECT f.host AS host,
           f.service AS service,
           f.program AS program,
           f.cause AS cause,
           f.variable AS variable,
           f.first_window AS first_window,
           f.last_start AS last_start,
           f.last_window AS last_window,
           -- ClickHouse fills the columns of a host without a match with 0, the others with NULL.
           CASE WHEN coalesce(a.matched, 0) = 1 THEN a.first_end END AS applied_at,
           -- Not with an ELSE: DataFusion 55 then does not agree with itself whether this can be null.
           coalesce(CASE WHEN coalesce(a.matched, 0) = 1 AND a.first_end > s.since THEN a.first_end END, s.since) AS since
    FROM found AS f
    CROSS JOIN needless_since AS s
    LEFT JOIN applied AS a ON f.host = a.host AND f.service = a.service AND f.variable = a.variable
),
runs AS (
    SELECT c.host AS host,
           c.service AS service,
           c.program AS program,
           c.cause AS cause,
           c.variable AS variable,
           c.first_window AS first_window,
           c.last_start AS last_start,
           c.last_window AS last_window,
           c.applied_at AS applied_at,
           c.since AS since,
           count(DISTINCT CASE WHEN r.window_start >= c.since AND r.calls > 0 THEN r.window_start END) AS windows_since
    FROM compared AS c
    JOIN needless_rows AS r ON r.host = c.host AND r.service = c.service AND r.program = c.program
    GROUP BY c.host, c.service, c.program, c.cause, c.variable, c.first_window, c.last_start, c.last_window, c.applied_at, c.since
)
SELECT runs.cause AS cause,
       CASE WHEN runs.last_start >= runs.since AND runs.applied_at IS NULL THEN 'open'
            WHEN runs.last_start >= runs.since THEN 'applied'
            WHEN seen.last_start < runs.since THEN 'silent'
            WHEN runs.windows_since = 0 THEN 'not run'
            WHEN runs.applied_at IS NULL THEN 'gone'
            ELSE 'verified' END AS state,
       runs.host AS host,
       runs.service AS service,
       runs.program AS program,
       runs.variable AS variable,
       runs.windows_since AS windows_since,
       runs.first_window AS first_window,
       runs.last_window AS last_window
FROM runs
JOIN seen ON runs.host = seen.host
ORDER BY cause, state, host, service, program, variable NULLS LAST;
