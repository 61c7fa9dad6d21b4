// Package cron reads the CRON expressions of SCHEDULE CRON and says when they come (SC-02): the language of Quartz 2.3, with seconds first,
// L, W, #, ?, names, ranges that go over the end, steps and years.
//
// It promises the times of Quartz, over the changes of clocks too (D-32): a time that a change leaves out does not come that day, and one
// that comes twice is the second one. There is one exception: what comes several times within an hour comes in both passes of an hour that the
// clock shows twice, where Quartz leaves one of them out. testdata/quartz.txt is made by the real Quartz.
//
// It is stricter where Quartz takes what its documentation does not say: a step of 0 or
// behind a name (of which Quartz takes no notice), W within a list. It
// knows years from 1970 to 2099. It is pure: values in, values out, no clock.
package cron
