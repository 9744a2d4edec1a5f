/** Names that no contract declares: environment variables and the fields of log lines. A test compares both with the sources. */
import type { Page } from "./page.ts";

interface Variable {
  readonly summary: string;
  /** The behaviour while the variable is unset or blank. */
  readonly byDefault: string;
}

/** Variables that the gateway, `svc` and the node host read. */
export const ENVIRONMENT: Readonly<Record<string, Variable>> = {
  ANTHROPIC_CUSTOM_HEADERS: {
    summary:
      "Headers that Anthropic's library would add. The gateway removes them: an account has what its configuration says.",
    byDefault: "none",
  },
  AWS_ACCESS_KEY_ID: {
    summary: "Access key with which requests to Amazon Bedrock are signed if an account has no key.",
    byDefault: "such accounts are refused",
  },
  AWS_DEFAULT_REGION: { summary: "Region of Amazon Bedrock if AWS_REGION is unset.", byDefault: "none" },
  AWS_REGION: {
    summary: "Region of Amazon Bedrock for accounts whose `baseUrl` is absent or names none.",
    byDefault: "AWS_DEFAULT_REGION",
  },
  AWS_SECRET_ACCESS_KEY: { summary: "The secret of AWS_ACCESS_KEY_ID.", byDefault: "such accounts are refused" },
  AWS_SESSION_TOKEN: { summary: "The token of temporary AWS credentials.", byDefault: "none is sent" },
  DISPLAY: {
    summary: "A display: the browser opens windows on it, and `svc dashboard` the control panel.",
    byDefault: "no windows",
  },
  NO_COLOR: { summary: "Any value: `svc chat` prints no colours.", byDefault: "colours on a terminal" },
  OLLAMA_HOST: {
    summary: "The address at which an Ollama server is looked for.",
    byDefault: "127.0.0.1:11434",
  },
  OPENCLAW_STATE_DIR: {
    summary: "The state directory that `svc import openclaw` reads.",
    byDefault: "~/.openclaw",
  },
  PATH: {
    summary: "Directories in which npm, git and the programs of tools are found.",
    byDefault: "that of the shell",
  },
  SSH_CONNECTION: {
    summary: "Set by the SSH server: `svc dashboard` opens nothing and prints the command for a tunnel.",
    byDefault: "the link is opened here",
  },
  SVC_APNS_KEY_ID: { summary: "Id of the key of Apple's push service.", byDefault: "nodes are not woken" },
  SVC_APNS_PRIVATE_KEY: {
    summary: "That key (.p8): its text, with line breaks or `\\n`.",
    byDefault: "SVC_APNS_PRIVATE_KEY_P8, else SVC_APNS_PRIVATE_KEY_PATH",
  },
  SVC_APNS_PRIVATE_KEY_P8: { summary: "Another name of SVC_APNS_PRIVATE_KEY.", byDefault: "SVC_APNS_PRIVATE_KEY_PATH" },
  SVC_APNS_PRIVATE_KEY_PATH: { summary: "A file with that key, mode 0600.", byDefault: "nodes are not woken" },
  SVC_APNS_TEAM_ID: { summary: "Apple's id of the team that owns the key.", byDefault: "nodes are not woken" },
  SVC_ATTRIBUTION: {
    summary: "`off`: errors are not attributed to plugins. For measurements only.",
    byDefault: "errors are attributed",
  },
  SVC_CONFIG_PATH: { summary: "The configuration file.", byDefault: "svc.json in the state directory" },
  SVC_DATABASE_URL: {
    summary: "The address of a PostgreSQL database for all tables: postgres://user:password@host:5432/database.",
    byDefault: "tables in a file of the state directory",
  },
  SVC_GATEWAY_PASSWORD: {
    summary: "The gateway's password, for the gateway and for commands that connect to it.",
    byDefault: "gateway.auth.password",
  },
  SVC_GATEWAY_PORT: {
    summary: "The port on which the gateway listens, 0 to 65535; 0 picks a free port. Commands connect to it.",
    byDefault: "gateway.port, else 18789",
  },
  SVC_GATEWAY_TLS_FINGERPRINT: {
    summary: "SHA-256 fingerprint of the certificate that commands trust.",
    byDefault: "the certificate the gateway created in this state directory",
  },
  SVC_GATEWAY_TOKEN: {
    summary: "The gateway's token, for the gateway and for commands that connect to it.",
    byDefault: "gateway.auth.token, else a token stored in the state directory",
  },
  SVC_HOME: {
    summary: "The directory that `~` stands for, and the parent of the default state directory.",
    byDefault: "the home directory",
  },
  SVC_LOG_LEVEL: {
    summary: "Lowest level that is logged, in the file and on stderr.",
    byDefault: "logging.level and logging.consoleLevel",
  },
  SVC_RENEWAL: {
    summary: "Internal: what a gateway hands to the process that replaces it.",
    byDefault: "a first start",
  },
  SVC_SKIP_CANVAS_HOST: { summary: "Any value: no canvas pages are served.", byDefault: "canvasHost.enabled" },
  SVC_SKIP_CRON: { summary: "Any value: no cron job runs on schedule.", byDefault: "cron.enabled" },
  SVC_SKIP_MODEL_DISCOVERY: {
    summary: "Any value: no local model server is looked for.",
    byDefault: "models.discovery",
  },
  SVC_STATE_DIR: {
    summary: "The directory with the configuration, the database, credentials, logs and installed plugins.",
    byDefault: ".svc in SVC_HOME",
  },
  SVC_SUPERVISOR: {
    summary: "Set by service definitions: another program restarts the gateway after exit code 75.",
    byDefault: "the gateway starts its successor itself",
  },
  SVC_TTS_PREFS: {
    summary: "The file of the preferences of speech.",
    byDefault: "messages.tts.prefsPath, else settings/tts.json in the state directory",
  },
  SVC_VERSION: { summary: "The version that the gateway and `svc` report.", byDefault: "that of the package" },
  SVC_WATCHDOG: { summary: "`off`: nothing watches the event loop.", byDefault: "the plugin watchdog runs" },
  WAYLAND_DISPLAY: { summary: "As `DISPLAY`, of another display system.", byDefault: "no windows" },
  WSL_DISTRO_NAME: {
    summary: "Set by the Windows Subsystem for Linux: `svc dashboard` opens the browser of Windows with wslview.",
    byDefault: "xdg-open opens the link",
  },
  XDG_CONFIG_HOME: {
    summary: "The parent of `systemd/user`, in which `svc gateway install` writes the service definition.",
    byDefault: ".config in the home directory",
  },
};

/** The meaning of the fields of a log line, in addition to `time`, `level` and `msg`. */
export const LOG_FIELDS: Readonly<Record<string, string>> = {
  about: "Configuration key or file that the line is about.",
  account: "Id of a channel account.",
  action: "Webhook action: the contribution id.",
  address: "IP address of the sender.",
  after: "Version after an update.",
  agentId: "Id of an agent.",
  archived: "File name of the archived transcript.",
  attempt: "Number of the attempt, from 1.",
  before: "Version before an update.",
  blockedMs: "Milliseconds for which the event loop served nothing else.",
  by: "Principal that caused the change.",
  bytes: "Size in bytes.",
  changed: "Configuration keys that changed.",
  channel: "Id of a channel.",
  client: "Client id that the connection sent.",
  code: "`error.code` of a refusal.",
  command: "Command of a node, e.g. `system.run`.",
  commands: "Number of commands that a node offers.",
  connection: "Id of a WebSocket connection.",
  correlationId: "Id that the caller got with `INTERNAL`; it finds the line of the error.",
  count: "Number of items.",
  damaged: "Number of damaged messages.",
  delayMs: "Milliseconds until the restart.",
  deprecated: "Deprecated parts of the plugin API that the plugin uses.",
  deviceId: "Id of a device: the hash of its public key.",
  directory: "Path of a directory.",
  dueAt: "Time of the scheduled run, epoch ms.",
  ends: "Time at which the certificate expires.",
  engine: "Id of a speech engine.",
  err: "The error: type, message, stack and cause.",
  error: "Message of an error.",
  errors: "Number of errors.",
  event: "Name of an event.",
  failures: "Number of failures in a row.",
  file: "Name of a file.",
  fingerprint: "SHA-256 fingerprint of a certificate.",
  highWaterBytes: "Size to which maintenance reduces the transcripts, in bytes.",
  id: "Id of the item that the message names.",
  inMs: "Milliseconds until the next attempt.",
  install: "Command that installs what is missing.",
  isResumed: "Whether the interrupted run continues.",
  issues: "Number of errors in the configuration.",
  jobId: "Id of a cron job.",
  jobs: "Number of cron jobs.",
  kept: "Files and records that stay.",
  key: "Session key.",
  kind: "Kind of the request.",
  lane: "Queue in which a run waited.",
  lastUsed: "Time of the last message.",
  messages: "Number of messages.",
  method: "Method of the protocol, or of HTTP.",
  model: "Model as `provider/id`.",
  most: "Maximum size in bytes.",
  module: "File of a transform.",
  names: "Names of files.",
  next: "The next step: a command.",
  nodeId: "Id of a node: that of its device.",
  note: "Text of a note.",
  path: "Path of a file, or of an HTTP request.",
  patienceMs: "Milliseconds that the stop waits at most.",
  pid: "Process id.",
  plugin: "Id of the plugin to which the line is attributed.",
  plugins: "Ids of plugins.",
  problem: "What is wrong, in one sentence.",
  profile: "Profile of the browser.",
  provider: "Name of a model provider.",
  reason: "Why: a code or a sentence.",
  reasons: "Reasons of a restart.",
  refusal: "Why the configuration file is refused.",
  refusals: "Refusals of each mapping.",
  requestId: "Id of a pairing request.",
  restMs: "Milliseconds for which the plugin pauses.",
  role: "Role of a device token: `operator` or `node`.",
  runId: "Id of a run of an agent or of a webhook.",
  scopes: "Scopes of a device token.",
  seq: "Position of a message in its session.",
  server: "Name of an MCP server.",
  session: "Session key.",
  sessionId: "Id of a transcript.",
  sessionKey: "Session key.",
  stack: "Stack of the plugin's code.",
  state: "State of a transform.",
  status: "Outcome, e.g. `ok` or `error`.",
  text: "Beginning of the text that could not be read.",
  tokens: "Number of tokens.",
  tool: "Name of a tool.",
  tools: "Number of tools.",
  url: "Address of the gateway.",
  version: "Version of the gateway, a plugin or a transform.",
  waitedMs: "Milliseconds that something waited.",
  where: "The declaration in which a plugin failed, e.g. a method or hook.",
  who: "Sender of a message.",
  why: "Why: a sentence.",
  withheld: "Number of commands that wait for an approval.",
  workspace: "Directory of an agent's workspace.",
};

export const environmentPages = (): Page[] =>
  Object.entries(ENVIRONMENT).map(([name, { summary, byDefault }]) => ({
    name,
    summary,
    facts: [["default", byDefault]],
  }));

export const logPages = (): Page[] =>
  Object.entries(LOG_FIELDS).map(([name, summary]) => ({ name, summary, facts: [] }));
