-- One table, two REPLACE USING flows (features: replace_using_many_flows). Of every key it holds the rows with the
-- highest ts that either flow brought, whichever came first, so that neither has to wait for the other.
CREATE OR REFRESH STREAMING TABLE ticks (
  CONSTRAINT traded EXPECT (volume > 0) ON VIOLATION DROP ROW
);

CREATE FLOW history AS INSERT ONCE INTO ticks BY NAME REPLACE USING (key) SEQUENCE BY ts
  SELECT key, symbol, ts, close, volume
  FROM read_files('../stock_ticks/data/batch_1.json', format => 'json',
    schema => 'key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT');

CREATE FLOW live AS INSERT INTO ticks BY NAME REPLACE USING (key) SEQUENCE BY ts
  SELECT key, symbol, ts, close, volume
  FROM STREAM read_kafka(bootstrapServers => '${kafka.bootstrap.servers}', subscribe => 'ticks', format => 'json',
    schema => 'key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT');
