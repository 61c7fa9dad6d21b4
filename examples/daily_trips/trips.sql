-- Every trip that a file brought, as it came.
CREATE OR REFRESH STREAMING TABLE trips AS
  SELECT pickup_datetime AS pickup, pickup_location_id AS location, trip_distance AS miles, fare_amount AS fare, tip_amount AS tip
  FROM STREAM read_files('landing/trips_*.csv', format => 'csv', header => true,
    schema => 'pickup_datetime TIMESTAMP_NTZ, pickup_location_id INT, trip_distance DECIMAL(10,2), fare_amount DECIMAL(10,2),
               tip_amount DECIMAL(10,2), total_amount DECIMAL(10,2)');

-- Which part of town a place is in, as it is called now: of each place the row of the highest version.
CREATE OR REFRESH STREAMING TABLE areas FLOW REPLACE USING (location) SEQUENCE BY version BY NAME
  SELECT * FROM STREAM read_files('landing/zones*.csv', format => 'csv', header => true, schema => 'location INT, version INT, area STRING');

-- Trips per day and part of town. A run computes the last seven days anew from all trips that are there, and leaves older days alone.
-- With trips of today one writes current_date() for to_date('${today}').
CREATE OR REFRESH STREAMING TABLE daily_trips CLUSTER BY (day)
  FLOW REPLACE WHERE day >= date_add(to_date('${today}'), -6) BY NAME
  SELECT to_date(t.pickup) AS day, coalesce(a.area, 'elsewhere') AS area, count(*) AS trips, sum(t.fare) AS fares, sum(t.tip) AS tips
  FROM trips AS t LEFT JOIN areas AS a ON t.location = a.location
  GROUP BY ALL;
