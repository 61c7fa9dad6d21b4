package fault

// Codes of schedules. The names are Databricks' where it has one.
var (
	SchedulePeriodInvalid     = define("SCHEDULE_PERIOD_INVALID", User, AfterChange, "SCHEDULE EVERY has a number that is not within the bounds of its unit: 72 hours, 31 days, 8 weeks.")
	TriggerIntervalInvalid    = define("TRIGGER_INTERVAL_INVALID", User, AfterChange, "The interval of TRIGGER ON UPDATE AT MOST EVERY is shorter than a minute, or has no fixed length.")
	InvalidCron               = define("INVALID_CRON_EXPRESSION", User, AfterChange, "SCHEDULE CRON has a text that is no Quartz expression.")
	ScheduleExists            = define("SCHEDULE_ALREADY_EXISTS", User, AfterChange, "ALTER ... ADD gives a schedule to a table that has one.")
	AlterScheduleNotFound     = define("ALTER_SCHEDULE_DOES_NOT_EXIST", User, AfterChange, "ALTER ... ALTER changes the schedule of a table that has none.")
	DropScheduleNotFound      = define("DROP_SCHEDULE_DOES_NOT_EXIST", User, AfterChange, "ALTER ... DROP SCHEDULE names a table that has none.")
	TriggerWithoutUpstream    = define("TRIGGER_ON_UPDATE_WITHOUT_UPSTREAM", User, AfterChange, "TRIGGER ON UPDATE stands at a table whose flows read no table of the pipeline.")
	TriggerTooManyUpstreams   = define("TRIGGER_ON_UPDATE_TOO_MANY_UPSTREAMS", User, AfterChange, "TRIGGER ON UPDATE stands at a table whose flows read more than ten tables.")
	ScheduleAlterationDropped = define("SCHEDULE_ALTERATION_DROPPED", User, AfterChange, "The schedule of a table was altered, and its definition has another clause now, which holds from then on.")
	RefreshTimeout            = define("REFRESH_TIMEOUT", External, Never, "A refresh that a schedule started takes longer than sluice.refresh_timeout.")
)
