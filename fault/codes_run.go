package fault

// Codes of runs and of the command line.
var (
	TableNotResettable      = define("TABLE_NOT_RESETTABLE", User, AfterChange, "A full refresh names a table whose pipelines.reset.allowed is false (FR-05).")
	QueryFingerprintChanged = define("QUERY_FINGERPRINT_CHANGED", User, Never, "A warning: the query of a flow was edited, and the flow goes on from its positions (D-62).")
	StartOptionChanged      = define("START_OPTION_CHANGED", User, Never, "A warning: an option that says where a flow begins or ends was edited after the flow had begun; it has no effect before a checkpoint reset.")
	ColumnNotSeen           = define("COLUMN_NOT_SEEN", User, Never, "A warning: the first records of a source had no field for a declared column, which is NULL in all rows (A-30).")
	FlowTargetDrift         = define("FLOW_TARGET_DRIFT", User, AfterChange, "A flow that has read something writes another table or sink than before, which would lack that.")
	NotDeclared             = define("NO_LONGER_DECLARED", User, Never, "A warning: the store has a flow or a table that the pipeline does not declare any more; what it holds is kept (D-62).")
	RunFailed               = define("PIPELINE_RUN_FAILED", User, AfterChange, "A run ended with flows that failed or were skipped (D-51).")
	GracePeriodOver         = define("GRACE_PERIOD_OVER", External, Never, "A warning: a stop broke off what a flow had in hand, since it outlasted sluice.grace_period (D-39).")
	NotInQuarantine         = define("NOT_IN_QUARANTINE", User, AfterChange, "A command names a record that is not in quarantine.")
	RecordNameAmbiguous     = define("RECORD_NAME_AMBIGUOUS", User, AfterChange, "A command that takes one record in quarantine names it by what several are called by.")
	AlreadyReplayed         = define("ALREADY_REPLAYED", User, AfterChange, "A record in quarantine is edited whose edit was replayed: its rows are in the target (D-31).")
	CannotReplay            = define("CANNOT_REPLAY", User, AfterChange, "Records in quarantine are to be replayed for a flow that cannot do it (D-31).")
	OverrideUnknownFlow     = define("REPLACE_WHERE_OVERRIDE_UNKNOWN_FLOW", User, AfterChange, "An override of a predicate names a flow that the pipeline does not have (PO-O1).")
	OverrideTwice           = define("REPLACE_WHERE_OVERRIDE_TWICE", User, AfterChange, "A flow has two overrides of its predicate in one update (PO-O3).")
	OverrideNotSelected     = define("REPLACE_WHERE_OVERRIDE_NOT_SELECTED", User, AfterChange, "An override of a predicate is for a flow whose table the update does not refresh (PO-O2).")
	OverrideWithFullRefresh = define("REPLACE_WHERE_OVERRIDE_WITH_FULL_REFRESH", User, AfterChange, "An update has an override of a flow's predicate and a full refresh of its table (PO-O4).")
	RefreshWhere            = define("REFRESH_WHERE_REQUIRES_REPLACE_WHERE_FLOW", User, AfterChange, "A table is to be refreshed WHERE a predicate holds, and no REPLACE WHERE flow writes it (PO-06).")
	ConflictingRefresh      = define("CONFLICTING_PIPELINE_REFRESH_OPTIONS", User, AfterChange, "Options of run that select tables contradict each other (CL-03, FR-16).")

	DMLTarget        = define("DML_TARGET_NOT_SUPPORTED", User, AfterChange, "INSERT, UPDATE or DELETE names something whose rows come from its flow alone: a table with keys, a sink, a table of records in quarantine (DM-O1).")
	TargetHasReaders = define("TARGET_HAS_APPEND_READERS", User, AfterChange, "UPDATE or DELETE is for a table that flows read as one to which rows are only added (D-34).")
	ConflictingSet   = define("CONFLICTING_SET_COLUMN", User, AfterChange, "UPDATE sets one column twice.")
)
