-- Everything that was ever said about a tick, from the file first, then from the topic.
CREATE OR REFRESH STREAMING TABLE ticks_raw;

CREATE FLOW ticks_backfill AS INSERT ONCE INTO ticks_raw BY NAME
  SELECT key, symbol, ts, close, volume
  FROM read_files('data/batch_1.json', format => 'json',
    schema => 'key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT');

CREATE FLOW ticks_live DEPENDS ON (ticks_backfill) AS INSERT INTO ticks_raw BY NAME
  SELECT key, symbol, ts, close, volume
  FROM STREAM read_kafka(bootstrapServers => '${kafka.bootstrap.servers}', subscribe => 'ticks', format => 'json',
    schema => 'key STRING, symbol STRING, ts TIMESTAMP, close DECIMAL(10,4), volume BIGINT');

-- The newest tick of every symbol and hour (the key). A tick nobody traded does not count.
CREATE OR REFRESH STREAMING TABLE ticks (
  CONSTRAINT traded EXPECT (volume > 0) ON VIOLATION DROP ROW
) FLOW REPLACE USING (key) SEQUENCE BY ts BY NAME
  SELECT * FROM STREAM(ticks_raw);

-- The changes of that table, to a topic ...
CREATE SINK ticks_out FORMAT kafka OPTIONS (topic => 'ticks_latest', create_topic => 1, mode => 'upsert', keys => 'key');
CREATE FLOW publish AS INSERT INTO SINK ticks_out BY NAME
  SELECT key, symbol, ts, close FROM STREAM(ticks) WITH (readChangeFeed = true);

-- ... to files, one per batch ...
CREATE SINK ticks_files FORMAT file OPTIONS (path => 'out/ticks', format => 'json');
CREATE FLOW archive AS INSERT INTO SINK ticks_files BY NAME
  SELECT key, symbol, ts, close, volume FROM STREAM(ticks) WITH (readChangeFeed = true);

-- ... and, when a great many shares changed hands, to a program.
CREATE SINK alerts FORMAT exec OPTIONS (command => 'python3 alert.py');
CREATE FLOW alert AS INSERT INTO SINK alerts BY NAME
  SELECT symbol, ts, close, volume FROM STREAM(ticks) WITH (readChangeFeed = true)
  WHERE _change_type = 'insert' AND volume > 100000;
