package fault

// Codes of admin.
var (
	Unauthenticated       = define("UNAUTHENTICATED", User, AfterChange, "A request to the daemon carries no token, or not the one in the daemon's token file.")
	PermissionDenied      = define("PERMISSION_DENIED", User, Never, "A request to the daemon names another host, or a web page of another origin sent it.")
	BadRequest            = define("BAD_REQUEST", User, AfterChange, "A request to the daemon lacks something or has a parameter that cannot be read.")
	EndpointNotFound      = define("ENDPOINT_NOT_FOUND", User, AfterChange, "A request to the daemon names a path that it does not serve.")
	MethodNotAllowed      = define("METHOD_NOT_ALLOWED", User, AfterChange, "A path of the daemon is asked with a method that it does not take.")
	RequestTooLarge       = define("REQUEST_TOO_LARGE", User, AfterChange, "The body of a request to the daemon is larger than that path takes.")
	FlowNotFound          = define("FLOW_NOT_FOUND", User, AfterChange, "A command names a flow that the pipeline does not have.")
	SinkNotFound          = define("SINK_NOT_FOUND", User, AfterChange, "A command names a sink that no flow of the pipeline writes, or not the flow that it names as well.")
	PipelineNotFound      = define("PIPELINE_NOT_FOUND", User, AfterChange, "A request names the id of a pipeline that the daemon does not run.")
	UpdateNotFound        = define("UPDATE_NOT_FOUND", User, AfterChange, "A request names an update that the daemon does not remember.")
	UpdateActive          = define("UPDATE_ALREADY_ACTIVE", User, AfterChange, "An update is asked for while another one is at work on one of its tables.")
	InvalidListenAddress  = define("INVALID_LISTEN_ADDRESS", User, AfterChange, "The address to listen on is not host:port.")
	ListenRequiresToken   = define("LISTEN_REQUIRES_TOKEN", User, AfterChange, "The daemon is to listen on an address that other machines can reach, and no token file is set.")
	InvalidTokenFile      = define("INVALID_TOKEN_FILE", User, AfterChange, "The token file cannot be read, or what it holds cannot serve as a token.")
	ListenFailed          = define("LISTEN_FAILED", External, Never, "The address to listen on cannot be had, most often since another process has it.")
	DaemonUnreachable     = define("DAEMON_UNREACHABLE", External, Backoff, "No daemon answers where one is looked for, or the connection broke before the answer was whole.")
	Interrupted           = define("INTERRUPTED", User, AfterChange, "A command was interrupted before the daemon had answered.")
	DaemonAnswerMalformed = define("DAEMON_ANSWER_MALFORMED", External, Never, "What answered at the daemon's address is not a daemon of this version.")
)
