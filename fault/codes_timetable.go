package fault

// Codes of schedules. The names are Databricks' where it has one.
var (
	SchedulePeriodInvalid  = define("SCHEDULE_PERIOD_INVALID", User, AfterChange, "SCHEDULE EVERY has a number that is not within the bounds of its unit: 72 hours, 31 days, 8 weeks.")
	TriggerIntervalInvalid = define("TRIGGER_INTERVAL_INVALID", User, AfterChange, "The interval of TRIGGER ON UPDATE AT MOST EVERY is shorter than a minute, or has no fixed length.")
	InvalidCron            = define("INVALID_CRON_EXPRESSION", User, AfterChange, "SCHEDULE CRON has a text that is no Quartz expression.")
)
