CREATE OR REFRESH STREAMING TABLE ticks_raw;

CREATE FLOW ticks_backfill AS INSERT ONCE INTO ticks_raw BY NAME
  SELECT key, symbol, ts, close, volume
  FROM read_files('data/batch_1.json', format => 'json',
    schema => 'key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT');

CREATE FLOW ticks_live DEPENDS ON (ticks_backfill) AS INSERT INTO ticks_raw BY NAME
  SELECT key, symbol, ts, close, volume
  FROM STREAM read_kafka(bootstrapServers => '${kafka.bootstrap.servers}', subscribe => 'ticks', format => 'json',
    schema => 'key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT');

CREATE OR REFRESH STREAMING TABLE ticks (
  CONSTRAINT traded EXPECT (volume > 0) ON VIOLATION DROP ROW
) FLOW REPLACE USING (key) SEQUENCE BY ts BY NAME
  SELECT * FROM STREAM(ticks_raw);

-- The table of the same name in PostgreSQL: a key's rows there are replaced as they are here, in one transaction per
-- batch. The password comes from the environment and is shown nowhere.
CREATE SINK ticks_pg FORMAT postgres OPTIONS (
  url => '${env:PGURL}', table => 'ticks', create_table => true, mode => 'replace_using', keys => 'key', sequence => 'ts');
CREATE FLOW publish AS INSERT INTO SINK ticks_pg BY NAME
  SELECT key, symbol, ts, close, volume FROM STREAM(ticks) WITH (readChangeFeed = true);
