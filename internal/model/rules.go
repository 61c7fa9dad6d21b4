package model

// Rule is a rule that a World keeps unless it is told to break it.
type Rule string

// The rules that can be broken. Each is a mistake that an engine could make.
const (
	LateRowsLose      Rule = "RU-02: a lower sequence changes nothing"
	TiesStay          Rule = "RU-03: a row of equal sequence is kept next to the others"
	NullIsAKey        Rule = "RU-08: null matches null"
	EveryKeyColumn    Rule = "RU-09: a row replaces only what is equal on every key column"
	PlacesAreKnown    Rule = "D-1: a row that is read again is not a second row"
	NaNIsNoSequence   Rule = "D-2: a sequence that is NaN is refused"
	ZerosAreOne       Rule = "D-36: -0.0 and 0.0 are one key"
	OnlyTruePasses    Rule = "EX-O1: an expectation that is NULL is violated"
	DropsSetNoFloor   Rule = "EX-18: a dropped row sets no sequence floor"
	DropsCountOnce    Rule = "EX-O3: a row that two expectations drop is dropped once"
	NullIsNotTrue     Rule = "WHERE keeps a row only where its condition is true"
	RefreshEmpties    Rule = "FR-01: a full refresh empties the table"
	ResetRereads      Rule = "FR-13: a checkpoint reset reads everything again"
	ResetKeepsRows    Rule = "FR-13: a checkpoint reset keeps the rows of the target"
	OnceIsOnce        Rule = "ON-01: a once flow is drained once"
	RefreshDrains     Rule = "ON-02: a full refresh drains once flows again"
	BatchZeroCleans   Rule = "FB-04: batch 0 of a later generation starts the target anew"
	DeletesAreChanges Rule = "D-43: a row that is replaced is a delete in the change feed"
	FeedsBegin        Rule = "D-41: a reader of changes begins with the rows that are there"
	ReadersStop       Rule = "D-28: who reads a table that was computed anew stops"
	BadIsLeftOut      Rule = "D-15: a row that SQL refuses is left out and counted, not kept with NULLs"
)

// The rules of REPLACE WHERE that can be broken.
const (
	WindowsGo           Rule = "RW-01: rows of the target that match go"
	OutsideStays        Rule = "RW-02: rows of the target that do not match stay"
	OutsideIsNotWritten Rule = "RW-03: rows of the query that do not match are not written"
	NullIsOutside       Rule = "RW-O1: a row for which the predicate is NULL does not match"
	OverrideReplaces    Rule = "PO-01: another predicate stands in place of the defined one, not beside it"
	OverrideIsOnce      Rule = "PO-02: the next update has the defined predicate again"
	RefreshClears       Rule = "FR-02, FR-03: a full refresh leaves only what the defined predicate matches"
	SumsAreInOrder      Rule = "D-22: numbers are added in the order in which their rows came"
	StatementsNeedTrue  Rule = "DM-O1: DELETE and UPDATE are about the rows for which their condition is true"
	StatementsLast      Rule = "DM-02: what a statement did outside of every later window stays"
	NullIsAGroup        Rule = "GROUP BY takes NULL for a value, and both zeros for one"
)

// WindowRules are those of REPLACE WHERE.
var WindowRules = []Rule{WindowsGo, OutsideStays, OutsideIsNotWritten, NullIsOutside, OverrideReplaces, OverrideIsOnce, RefreshClears, SumsAreInOrder, StatementsNeedTrue, StatementsLast, NullIsAGroup}

// AllRules are all others.
var AllRules = []Rule{LateRowsLose, TiesStay, NullIsAKey, EveryKeyColumn, PlacesAreKnown, NaNIsNoSequence, ZerosAreOne, OnlyTruePasses, DropsSetNoFloor,
	DropsCountOnce, NullIsNotTrue, RefreshEmpties, ResetRereads, ResetKeepsRows, OnceIsOnce, RefreshDrains, BatchZeroCleans, DeletesAreChanges, FeedsBegin, ReadersStop, BadIsLeftOut}
