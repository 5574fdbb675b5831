-- What was saved: the cost of each cause in each service before needless_since and from then on, as seconds in a day of
-- observation. Only hosts that were observed in both times; below zero: it costs more now. A day with less load saves, too.
WITH observed AS (
    SELECT w.host AS host,
           sum(CASE WHEN w.window_start < w.since THEN w.minutes ELSE 0 END) AS minutes_before,
           sum(CASE WHEN w.window_start < w.since THEN 0 ELSE w.minutes END) AS minutes_after
    FROM (
        -- Each window has one such row. A window is shorter than a day.
        SELECT r.host AS host,
               r.window_start AS window_start,
               s.since AS since,
               (extract(hour FROM r.window_end) * 60 + extract(minute FROM r.window_end)
                - extract(hour FROM r.window_start) * 60 - extract(minute FROM r.window_start)
                + 1440) % 1440 AS minutes
        FROM needless_rows AS r
        CROSS JOIN needless_since AS s
        WHERE r.service IS NULL AND r.program IS NULL AND r.fate = 'needed'
    ) AS w
    GROUP BY w.host
),
found AS (
    SELECT r.host AS host,
           r.service AS service,
           r.cause AS cause,
           sum(CASE WHEN r.window_start < s.since THEN r.saves_ns * r.sample_scale ELSE 0 END) / 1e9 AS seconds_before,
           sum(CASE WHEN r.window_start < s.since THEN 0 ELSE r.saves_ns * r.sample_scale END) / 1e9 AS seconds_after
    FROM needless_rows AS r
    CROSS JOIN needless_since AS s
    WHERE r.fate IN ('needless', 'perhaps')
    GROUP BY r.host, r.service, r.cause
)
SELECT found.service AS service,
       found.cause AS cause,
       count(*) AS hosts,
       sum(found.seconds_before * 1440.0 / observed.minutes_before) AS seconds_a_day_before,
       sum(found.seconds_after * 1440.0 / observed.minutes_after) AS seconds_a_day_now,
       sum(found.seconds_before * 1440.0 / observed.minutes_before - found.seconds_after * 1440.0 / observed.minutes_after) AS seconds_a_day_saved
FROM found
JOIN observed ON found.host = observed.host
WHERE observed.minutes_before > 0 AND observed.minutes_after > 0
GROUP BY found.service, found.cause
ORDER BY seconds_a_day_saved DESC, service NULLS LAST, cause;
