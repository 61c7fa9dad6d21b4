package fault

// Codes of files as sources and sinks.
var (
	PathNotFound    = define("PATH_NOT_FOUND", User, AfterChange, "read_files names a file or folder that does not exist, or an INSERT ONCE flow a pattern that nothing matches.")
	FileGone        = define("FAILED_READ_FILE.FILE_NOT_EXIST", External, AfterChange, "A file that was listed and not yet read whole is gone.")
	FileChanged     = define("FILE_CHANGED", External, AfterChange, "A file that was listed and not yet read whole has another size or modification time now (D-53).")
	FileUnreadable  = define("FAILED_READ_FILE.NO_HINT", External, Backoff, "The operating system refuses to list, open or read a file or folder.")
	FileCompressed  = define("UNSUPPORTED_FILE_COMPRESSION", User, AfterChange, "A file's name says that it is compressed, which read_files cannot read.")
	RecordTooLarge  = define("RECORD_TOO_LARGE", Data, AfterChange, "A record is larger than maxRecordSize of its file, or than memory_limit leaves room for; mode says what becomes of it.")
	InvalidFileGlob = define("INVALID_GLOB_PATTERN", User, AfterChange, "The path of read_files is no pattern: a bracket or brace is not closed.")
	FilePathInvalid = define("FILE_NOT_WRITTEN.PATH", External, AfterChange, "The folder of a file sink cannot be one: a part of its path is a file, or the path is too long.")
	FileNotWritten  = define("FILE_NOT_WRITTEN", External, Backoff, "The operating system refuses to write, sync or rename a file of a file sink.")
)
