// Package replacewhere holds the predicate of a REPLACE WHERE flow as a tree over the columns of its table (D-25), and says
// from the statistics of a file which of the file's rows it can match: none, some or all.
//
// It promises to be right about none and all, whatever the values are: NULL (RW-O1), NaN and -0.0 (D-36), texts of which only a
// beginning is known. It does not promise to find them: what it knows nothing about it calls some. So an update may leave alone files that
// hold no match and drop those that hold nothing else, and its result is the one of section 2.1 either way.
//
// It has no clock, disk or SQL. eval/dialect makes the trees, flow resolves their values once for an update and asks for verdicts.
package replacewhere
