-- How much was seen, host by host: windows, calls that were counted and that they stand for, those that
-- have no name because a window had too many rows, and what was lost. `minutes` is the length of all windows: what a day
-- has more than that, no window is about. `observed_minutes` is the part in which calls were counted.
SELECT host,
       count(DISTINCT window_start) AS windows,
       sum(calls) AS counted_calls,
       CAST(floor(sum(calls * sample_scale) + 0.5) AS BIGINT) AS stand_for_calls,
       sum(CASE WHEN service IS NULL AND program IS NULL THEN calls ELSE 0 END) AS calls_without_name,
       sum(lost) AS lost,
       max(sample_scale) AS largest_scale,
       -- Each window has one such row. A window is shorter than a day. Rounded, so that no order of adding shows.
       CAST(floor(sum(CASE WHEN service IS NULL AND program IS NULL AND fate = 'needed'
                THEN (extract(hour FROM window_end) * 60 + extract(minute FROM window_end)
                      - extract(hour FROM window_start) * 60 - extract(minute FROM window_start)
                      + 1440) % 1440
                ELSE 0 END) + 0.5) AS BIGINT) AS minutes,
       CAST(floor(sum(CASE WHEN service IS NULL AND program IS NULL AND fate = 'needed'
                THEN (extract(hour FROM window_end) * 60 + extract(minute FROM window_end)
                      - extract(hour FROM window_start) * 60 - extract(minute FROM window_start)
                      + 1440) % 1440 / sample_scale
                ELSE 0 END) + 0.5) AS BIGINT) AS observed_minutes
FROM needless_rows
GROUP BY host
ORDER BY lost DESC, calls_without_name DESC, counted_calls DESC, host;
