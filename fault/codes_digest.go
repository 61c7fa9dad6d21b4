package fault

// Codes of digests (D-29).
var (
	DigestDiffers = define("DIGEST_DIFFERS", External, Never, "The digest that is kept of a table is not that of its rows: the disk gives back other rows than were written, or a batch was counted wrongly.")
	DigestNotKept = define("DIGEST_NOT_KEPT", User, AfterChange, "A digest is to be verified, and none is kept of the table.")
)
