CREATE STREAMING TABLE ticks (
  id BIGINT, part STRING, ts BIGINT, n INT, f FLOAT, price DECIMAL(10, 2), day DATE, venue STRUCT<code: INT>, note STRING COMMENT 'as sent',
  CONSTRAINT traded EXPECT (n > 0) ON VIOLATION DROP ROW
) COMMENT 'the latest' TBLPROPERTIES ('owner' = 'desk')
FLOW REPLACE USING (id, part) SEQUENCE BY ts BY NAME
SELECT id, part, ts, n, f, price, day, venue, note
FROM STREAM read_kafka(subscribe => 'ticks', format => 'json', mode => 'FAILFAST', startingOffsets => 'earliest', maxOffsetsPerTrigger => 1000,
  schema => 'id BIGINT, part STRING, ts BIGINT, n INT, f FLOAT, price DECIMAL(10, 2), day DATE, venue STRUCT<code: INT>, note STRING, seen BIGINT');

CREATE STREAMING TABLE log;
CREATE FLOW history AS INSERT ONCE INTO log BY NAME
SELECT id, n FROM read_files('old', format => 'json', schema => 'id INT, n INT');
CREATE FLOW fill DEPENDS ON (history) AS INSERT INTO log BY NAME
SELECT id, n FROM STREAM read_files('data', format => 'json', schema => 'id INT, n INT');
CREATE STREAMING TABLE spare AS SELECT id FROM STREAM(log);

CREATE SINK latest FORMAT kafka OPTIONS (topic => 'latest', create_topic => 1, mode => 'upsert', keys => 'id,part');
CREATE FLOW publish AS INSERT INTO SINK latest BY NAME SELECT id, part, n FROM STREAM(ticks) WITH (readChangeFeed = true);
CREATE SINK archive FORMAT file OPTIONS (path => 'archive', format => 'json');
CREATE FLOW keep AS INSERT INTO SINK archive BY NAME SELECT id, n FROM STREAM(log);
